#!/usr/bin/python3
"""Every golden plan follows docs/reference/plan.schema.json, and a broken one does not."""

import copy
import json
import os
import pathlib
import sys

import jsonschema

SOURCE = pathlib.Path(os.environ.get("HERMETIC_SOURCE_DIR", pathlib.Path(__file__).parents[2]))
SCHEMA = SOURCE / "docs/reference/plan.schema.json"
PLANS = sorted((SOURCE / "tests/golden/expected").glob("*.plan.json"))


def without(*path):
    def change(plan):
        for key in path[:-1]:
            plan = plan[key]
        del plan[path[-1]]

    return change


def with_value(value, *path):
    def change(plan):
        for key in path[:-1]:
            plan = plan[key]
        plan[path[-1]] = value

    return change


# Each makes a plan that is not one; the schema must say so.
BREAKS = {
    "no version": without("version"),
    "another version": with_value(2, "version"),
    "an unknown key": with_value(1, "surprise"),
    "a short digest": with_value("sha256:abc", "spec_digest"),
    "no command": with_value([], "command"),
    "a relative path": with_value("usr", "view", 0, "path"),
    "an unknown kind": with_value("tunnel", "view", 0, "kind"),
    "an unknown key in an entry": with_value(1, "view", 0, "surprise"),
    "a target without a link": with_value("x", "view", 0, "target"),
    "content without a file": with_value("x", "view", 0, "content"),
    "made that is false": with_value(False, "view", 0, "made"),
    "a variable that is no text": with_value(1, "environment", "PATH"),
    "a variable without a name": with_value("", "environment", "A=B"),
    "an unknown mode": with_value("wifi", "network", "mode"),
    "hosts of no network": with_value(["a"], "network", "hosts"),
    "a limit of nothing": with_value(0, "limits", "memory_bytes"),
    "a limit that is a text": with_value("4G", "limits", "memory_bytes"),
    "an unknown limit": with_value(1, "limits", "disk"),
    "an unknown clause": with_value("no-fun", "clauses", 0, "clause"),
    "an unknown strength": with_value("hoped", "clauses", 0, "strength"),
    "hermetic as a text": with_value("yes", "hermetic"),
}


def main():
    schema = json.loads(SCHEMA.read_text())
    validator_class = jsonschema.validators.validator_for(schema)
    validator_class.check_schema(schema)
    validator = validator_class(schema)
    problems = []
    if not PLANS:
        problems.append("there are no golden plans")
    for file in PLANS:
        for error in validator.iter_errors(json.loads(file.read_text())):
            problems.append(f"{file.name}: {error.json_path}: {error.message}")
    good = json.loads((SOURCE / "tests/golden/expected/minimal.plan.json").read_text())
    for name, change in BREAKS.items():
        broken = copy.deepcopy(good)
        change(broken)
        if validator.is_valid(broken):
            problems.append(f"the schema accepts a plan with {name}")
    for problem in problems:
        print(problem)
    print(f"{len(PLANS)} plans, {len(BREAKS)} broken ones, {len(problems)} problems")
    return 1 if problems else 0


sys.exit(main())
