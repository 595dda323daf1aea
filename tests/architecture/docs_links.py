"""Relative links of the Markdown pages lead to files, and their #fragments to headings."""

import re
import urllib.parse

import check_tree

LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)|^\[[^\]]+\]:\s*(\S+)", re.MULTILINE)
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#{1,6}\s+(.+?)\s*#*$", re.MULTILINE)


def anchors(content):
    """The names that a Markdown viewer gives the headings of a page."""
    names = set()
    without_blocks = re.sub(r"^(```|~~~).*?^\1", "", content, flags=re.MULTILINE | re.DOTALL)
    for heading in HEADING.findall(without_blocks):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        base = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        name, count = base, 0
        while name in names:
            count += 1
            name = f"{base}-{count}"
        names.add(name)
    return names


def check(root):
    problems = []
    for page in check_tree.files(root, endings=[".md"]):
        content = check_tree.text(page)
        for match in LINK.finditer(CODE.sub("", content)):
            link = match[1] or match[2]
            if re.match(r"[a-z][a-z0-9+.-]*:", link):
                continue
            where = f"{page.relative_to(root).as_posix()}: {link}"
            name, _, fragment = urllib.parse.unquote(link).partition("#")
            target = page if not name else (root / name[1:] if name[0] == "/" else page.parent / name)
            if not target.exists():
                problems.append(f"{where} leads to no file")
            elif fragment and target.suffix == ".md" and fragment not in anchors(check_tree.text(target)):
                problems.append(f"{where} leads to no heading")
    return problems


CASES = [
    ({"a.md": "[b](docs/b.md#one-two) [c](https://example.org) [d](#x)\n# X\n", "docs/b.md": "## One `two`!"},
     None),
    ({"a.md": "`[b](b.md)`\n```\n[b](b.md)\n```\n"}, None),
    ({"a.md": "[b](b.md)"}, "leads to no file"),
    ({"a.md": "[b]: b.md\n"}, "leads to no file"),
    ({"a.md": "[b](#b)\n# A\n"}, "leads to no heading"),
    ({"a.md": "[b](b.md#c)", "b.md": "# B\n```\n# c\n```\n"}, "leads to no heading"),
]

if __name__ == "__main__":
    check_tree.main(check, CASES)
