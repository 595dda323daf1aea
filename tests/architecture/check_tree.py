"""What the checks of this folder share: finding files, reporting, and the self-test.

A check is a function from the root of a tree to its list of problems. Its self-test is a list of
cases: a small tree, and a word that one of the problems must hold (or None if there must be none).
"""

import os
import pathlib
import sys
import tempfile

SKIPPED = {".git", "build", "corpus", "__pycache__"}


def files(root, folder=".", endings=()):
    """The files below root/folder with one of the endings, sorted, without what is generated."""
    found = []
    for directory, folders, names in os.walk(pathlib.Path(root, folder)):
        folders[:] = sorted(set(folders) - SKIPPED)
        found += [pathlib.Path(directory, name) for name in names if name.endswith(tuple(endings) or "")]
    return sorted(found)


def text(path):
    return pathlib.Path(path).read_text(encoding="utf-8", errors="replace")


def self_test(check, cases):
    failures = []
    for tree, word in cases:
        with tempfile.TemporaryDirectory() as root:
            for name, content in tree.items():
                path = pathlib.Path(root, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content, encoding="utf-8")
            problems = check(pathlib.Path(root))
        if word is None and problems:
            failures.append(f"refused a good tree {sorted(tree)}: {problems}")
        if word is not None and not any(word in problem for problem in problems):
            failures.append(f"no problem names {word!r} in {sorted(tree)}: {problems}")
    return failures


def main(check, cases):
    if sys.argv[1:] == ["--self-test"]:
        problems = self_test(check, cases)
    else:
        root = os.environ.get("HERMETIC_SOURCE_DIR") or pathlib.Path(__file__).parents[2]
        problems = check(pathlib.Path(root))
    for problem in problems:
        print(problem, file=sys.stderr)
    sys.exit(1 if problems else 0)
