#!/usr/bin/python3
"""What a gate costs a step that needs no network: bare, in the gate, and under strace as gates before it did.

  benchmarks/gate.py [--rounds N] [--seconds S] [--files N] [--hermetic PROGRAM] [--json FILE]

Two steps: the test suite of a Python package, whose cases compute, write files and start processes, and 'make' of a C
project. Every round runs every case once, in a random order, on a clean copy; a case is compared with others of the
same run only, by medians, by minima and by the median of the ratios within a round. The gate is measured whole: from
reading the policy to the evidence on disk.
"""
import argparse
import json
import os
import random
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


def timed(words, directory):
    shutil.rmtree(os.path.join(directory, "build"), ignore_errors=True)
    start = time.perf_counter()
    done = subprocess.run(words, cwd=directory, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, check=False)
    taken = time.perf_counter() - start
    if done.returncode != 0:
        sys.exit(f"gate.py: {' '.join(words)} ended with {done.returncode}: {done.stderr.decode()[-500:]}")
    return taken


def measure(step, command, directory, outside, hermetic, rounds):
    policy = os.path.join(outside, step + ".yml")
    with open(policy, "w") as file:
        file.write(f'schema_version: "1"\nhermetic_steps: [{{id: {step}, command: {command}}}]\n')
    gate = [hermetic, "gate", "--quiet", "--sha", "benchmark", "--policy", policy,
            "--out", os.path.join(outside, "evidence")]
    shell = ["/bin/sh", "-c", command]
    trace = ["-o", os.path.join(outside, "trace.txt")]
    cases = {"bare": shell, "gate": gate}
    if shutil.which("strace"):
        cases["strace -f -e trace=network"] = ["strace", "-f", "-e", "trace=network"] + trace + shell
        cases["gate --detector strace"] = gate + ["--detector", "strace"]
    times = {name: [] for name in cases}
    for round_number in range(rounds + 1):  # the first warms up
        for name in random.sample(list(cases), len(cases)):
            taken = timed(cases[name], directory)
            if round_number > 0:
                times[name].append(taken)
    print(f"{step}: {command}")
    results = {}
    for name, all_times in times.items():
        results[name] = {
            "median_s": statistics.median(all_times), "minimum_s": min(all_times),
            "ratio_of_medians": statistics.median(all_times) / statistics.median(times["bare"]),
            "ratio_of_minima": min(all_times) / min(times["bare"]),
            "median_of_ratios": statistics.median(a / b for a, b in zip(all_times, times["bare"])),
            "times_s": all_times}
        result = results[name]
        print(f"  {name:28} median {result['median_s']:6.2f} s ({result['ratio_of_medians']:.3f})  "
              f"minimum {result['minimum_s']:6.2f} s ({result['ratio_of_minima']:.3f})  "
              f"of ratios {result['median_of_ratios']:.3f}")
    return results


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seconds", type=float, default=4, help="about how long the test suite takes")
    parser.add_argument("--files", type=int, default=40)
    parser.add_argument("--hermetic", default="hermetic")
    parser.add_argument("--json")
    options = parser.parse_args()
    hermetic = shutil.which(options.hermetic) and os.path.abspath(shutil.which(options.hermetic))
    if hermetic is None:
        sys.exit(f"gate.py: there is no '{options.hermetic}'")
    os.environ["PATH"] = "/usr/bin:/bin"
    with tempfile.TemporaryDirectory(prefix="hermetic-gate-", dir="/var/tmp") as outside:
        directory = os.path.join(outside, "workspace")
        os.mkdir(directory)
        make_workspace(directory, options)
        results = {"load_average": os.getloadavg(), "rounds": options.rounds}
        print(f"load average {results['load_average'][0]:.1f}, {options.rounds} rounds")
        for step, command in (("suite", "python3 suite.py"), ("build", "make")):
            results[step] = measure(step, command, directory, outside, hermetic, options.rounds)
    if options.json:
        with open(options.json, "w") as file:
            json.dump(results, file, indent=2)


main()
