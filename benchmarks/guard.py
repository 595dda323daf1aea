#!/usr/bin/python3
"""What watching the network costs: benchmarks/guard.py [ROUNDS] (HERMETIC_PROGRAM, a release build).

Interleaved, so that whatever else the machine does hits everybody; ratios, because absolute times mean little.
  compile   one C++ file: hermetic, watched, against the same without a watch (kill_on_parent_exit: false)
  connects  a loop of refused connects in one process: hermetic against `strace -f -e trace=network`
  recorded  the same with --events: each attempt is two lines of JSON with who it was
  storm     100,000 denied connects from 50 processes: how many events there are, which must be all of them
The relay of allowed hosts is measured by guard_throughput, see benchmarks/guard_throughput.cc.
"""

import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

PROGRAM = os.environ.get("HERMETIC_PROGRAM", "build/release/hermetic")
LOOP = """
import socket
for _ in range({times}):
    s = socket.socket()
    try: s.connect(("127.0.0.1", 9))
    except OSError: pass
    s.close()
"""
STORM = """
import os, socket
for _ in range(50):
    if os.fork() == 0:
        for _ in range(2000):
            s = socket.socket()
            try: s.connect(("127.0.0.1", 9))
            except OSError: pass
            s.close()
        os._exit(0)
while True:
    try: os.wait()
    except ChildProcessError: break
"""


def seconds(words, directory):
    begin = time.monotonic()
    subprocess.run(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begin


def compare(title, one, other, rounds, directory, bar):
    times = {True: [], False: []}
    for _ in range(rounds):
        for which in (True, False):
            times[which].append(seconds(one if which else other, directory))
    medians = {which: statistics.median(times[which]) for which in times}
    print(f"{title:10} {1000 * medians[True]:8.1f} ms against {1000 * medians[False]:8.1f} ms: ratio of medians "
          f"{medians[True] / medians[False]:.3f}, of minima {min(times[True]) / min(times[False]):.3f} (bar {bar})")


def main():
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    program = str(pathlib.Path(PROGRAM).resolve())
    with tempfile.TemporaryDirectory(dir="/var/tmp") as name:
        directory = pathlib.Path(name)
        (directory / "a.cc").write_text("#include <map>\n#include <string>\nstd::map<std::string, int> numbers;\n")
        for file, extra in (("watched.yaml", ""), ("unwatched.yaml", "process: {kill_on_parent_exit: false}\n")):
            (directory / file).write_text(f"version: 1\ncommand: [g++, -O1, -c, a.cc, -o, /tmp/a.o]\ndirectory: {name}\n"
                                          f"inputs: [/usr, /lib, /lib64, /bin, {name}]\n{extra}")
        run = [program, "run", "--quiet", "--spec"]
        compare("compile", [*run, "watched.yaml"], [*run, "unwatched.yaml"], rounds, name, "1.02")
        python = "/usr/bin/python3"
        loop = LOOP.format(times=4000)
        compare("connects", [program, "run", "--quiet", "--", python, "-c", loop],
                ["strace", "-f", "-o", "trace", "-e", "trace=network", python, "-c", loop], max(3, rounds // 3), name, "0.25")
        compare("recorded", [program, "run", "--quiet", "--events", "recorded.jsonl", "--", python, "-c", loop],
                ["strace", "-f", "-o", "trace", "-e", "trace=network", python, "-c", loop], max(3, rounds // 3), name, "0.25")
        begin = time.monotonic()
        subprocess.run([program, "run", "--quiet", "--events", "events.jsonl", "--", python, "-c", STORM], cwd=name,
                       check=True)
        took = time.monotonic() - begin
        events = [json.loads(line) for line in (directory / "events.jsonl").open()]
        heard = sum(event["act"] == "connect" for event in events)
        lost = sum(event["kind"] == "lost" for event in events)
        print(f"storm      {heard} of 100000 connects heard, {lost} lost, {took:.1f} s, "
              f"{(directory / 'events.jsonl').stat().st_size / 1e6:.0f} MB")


main()
