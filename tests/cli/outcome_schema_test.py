#!/usr/bin/python3
"""What `hermetic run --json` writes follows docs/reference/outcome.schema.json, and a broken outcome does not."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

import jsonschema

SOURCE = pathlib.Path(os.environ.get("HERMETIC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
PROGRAM = os.environ["HERMETIC_PROGRAM"]

# Words of `hermetic run`, the ending, the exit code.
RUNS = [
    (["--output", "out", "--", "sh", "-c", "echo 1 > out/a; ln -s a out/b; mkdir out/c"], "exited", 0),
    (["--output-file", "file", "--", "sh", "-c", "echo 1 > file"], "exited", 0),
    (["--network", "host", "--memory", "1G", "--give-up", "memory-limit", "--", "true"], "exited", 0),
    (["--", "sh", "-c", "exit 3"], "exited", 3),
    (["--", "sh", "-c", "kill -9 $$"], "signaled", 137),
    (["--timeout", "300ms", "--", "sleep", "60"], "timed_out", 124),
    (["--idle-time", "300ms", "--", "sleep", "60"], "timed_out", 124),
    (["--memory", "40M", "--give-up", "memory-limit", "--", "python3", "-c", "x = bytearray(200 << 20)"],
     "over_limit", 122),
    (["--by-process", "--network", "loopback", "--", "sleep", "0.3"], "exited", 0),
    (["--", "/usr"], "not_started", 126),
    (["--", "not-there"], "not_started", 127),
]

# Each makes an outcome of a success that is none; the schema must say so.
BREAKS = [
    {"version": 2}, {"surprise": 1}, {"hermetic": "yes"}, {"ending": "vanished"}, {"ending": "signaled"},
    {"ending": "timed_out"}, {"ending": "not_started"}, {"signal": 9}, {"exit_code": -1}, {"os_error": 2},
    {"limit": {}}, {"clauses": []}, {"clauses": [{}]}, {"violations": [{}]}, {"outputs": [{}]}, {"usage": {}},
    {"spec_digest": "sha256:abc"},
]


def main():
    schema = json.loads((SOURCE / "docs/reference/outcome.schema.json").read_text())
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    problems = []
    good = None
    with tempfile.TemporaryDirectory() as scratch:
        for words, ending, code in RUNS:
            done = subprocess.run([PROGRAM, "run", "--quiet", "--json", "outcome.json", *words], cwd=scratch,
                                  capture_output=True, text=True, check=False)
            if done.returncode != code:
                problems.append(f"{words}: exit code {done.returncode}: {done.stderr}")
                continue
            outcome = json.loads(pathlib.Path(scratch, "outcome.json").read_text())
            good = good or outcome
            problems += [f"{words}: {error.json_path}: {error.message}" for error in validator.iter_errors(outcome)]
            if (outcome["ending"], outcome["exit_code"]) != (ending, code):
                problems.append(f"{words}: {outcome['ending']}, {outcome['exit_code']}")
    if good:
        problems += [f"the schema accepts {change}" for change in BREAKS if validator.is_valid({**good, **change})]
    for problem in problems:
        print(problem)
    print(f"{len(RUNS)} runs, {len(BREAKS)} broken outcomes, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
