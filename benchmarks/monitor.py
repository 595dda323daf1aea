#!/usr/bin/env python3
"""What watching a run costs: the same command with and without limits, interleaved in one run.

  benchmarks/monitor.py [--rounds N] [--hermetic PROGRAM] [--loop PROGRAM] [--json FILE]

"looked at" has a limit that the supervisor's loop looks after every 40 ms and that no control group keeps; "in groups" has
those of memory, processes and CPU time, which a control group keeps where there is one. Differences of medians in
microseconds for `true`, ratios for a compilation and for one that starts many processes.
"""
import argparse
import json
import os
import sys
import tempfile

import launch

LOOKED_AT = {"idle_time": "1h"}
IN_GROUPS = {"memory": "16G", "processes": 4000, "cpu_time": "10h"}
GIVE_UP = ["disk-write-limit", "memory-limit", "processes-limit", "cpu-time-limit"]


def spec(directory, name, command, inputs, limits):
    path = os.path.join(directory, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "command": command, "inputs": launch.TOOLCHAIN + inputs, "limits": limits, "give_up": GIVE_UP}, file)
    return path


def cases_of(hermetic, loop, directory):
    source = launch.c_source(directory)
    commands = {"true": (["true"], []),
                "compile": (["cc", "-O1", "-c", source, "-o", "/dev/null"], [source]),
                "many compile": (["sh", "-c", f"for i in 1 2 3; do cc -O1 -c {source} -o /dev/null & done; wait"], [source])}
    cases = {}
    for name, (command, inputs) in commands.items():
        for kind, limits in (("", {"wall_time": "1h"}), (", looked at", LOOKED_AT), (", in groups", IN_GROUPS)):
            path = spec(directory, f"{name}{kind}".replace(" ", "_").replace(",", ""), command, inputs, limits)
            cases[name + kind] = launch.spawned([hermetic, "run", "--spec", path])
    cases["execute()"] = launch.Loop([loop, "--", "true"])
    cases["execute(), looked at"] = launch.Loop([loop, "--looked-at", "--", "true"])
    return cases


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=40)
    parser.add_argument("--hermetic", default=os.path.join(os.path.dirname(__file__), "../build/release/hermetic"))
    parser.add_argument("--loop", default=os.path.join(os.path.dirname(__file__), "../build/release/execute_loop"))
    parser.add_argument("--json")
    options = parser.parse_args()
    launch.BARS.clear()
    with tempfile.TemporaryDirectory() as directory:
        rows = launch.summary(launch.measure(cases_of(os.path.abspath(options.hermetic), options.loop, directory), options.rounds))["cases"]
    result = {"version": 1, "cases": rows}
    for name, row in rows.items():
        print(f"{name:24} median {row['median_us']:8} us   min {row['min_us']:8} us   ({row['count']} times)")
    result["execute(), looked at: added us"] = rows["execute(), looked at"]["median_us"] - rows["execute()"]["median_us"]
    result["execute(), looked at: added us of minima"] = rows["execute(), looked at"]["min_us"] - rows["execute()"]["min_us"]
    for kind in ("looked at", "in groups"):
        result[f"true, {kind}: added us"] = rows[f"true, {kind}"]["median_us"] - rows["true"]["median_us"]
        for name in ("compile", "many compile"):
            result[f"{name}, {kind}: ratio"] = round(rows[f"{name}, {kind}"]["median_us"] / rows[name]["median_us"], 3)
            result[f"{name}, {kind}: ratio of minima"] = round(rows[f"{name}, {kind}"]["min_us"] / rows[name]["min_us"], 3)
    for name, value in result.items():
        if ":" in name:
            print(f"{name:44} {value}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2)
    return 0


if __name__ == "__main__":
    sys.exit(main())
