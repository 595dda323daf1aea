#!/usr/bin/python3
"""What watching a command costs: a build, bare, observed by hermetic learn, and under strace.

  benchmarks/learn.py [--project make|ninja|DIR] [--rounds N] [--files N] [--hermetic PROGRAM] [--json FILE] [-- COMMAND...]

'make' is a C project. 'ninja' is one in C++: a script writes build.ninja, ninja compiles many small files with many
headers. DIR is a tree of yours, of which every run gets a copy, with the command that builds it.

Every round runs every case once, in a random order, on a clean copy; a case is compared with others of the same run
only. The observing run alone is measured (learn --unproved): the proof is a run under the spec, which launch.py
measures. `learn` includes making and writing the spec. CPU time is of all processes together: on a machine that is
busy otherwise it tells more than the time on the wall, of which two processes get a larger share than one.
"""
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HEADER = "#pragma once\n#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\n#include <errno.h>\n"
MAKEFILE = """objects = $(patsubst %.c,build/%.o,$(wildcard *.c))
build/app: $(objects)
\t$(CC) -o $@ $^
build/%.o: %.c all.h
\t@mkdir -p build
\t$(CC) -O1 -c $< -o $@
"""


def make_project(directory, files):
    with open(os.path.join(directory, "Makefile"), "w") as file:
        file.write(MAKEFILE)
    with open(os.path.join(directory, "all.h"), "w") as file:
        file.write(HEADER + "".join(f"int part_{i}(int);\n" for i in range(files)))
    for i in range(files):
        with open(os.path.join(directory, f"part_{i}.c"), "w") as file:
            file.write(f'#include "all.h"\nint part_{i}(int x) {{\n'
                       + "".join(f'  if (x == {k}) printf("%d %s\\n", x, strerror(errno));\n' for k in range(40))
                       + f"  return x + {i};\n}}\n")
    with open(os.path.join(directory, "main.c"), "w") as file:
        file.write('#include "all.h"\nint main(void) { int x = 0;\n'
                   + "".join(f"  x = part_{i}(x);\n" for i in range(files)) + "  return x < 0;\n}\n")


GENERATOR = """import glob
with open("build.ninja", "w") as file:
    file.write("rule cxx\\n command = c++ -O0 -MMD -MF $out.d -c $in -o $out\\n depfile = $out.d\\n deps = gcc\\n"
               "rule link\\n command = c++ -o $out $in\\nbuilddir = build\\n")
    objects = []
    for name in sorted(glob.glob("*.cc")):
        objects.append("build/" + name[:-3] + ".o")
        file.write(f"build {objects[-1]}: cxx {name}\\n")
    file.write("build build/app: link " + " ".join(objects) + "\\n")
"""


def make_cxx_project(directory, files):
    headers = 60
    with open(os.path.join(directory, "configure.py"), "w") as file:
        file.write(GENERATOR)
    for i in range(headers):
        with open(os.path.join(directory, f"header_{i}.h"), "w") as file:
            file.write(f"#pragma once\n#include <string>\n#include <vector>\n#include <map>\ninline int value_{i}() {{ return {i}; }}\n")
    for i in range(files):
        with open(os.path.join(directory, f"part_{i}.cc"), "w") as file:
            file.write("".join(f'#include "header_{k}.h"\n' for k in range(headers))
                       + f"int part_{i}() {{ return value_{i % headers}(); }}\n")
    with open(os.path.join(directory, "main.cc"), "w") as file:
        file.write("".join(f"int part_{i}();\n" for i in range(files)) + "int main() { return part_0(); }\n")


def copy_project(source, directory):
    for name in os.listdir(directory):
        path = os.path.join(directory, name)
        shutil.rmtree(path) if os.path.isdir(path) and not os.path.islink(path) else os.remove(path)
    shutil.copytree(source, directory, symlinks=True, dirs_exist_ok=True)


def timed(words, directory, source):
    if source:
        copy_project(source, directory)
    for name in ("build", ".ninja_deps", ".ninja_log"):
        shutil.rmtree(os.path.join(directory, name), ignore_errors=True)
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    taken = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"learn.py: {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    return taken, now.ru_utime + now.ru_stime - used.ru_utime - used.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--project", default="make")
    parser.add_argument("command", nargs="*")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--hermetic", default="hermetic")
    parser.add_argument("--json")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--without-strace", action="store_true")
    options = parser.parse_args()
    hermetic = shutil.which(options.hermetic) and os.path.abspath(shutil.which(options.hermetic))
    if hermetic is None:
        sys.exit(f"learn.py: there is no '{options.hermetic}'")
    make = ["make", f"-j{options.jobs}"]
    if options.project == "ninja":
        make = ["sh", "-c", f"python3 configure.py && ninja -j{options.jobs}"]
    elif options.project != "make":
        make = options.command or sys.exit("learn.py: say what builds it, after --")
    source = None if options.project in ("make", "ninja") else os.path.abspath(options.project)
    cases = {"bare": make, "learn": [hermetic, "learn", "--quiet", "--unproved", "--write", "learned.yaml", "--"] + make}
    if shutil.which("strace") and not options.without_strace:
        cases["strace -f -e trace=file"] = ["strace", "-f", "-e", "trace=file", "-o", "trace.txt"] + make
        cases["strace --seccomp-bpf"] = ["strace", "-f", "--seccomp-bpf", "-e", "trace=file", "-o", "trace.txt"] + make
    times = {name: [] for name in cases}
    with tempfile.TemporaryDirectory(prefix="hermetic-learn-", dir="/var/tmp") as directory:
        if options.project == "ninja":
            make_cxx_project(directory, options.files)
        elif not source:
            make_project(directory, options.files)
        for round_number in range(options.rounds + 1):  # the first warms up
            for name in random.sample(list(cases), len(cases)):
                taken = timed(cases[name], directory, source)
                if round_number > 0:
                    times[name].append(taken)
    results = {}
    for name in cases:
        results[name] = {}
        for index, kind in enumerate(("wall", "cpu")):
            taken = [one[index] for one in times[name]]
            bare = [one[index] for one in times["bare"]]
            results[name][kind] = {"median_ms": statistics.median(taken) * 1e3, "min_ms": min(taken) * 1e3,
                                   "ratio_of_medians": statistics.median(taken) / statistics.median(bare),
                                   "ratio_of_minima": min(taken) / min(bare)}
        print(f"{name:<26}" + "".join(
            f" {kind} median {one['median_ms']:8.1f} ms  x median {one['ratio_of_medians']:.2f}  "
            f"x min {one['ratio_of_minima']:.2f} " for kind, one in results[name].items()))
    if options.json:
        with open(options.json, "w") as file:
            json.dump({"rounds": options.rounds, "files": options.files, "cases": results}, file, indent=2)
            file.write("\n")


main()
