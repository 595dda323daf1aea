"""Every header of src compiles on its own, so that the order of includes never matters.

The build has compiled a header alone already where a source file of the same name includes it before
anything else, in the presets that precompile nothing. The others are compiled here. A header that compiled is not compiled again until it, or something it includes, changes: its list of
dependencies is kept in HERMETIC_BINARY_DIR/headers.
"""

import concurrent.futures
import hashlib
import os
import pathlib
import re
import subprocess
import tempfile
import time

import check_tree

COMPILER = os.environ.get("CXX", "g++")
FLAGS = ["-std=c++20", "-fsyntax-only", "-DFMT_HEADER_ONLY=1"]
# What can only be compiled on its own system.
OTHER_SYSTEMS = {"macos", "windows"}


def dependencies(record):
    return record.read_text().replace("\\\n", " ").partition(":")[2].split()


def is_fresh(record):
    try:
        return all(os.stat(path).st_mtime_ns < record.stat().st_mtime_ns for path in dependencies(record))
    except OSError:
        return False


def is_first_of_its_source(root, header):
    """src/a/b.cc begins with #include "a/b.h"."""
    source = header.with_suffix(".cc")
    if not source.exists():
        return False
    includes = re.findall(r'^#include [<"]([^>"]+)', source.read_text(), re.MULTILINE)
    return includes[:1] == [header.relative_to(root / "src").as_posix()]


def compile_alone(root, header, records):
    where = header.relative_to(root).as_posix()
    # By content of the command, too: another compiler or other flags are another question.
    key = hashlib.sha256(" ".join([COMPILER, *FLAGS, str(header)]).encode()).hexdigest()[:16]
    record = records / f"{header.stem}-{key}.d"
    if is_fresh(record):
        return []
    started = time.time_ns()
    with tempfile.TemporaryDirectory() as scratch:
        source = pathlib.Path(scratch, "alone.cc")
        found = pathlib.Path(scratch, "alone.d")
        source.write_text(f'#include "{where.removeprefix("src/")}"\n')
        done = subprocess.run(
            [COMPILER, *FLAGS, "-I", root / "src", "-MD", "-MF", found, source],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            return [f"{where} does not compile alone:\n{done.stderr}"]
        # The scratch file itself is no dependency: it is gone when the next run looks.
        kept = [path for path in dependencies(found) if path != str(source)]
        temporary = record.with_suffix(f".{os.getpid()}")
        temporary.write_text("header: " + " ".join(kept) + "\n")
        os.utime(temporary, ns=(started, started))  # what was edited meanwhile stays stale
        os.replace(temporary, record)
    return []


def check(root):
    tested = str(root) == os.environ.get("HERMETIC_SOURCE_DIR")
    records = pathlib.Path(os.environ["HERMETIC_BINARY_DIR"] if tested else root / "build", "headers")
    records.mkdir(parents=True, exist_ok=True)
    headers = [path for path in check_tree.files(root, "src", [".h"])
               if not OTHER_SYSTEMS.intersection(path.parts) and not is_first_of_its_source(root, path)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = pool.map(lambda header: compile_alone(root, header, records), headers)
        return [problem for problems in results for problem in problems]


CASES = [
    ({"src/hermetic/base/a.h": "#pragma once\nstruct A { int b = 0; };\n",
      "src/hermetic/base/b.h": '#pragma once\n#include "hermetic/base/a.h"\ninline A a() { return {}; }\n'},
     None),
    ({"src/hermetic/base/a.h": "#pragma once\ninline std::string a() { return {}; }\n"}, "does not compile"),
    ({"src/hermetic/base/a.h": '#pragma once\n#include "hermetic/base/gone.h"\n'}, "does not compile"),
    # The build compiles it, unless something comes before it.
    ({"src/hermetic/base/a.h": "#pragma once\ninline std::string a() { return {}; }\n",
      "src/hermetic/base/a.cc": '#include "hermetic/base/a.h"\n'}, None),
    ({"src/hermetic/base/a.h": "#pragma once\ninline std::string a() { return {}; }\n",
      "src/hermetic/base/a.cc": '#include <string>\n#include "hermetic/base/a.h"\n'}, "does not compile"),
]

if __name__ == "__main__":
    check_tree.main(check, CASES)
