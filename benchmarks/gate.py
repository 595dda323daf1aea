#!/usr/bin/python3
"""What a gate costs a step that needs no network: bare, in the gate, and under strace as gates before it did.

  benchmarks/gate.py [--rounds N] [--seconds S] [--files N] [--hermetic PROGRAM] [--strace] [--json FILE]

Two steps: the test suite of a Python package, whose cases compute, write files and start processes, and 'make' of a C
project. Like for like: bare and in the gate it is the same 'bash -c', with the same small environment and no login
shell. Every round runs every case once, in a random order, on a clean copy; a case is compared with others of the
same round only: the median of the ratios within a round, of the time by the clock and of the processor time of all
processes, those of the gate itself included. The gate is measured whole: from reading the policy to the evidence on
disk.
"""
import argparse
import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

SUITE = """import hashlib, json, os, re, subprocess, sys, tempfile, unittest

class Computes(unittest.TestCase):
    def test_all(self):
        for number in range({loops}):
            with self.subTest(number=number):
                data = json.dumps([[str(k), k * number] for k in range(400)])
                self.assertEqual(len(json.loads(data)), 400)
                self.assertTrue(re.findall(r"[0-9]+", data))
                self.assertEqual(len(hashlib.sha256(data.encode() * 20).hexdigest()), 64)

class Writes(unittest.TestCase):
    def test_files(self):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            for number in range({loops}):
                path = os.path.join(folder, str(number))
                with open(path, "w") as file:
                    file.write("x" * 5000)
                self.assertEqual(os.stat(path).st_size, 5000)

class Starts(unittest.TestCase):
    def test_processes(self):
        for number in range({starts}):
            done = subprocess.run([sys.executable, "-c", "import json; print(1)"], capture_output=True)
            self.assertEqual(done.stdout, b"1\\n")
            self.assertEqual(subprocess.run(["sh", "-c", "ls | wc -l >/dev/null"]).returncode, 0)

unittest.main(verbosity=0)
"""
MAKEFILE = """objects = $(patsubst %.c,build/%.o,$(wildcard *.c))
build/app: $(objects)
\t$(CC) -o $@ $^
build/%.o: %.c
\t@mkdir -p build
\t$(CC) -O1 -c $< -o $@
"""


def make_workspace(directory, options):
    with open(os.path.join(directory, "suite.py"), "w") as file:
        file.write(SUITE.replace("{loops}", str(int(250 * options.seconds)))
                   .replace("{starts}", str(int(12 * options.seconds))))
    with open(os.path.join(directory, "Makefile"), "w") as file:
        file.write(MAKEFILE)
    for i in range(options.files):
        with open(os.path.join(directory, f"part_{i}.c"), "w") as file:
            file.write(f"#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint part_{i}(int x) {{\n"
                       + "".join(f'  if (x == {k}) printf("%d %zu\\n", x, strlen("{k}"));\n' for k in range(40))
                       + f"  return x + {i};\n}}\n")
    with open(os.path.join(directory, "main.c"), "w") as file:
        file.write("int main(void) { return 0; }\n")


ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}


def timed(words, directory, trash):
    """Seconds by the clock, and of processor time. What the last run has left is moved away, not removed: a file
    system that has just removed files takes longer to make new ones."""
    for leftover in ("build", "../evidence"):
        path = os.path.join(directory, leftover)
        if os.path.exists(path):
            os.rename(path, os.path.join(trash, str(len(os.listdir(trash)))))
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(words, cwd=directory, env=ENVIRONMENT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, check=False)
    taken = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        sys.exit(f"gate.py: {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(step, command, directory, outside, hermetic, options):
    policy = os.path.join(outside, step + ".yml")
    with open(policy, "w") as file:
        file.write('schema_version: "1"\nscope: {default_shell: bash}\n'
                   f'hermetic_steps: [{{id: {step}, command: {command}}}]\n')
    gate = [hermetic, "gate", "--quiet", "--sha", "benchmark", "--policy", policy,
            "--out", os.path.join(outside, "evidence")]
    shell = ["/bin/bash", "-c", command]
    cases = {"bare": shell, "gate": gate}
    if options.strace and shutil.which("strace"):
        cases["strace -f -e trace=network"] = [
            "strace", "-f", "-e", "trace=network", "-o", os.path.join(outside, "trace.txt")] + shell
        cases["gate --detector strace"] = gate + ["--detector", "strace"]
    trash = os.path.join(outside, "trash")
    os.makedirs(trash, exist_ok=True)
    clock = {name: [] for name in cases}
    processor = {name: [] for name in cases}
    for round_number in range(options.rounds + 1):  # the first warms up
        for name in random.sample(list(cases), len(cases)):
            taken, used = timed(cases[name], directory, trash)
            if round_number > 0:
                clock[name].append(taken)
                processor[name].append(used)
    print(f"{step}: {command}")
    results = {}
    for name in cases:
        ratios = [a / b for a, b in zip(clock[name], clock["bare"])]
        used_ratios = [a / b for a, b in zip(processor[name], processor["bare"])]
        result = results[name] = {
            "median_s": statistics.median(clock[name]), "minimum_s": min(clock[name]),
            "median_of_ratios": statistics.median(ratios), "ratio_of_minima": min(clock[name]) / min(clock["bare"]),
            "processor_median_s": statistics.median(processor[name]),
            "processor_median_of_ratios": statistics.median(used_ratios),
            "processor_ratio_of_minima": min(processor[name]) / min(processor["bare"]),
            "times_s": clock[name], "processor_times_s": processor[name]}
        print(f"  {name:28} clock {result['median_s']:6.2f} s, of ratios {result['median_of_ratios']:.3f}, of minima "
              f"{result['ratio_of_minima']:.3f}; processor {result['processor_median_s']:6.2f} s, of ratios "
              f"{result['processor_median_of_ratios']:.3f}, of minima {result['processor_ratio_of_minima']:.3f}")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4, help="about how long the test suite takes")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--hermetic", default="hermetic")
    parser.add_argument("--strace", action="store_true", help="also under strace, which takes several times as long")
    parser.add_argument("--json")
    options = parser.parse_args()
    hermetic = shutil.which(options.hermetic) and os.path.abspath(shutil.which(options.hermetic))
    if hermetic is None:
        sys.exit(f"gate.py: there is no '{options.hermetic}'")
    with tempfile.TemporaryDirectory(prefix="hermetic-gate-", dir="/var/tmp") as outside:
        directory = os.path.join(outside, "workspace")
        os.mkdir(directory)
        make_workspace(directory, options)
        results = {"load_average": os.getloadavg(), "rounds": options.rounds}
        print(f"load average {results['load_average'][0]:.1f}, {options.rounds} rounds")
        for step, command in (("suite", "python3 suite.py"), ("build", "make")):
            results[step] = measure(step, command, directory, outside, hermetic, options)
        results["load_average_after"] = os.getloadavg()
        print(f"load average {results['load_average_after'][0]:.1f} in the end")
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=2)


main()
