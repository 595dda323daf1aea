"""Every test that a table of promises names exists, is part of what ctest runs, and was not only skipped.

What it reads: the tables of the pages below; the list of ctest (of the tests that ./check runs without
--long); and what the tests have written down about themselves, which is why it comes after them. Shown
is that of each name

  `Suite.Case`       some test program ran that case to its end, as at least one of the users that it is run
                     as; `Suite.*` any case of that suite; cases with parameters are found by their plain name
  `word`             in a column headed Test: the same of a case, or of a parameter, of that name
  `cli/FILE: title`  that case of tests/cli/FILE.bats ran
  `folder/name`      ctest runs a test of that name
  `fuzz/fuzz_N.cc`   ctest replays the corpus N
  `N_bench: case`    ctest runs that benchmark, which holds the case; `benchmarks/FILE` the file is there

What it does not show: that the test is about the promise beside it. That is for its reader.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
from xml.etree import ElementTree

import check_tree

PAGES = ["GUARANTEES.md", "SECURITY.md", "docs/reference/escapes.md", "docs/reference/peers.md"]
CASE = re.compile(r"(?:\w+/)?([A-Z]\w*)\.([A-Z]\w*|\*)(?:/\w+)?")
BATS = re.compile(r"cli/(\w+): (.+)")
BENCHMARK = re.compile(r"(\w+_bench): (\w+)")
FUZZ = re.compile(r"fuzz/fuzz_(\w+)\.cc")
FOLDERS = "architecture|cli|differential|escape|faults|golden|package|replay|sandbox|soak|style|unit|vm"
TEST = re.compile(rf"(?:{FOLDERS})/\w+")


# A test that says so has nothing to try: what it would attack is not there at all.
NOT_HERE = "this kernel has no "


class NotRun(Exception):
    """The tests have written nothing down yet."""


def names_in(page):
    """The names in the tables of a page: the line, the name, and whether the column is headed Test."""
    header = []
    for number, line in enumerate(page.splitlines(), 1):
        if not line.startswith("|"):
            header = []
            continue
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        header = header or cells
        for column, cell in enumerate(cells):
            for name in re.findall(r"`([^`]+)`", cell):
                yield number, name, header[column:column + 1] == ["Test"]


def ctest_list(binary):
    command = ["ctest", "--test-dir", str(binary), "-C", "Normal", "--show-only=json-v1"]
    answer = subprocess.run(command, check=True, capture_output=True, text=True, timeout=60)
    tests = {}
    for test in json.loads(answer.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in test.get("properties", [])}
        if not properties.get("DISABLED"):
            tests[test["name"]] = test.get("command", [])  # none: its program is not built
    return tests


def option(command, start):
    return next((word[len(start):] for word in command if word.startswith(start)), None)


def cases_of(command, record):
    """Suite.Case and whether it ran to its end, of one test program."""
    program = next(word for before, word in enumerate(command) if command[before + 1].startswith("--gtest"))
    program = pathlib.Path(program)
    if not record.exists() or (program.exists() and program.stat().st_mtime > record.stat().st_mtime):
        raise NotRun(f"{record.name} is not there, or older than its program")
    if record.stat().st_size == 0:
        raise NotRun(f"{record.name} is empty: its program did not come to its end")
    for case in ElementTree.parse(record).iter("testcase"):
        # Types and parameters give suites names such as With/Suite/0.
        suite = [word for word in case.get("classname").split("/") if not word.isdigit()][-1]
        words = case.get("name").split("/")
        skipped = case.find("skipped")
        done = case.get("result") == "completed"
        if skipped is not None and NOT_HERE in skipped.get("message", ""):
            done = None
        for word in {f"{suite}.{words[0]}", *words}:
            yield word, done


def titles_of(command, folder):
    report = folder / "report.tap"
    if not report.exists() or pathlib.Path(command[-1]).stat().st_mtime > report.stat().st_mtime:
        raise NotRun(f"{report} is not there, or older than its tests")
    for line in check_tree.text(report).splitlines():
        if found := re.match(r"(?:not )?ok \d+ (.*?)(?: # skip.*)?$", line):
            yield f"cli/{folder.name}: {found[1]}", " # skip" not in line


def recorded(tests):
    """What ran, by name: True if it ran to its end for somebody, False if everybody skipped it, and None if
    it had nothing to try."""
    ran = {}
    for command in tests.values():
        pairs = []
        if record := option(command, "--gtest_output=xml:"):
            if option(command, "--gtest_filter="):
                continue  # a choice of the cases is not the test
            if "--fetch" in command and not pathlib.Path(record).exists():
                continue  # no virtual machine could be made
            pairs = cases_of(command, pathlib.Path(record))
        elif "--output" in command:
            pairs = titles_of(command, pathlib.Path(command[command.index("--output") + 1]))
        for name, done in pairs:
            ran[name] = max(ran.get(name, False), done, key=[False, None, True].index)
    return ran


def problem_with(name, alone, root, tests, ran):
    if alone and re.fullmatch(r"\w+", name):
        if name not in ran:
            return "is neither a case nor a parameter of a test program that was run"
        return "was skipped by everybody who ran it" if ran[name] is False else None
    if case := CASE.fullmatch(name):
        suite, wanted = case[1], case[2]
        found = [done for key, done in ran.items()
                 if key == f"{suite}.{wanted}" or (wanted == "*" and key.startswith(f"{suite}."))]
        if not found:
            return "is a case of no test program that was run"
        return "was skipped by everybody who ran it" if False in found else None
    if BATS.fullmatch(name):
        if name not in ran:
            return "is a case of no .bats file that was run"
        return None if ran[name] else "was skipped"
    if benchmark := BENCHMARK.fullmatch(name):
        source = root / "benchmarks" / f"{benchmark[1]}.cc"
        if f"benchmark/{benchmark[1]}" not in tests or not source.exists():
            return "is a benchmark that is not run"
        return None if benchmark[2] in check_tree.text(source) else "is no case of that benchmark"
    if name.startswith("benchmarks/"):
        return None if (root / name).exists() else "is not there"
    if fuzz := FUZZ.fullmatch(name):
        return None if f"replay/{fuzz[1]}" in tests and (root / name).exists() else "is not replayed"
    if TEST.fullmatch(name):
        return None if name in tests else "is no test that ctest runs"
    return None


def check(root):
    own = root / "build"  # of the self-test
    binary = own if (own / "CTestTestfile.cmake").exists() else pathlib.Path(os.environ["HERMETIC_BINARY_DIR"])
    tests = ctest_list(binary)
    ran = recorded(tests)
    problems = []
    count = 0
    for path in PAGES:
        if not (root / path).exists():
            continue
        for number, name, alone in names_in(check_tree.text(root / path)):
            count += bool(alone or CASE.fullmatch(name) or BATS.fullmatch(name) or TEST.fullmatch(name))
            if problem := problem_with(name, alone, root, tests, ran):
                problems.append(f"{path}:{number}: `{name}` {problem}")
    print("nothing to try on this kernel:", *sorted(name for name, done in ran.items() if done is None))
    print(f"{count} names of tests, {len(tests)} tests of ctest, {len(ran)} cases that they wrote down")
    return problems


def tree(line, cases=(("S", "C", "completed"),), options="", properties="", tap="ok 1 a title\n"):
    """A tree with one page, one test program of these cases, and one .bats file."""
    lines = [f'<testcase classname="{suite}" name="{case}" result="{result.split()[0]}">'
             + (f'<skipped message="{result}"/>' if result.startswith("skipped") else "") + "</testcase>"
             for suite, case, result in cases]
    return {
        "GUARANTEES.md": f"`Not.InATable`\n\n| Promise | Test |\n| --- | --- |\n| `it` holds | {line} |\n",
        "benchmarks/a_bench.cc": "void one_case() {}",
        "fuzz/fuzz_words.cc": "",
        "build/CTestTestfile.cmake":
            f'add_test(unit/one "/bin/true" "--gtest_output=xml:RECORD" {options})\n'
            f"{properties}\n"
            'add_test(cli/run "/bin/true" "--output" "RECORDS/run" "BATS")\n'
            'add_test(benchmark/a_bench "a")\nadd_test(replay/words "a")\n',
        "build/one.xml": f"<testsuites>{''.join(lines)}</testsuites>",
        "build/records/run/report.tap": f"1..1\n{tap}",
    }


def check_here(root):
    """check() of a tree whose paths have become known only now."""
    build = root / "build"
    listing = build / "CTestTestfile.cmake"
    text = check_tree.text(listing).replace("RECORDS", str(build / "records"))
    text = text.replace("RECORD", str(build / "one.xml")).replace("BATS", str(root / "run.bats"))
    listing.write_text(text, encoding="utf-8")
    if not (root / "run.bats").exists():
        (root / "run.bats").write_text("", encoding="utf-8")
        os.utime(root / "run.bats", (0, 0))
    try:
        return check(root)
    except NotRun as reason:
        return [str(reason)]


PARAMETER = [("With/S", "C/New", "skipped"), ("With/S", "C/Old", "completed"), ("T/0", "D", "completed")]
CASES = [
    (tree("`S.C`, `cli/run: a title`, `unit/one`, `a_bench: one_case`, `benchmarks/a_bench.cc`, `S.*`, "
          "`fuzz/fuzz_words.cc`; no test: `path/x`, `a-clause`, `README.md`"), None),
    (tree("`S.C`, `With/S.C/New`, `T.D`", PARAMETER), None),
    (tree("`C`, `Old`", PARAMETER), None),
    (tree("`New`", PARAMETER), "`New` was skipped by everybody"),
    (tree("`Newer`", PARAMETER), "`Newer` is neither a case nor a parameter"),
    (tree("`C`", [("S", "C", "skipped")]), "skipped by everybody"),
    (tree("`S.D`"), "`S.D` is a case of no test program"),
    (tree("`T.*`"), "`T.*` is a case of no test program"),
    (tree("`S.C`", [("S", "DISABLED_C", "suppressed")]), "`S.C` is a case of no test program"),
    (tree("`S.C`", [("S", "C", "skipped")]), "skipped by everybody"),
    (tree("`S.C`", [("S", "C", "skipped this kernel has no such file")]), None),
    (tree("`S.C`", options='"--gtest_filter=S.D"'), "`S.C` is a case of no test program"),
    (tree("`S.C`", properties='set_tests_properties(unit/one PROPERTIES DISABLED TRUE)'), "`S.C` is a case of no"),
    (tree("`unit/one`", properties='set_tests_properties(unit/one PROPERTIES DISABLED TRUE)'), "no test that ctest"),
    (tree("`unit/two`"), "no test that ctest runs"),
    (tree("`cli/run: another`"), "is a case of no .bats file"),
    (tree("`cli/run: a title`", tap="ok 1 a title # skip not here\n"), "was skipped"),
    (tree("`b_bench: one_case`"), "is a benchmark that is not run"),
    (tree("`a_bench: two_case`"), "is no case of that benchmark"),
    (tree("`benchmarks/b.py`"), "is not there"),
    (tree("`fuzz/fuzz_other.cc`"), "is not replayed"),
    ({**tree("`S.C`"), "docs/reference/escapes.md": "| a | `E.Gone` |"}, "escapes.md:1: `E.Gone` is a case"),
    ({key: text for key, text in tree("`S.C`").items() if key != "build/one.xml"}, "is not there, or older"),
    ({**tree("`S.C`"), "run.bats": "newer than the report"}, "older than its tests"),
    ({key: text for key, text in tree("`S.C`", options='"--fetch"').items() if key != "build/one.xml"},
     "`S.C` is a case of no test program"),
]

if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        check_tree.main(check_here, CASES)
    try:
        check_tree.main(check, CASES)
    except NotRun as reason:
        print(f"{reason}: run all tests first", file=sys.stderr)
        sys.exit(1 if os.environ.get("HERMETIC_MUST_WORK") == "1" else 77)
