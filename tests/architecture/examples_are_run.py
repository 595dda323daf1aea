"""Every entry of examples/ is named, as examples/NAME, by some test."""

import re

import check_tree


def check(root):
    examples = root / "examples"
    if not examples.is_dir():
        return []
    # Not the checks of this folder: they hold no runs.
    tests = [path for path in check_tree.files(root, "tests") if "architecture" not in path.parts]
    content = "\n".join(check_tree.text(path) for path in tests)
    problems = []
    for entry in sorted(examples.iterdir()):
        named = re.search(rf"examples/{re.escape(entry.name)}(?![\w.-]*\w)", content)
        if entry.name != "README.md" and not named:
            problems.append(f"examples/{entry.name} is run by no test in tests/")
    return problems


CASES = [
    ({"examples/README.md": "", "examples/c/main.c": "", "tests/cli/a.bats": "check examples/c/x"}, None),
    ({"examples/a.yaml": "", "tests/cli/a.bats": 'check "examples/a.yaml"'}, None),
    ({"examples/c/main.c": "", "tests/cli/a.bats": "check examples/cpp"}, "examples/c is run by no"),
    ({"examples/c/main.c": "", "tests/architecture/a.py": "examples/c"}, "examples/c is run by no"),
    ({"examples/c/main.c": "", "docs/a.md": "examples/c"}, "examples/c is run by no"),
]

if __name__ == "__main__":
    check_tree.main(check, CASES)
