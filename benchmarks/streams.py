#!/usr/bin/python3
"""streams.py [HERMETIC] [TIMES]: 1 GB through standard output and input, bare and in a sandbox in turn; medians."""

import os
import statistics
import subprocess
import sys
import tempfile
import time

HERMETIC = sys.argv[1] if len(sys.argv) > 1 else "build/dev/hermetic"
TIMES = int(sys.argv[2]) if len(sys.argv) > 2 else 5
WRITE = ["dd", "if=/dev/zero", "bs=1M", "count=1000", "status=none"]
SANDBOX = [HERMETIC, "run", "--quiet", "--"]


def seconds(command, **streams):
    start = time.perf_counter()
    subprocess.run(command, check=True, **streams)
    return time.perf_counter() - start


def to_file(command, flags=0):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
        descriptor = os.open(f"{folder}/out", os.O_WRONLY | os.O_CREAT | flags)
        taken = seconds(command, stdout=descriptor)
        os.close(descriptor)
        return taken


def to_pipe(command):
    with subprocess.Popen(["sh", "-c", "cat >/dev/null"], stdin=subprocess.PIPE) as reader:
        taken = seconds(command, stdout=reader.stdin)
        reader.stdin.close()
        return taken


def from_file(command):
    with tempfile.TemporaryFile(dir="/var/tmp") as file:
        file.truncate(1000 << 20)
        return seconds(command, stdin=file, stdout=subprocess.DEVNULL)


def from_pipe(command):
    with subprocess.Popen(WRITE, stdout=subprocess.PIPE) as writer:
        return seconds(command, stdin=writer.stdout, stdout=subprocess.DEVNULL)


def compare(name, measure, command):
    bare, inside = [], []
    for _ in range(TIMES):
        bare.append(measure(command))
        inside.append(measure(SANDBOX + command))
    plain, sandboxed = statistics.median(bare), statistics.median(inside)
    print(f"{name:14} bare {plain:.3f} s  hermetic {sandboxed:.3f} s  ratio {sandboxed / plain:.2f}", flush=True)


compare("to a file", to_file, WRITE)
compare("appended", lambda command: to_file(command, os.O_APPEND), WRITE)
compare("to a pipe", to_pipe, WRITE)
compare("from a file", from_file, ["cat"])
compare("from a pipe", from_pipe, ["cat"])
