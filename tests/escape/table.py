#!/usr/bin/python3
"""table.py PROGRAM: docs/reference/escapes.md names every escape test, and no other."""

import os
import pathlib
import re
import subprocess
import sys

listing = subprocess.run([sys.argv[1], "--gtest_list_tests"], check=True, capture_output=True, text=True)
tests = set()
for line in listing.stdout.splitlines():
    if not line.startswith("  "):
        continue
    name = line.split("#")[0].strip()
    # A row of a table goes by its own name; a case that is run twice goes by that of the case.
    first, _, row = name.partition("/")
    tests.add(first if row in ("", "New", "Classic") else row)

page = pathlib.Path(os.environ["HERMETIC_SOURCE_DIR"], "docs/reference/escapes.md").read_text(encoding="utf-8")
named = set()
for line in page.splitlines():
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    if len(cells) == 4 and not cells[0].startswith(("---", "Way out")):
        named.update(re.findall(r"`(\w+)`", cells[3]))

for name in sorted(tests - named):
    print(f"no row of the page names the test {name}", file=sys.stderr)
for name in sorted(named - tests):
    print(f"the page names {name}, which is no test", file=sys.stderr)
sys.exit(1 if tests != named else 0)
