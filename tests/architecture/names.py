"""Names and sizes: a newcomer can guess where a thing is, and read the file in one sitting."""

import re

import check_tree

CODE_FOLDERS = ["src", "tests", "fuzz", "benchmarks", "bindings"]
SNAKE_CASE = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
FORBIDDEN_FOLDERS = {"utils", "util", "common", "core", "misc", "helpers"}
LONGEST_FILE = 500
OTHER_ENDINGS = [".cpp", ".cxx", ".c++", ".hpp", ".hh", ".hxx", ".C", ".H"]
TEXT_ENDINGS = [".h", ".cc", ".py", ".md", ".scd", ".cmake", ".sh", ".bats", ".yaml", ".txt"]
# In two parts, so that this file does not hold the words it looks for.
SECURITY_TODO = "TODO" + "(security)"


def name_problems(where, path):
    problems = []
    if not SNAKE_CASE.fullmatch(path.stem):
        problems.append(f"{where}: the name is not snake_case")
    for folder in path.parent.parts:
        if not SNAKE_CASE.fullmatch(folder):
            problems.append(f"{where}: the folder {folder} is not snake_case")
    if path.suffix in OTHER_ENDINGS:
        problems.append(f"{where}: C++ files end in .h and .cc")
    if path.stem.endswith("_test") and path.parts[0] != "tests":
        problems.append(f"{where}: tests are in tests/, not beside the code")
    return problems


def content_problems(where, path, content):
    problems = []
    lines = content.splitlines()
    if len(lines) > LONGEST_FILE:
        problems.append(f"{where}: {len(lines)} lines; more than {LONGEST_FILE} are two concepts")
    if path.suffix == ".h" and not re.match(r"// \S.*", content):
        problems.append(f"{where}: the first line is no // sentence that says what the file holds")
    if path.suffix == ".h" and "#pragma once" not in lines:
        problems.append(f"{where}: no #pragma once")
    return problems


def mirror_problems(root, where, path):
    """tests/unit/spec/path_set_test.cc tests src/hermetic/spec/path_set.h."""
    layer = "/".join(path.parts[2:-1])
    source = root / ("src/cli" if layer == "cli" else f"src/hermetic/{layer}")
    if path.suffix == ".h":
        return []
    if not path.stem.endswith("_test"):
        return [f"{where}: a unit test is named <file>_test.cc"]
    stem = path.stem.removesuffix("_test")
    sources = {file.stem for file in source.glob("*.*")} if source.is_dir() else set()
    if not any(stem == name or stem.startswith(name + "_") for name in sources):
        return [f"{where}: it tests no file of {source.relative_to(root).as_posix()}; name it after one"]
    return []


def check(root):
    problems = []
    for folder in CODE_FOLDERS:
        for file in check_tree.files(root, folder, [".h", ".cc", *OTHER_ENDINGS]):
            path = file.relative_to(root)
            where = path.as_posix()
            problems += name_problems(where, path)
            problems += content_problems(where, path, check_tree.text(file))
            if where.startswith("tests/unit/"):
                problems += mirror_problems(root, where, path)
    for file in check_tree.files(root):
        path = file.relative_to(root)
        for folder in FORBIDDEN_FOLDERS.intersection(path.parent.parts):
            problems.append(f"{path.as_posix()}: a folder {folder} has no purpose one can name")
        if file.suffix in TEXT_ENDINGS and SECURITY_TODO in check_tree.text(file):
            problems.append(f"{path.as_posix()}: a {SECURITY_TODO} is left")
    return problems


HEADER = "// A sample.\n#pragma once\n"
CASES = [
    ({"src/hermetic/spec/path_set.h": HEADER, "tests/unit/spec/path_set_test.cc": "",
      "tests/unit/spec/path_set_property_test.cc": "", "tests/unit/spec/model.h": HEADER}, None),
    ({"src/hermetic/spec/PathSet.h": HEADER}, "not snake_case"),
    ({"src/hermetic/Spec/a.h": HEADER}, "folder Spec is not snake_case"),
    ({"src/hermetic/spec/a.cpp": ""}, "end in .h and .cc"),
    ({"src/hermetic/spec/a_test.cc": ""}, "not beside the code"),
    ({"src/hermetic/spec/a.h": "#pragma once\n"}, "no // sentence"),
    ({"src/hermetic/spec/a.h": "//\n#pragma once\n"}, "no // sentence"),
    ({"src/hermetic/spec/a.h": "// A sample.\n"}, "no #pragma once"),
    ({"src/hermetic/spec/a.cc": "\n" * 501}, "501 lines"),
    ({"src/hermetic/spec/a.cc": "\n" * 500}, None),
    ({"src/hermetic/spec/a.cc": "", "tests/unit/spec/b_test.cc": ""}, "it tests no file"),
    ({"src/hermetic/spec/a.cc": "", "tests/unit/spec/a.cc": ""}, "named <file>_test.cc"),
    ({"tools/common/a.py": ""}, "folder common"),
    ({"docs/a.md": SECURITY_TODO}, "is left"),
]

if __name__ == "__main__":
    check_tree.main(check, CASES)
