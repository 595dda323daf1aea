"""Every message of docs/reference/errors.md is one that the code can say."""

import re

import check_tree

# Between these a message of the catalogue is the code's own words; '…', numbers and quotes stand for what is named.
BREAKS = re.compile(r"…|[0-9]+|: |'| N:")
SHORTEST = 7


def literals(content):
    """The text of C++ and Python, with strings that stand one after the other made one."""
    return re.sub(r'"\s*(?:R"|")', "", content).replace('\\"', '"').replace("\\\\", "\\")


def check(root):
    page = root / "docs/reference/errors.md"
    if not page.is_file():
        return []
    files = [*check_tree.files(root, "src"), *check_tree.files(root, "bindings")]
    said = literals("\n".join(check_tree.text(path) for path in files if path.suffix in {".cc", ".h", ".py"}))
    problems = []
    for line in check_tree.text(page).splitlines():
        if not line.startswith("| `"):
            continue
        for message in re.findall(r"`([^`]+)`", line.split(" | ")[0]):
            words = [part.strip(" ") for part in BREAKS.split(message)]
            if any(len(part) >= SHORTEST and part not in said for part in words):
                problems.append(f"docs/reference/errors.md: no code says '{message}'")
    return problems


PAGE = "docs/reference/errors.md"
CASES = [
    ({PAGE: "| `cannot open '…'` | S | | |", "src/a.cc": 'fail("cannot open \'{}\'");'}, None),
    ({PAGE: "| `more than 500 levels deep` | I | | |", "src/a.cc": '"more than {} "\n    "levels deep"'}, None),
    ({PAGE: "Text\n| Message | Kind |\n| --- | --- |\n", "src/a.cc": ""}, None),
    ({PAGE: "| `cannot close '…'` | S | | |", "src/a.cc": '"cannot open"'}, "no code says 'cannot close"),
    ({PAGE: "| `cannot open`, `was renamed` | S | | |", "src/a.cc": '"cannot open"'}, "no code says 'was renamed"),
]

if __name__ == "__main__":
    check_tree.main(check, CASES)
