#!/usr/bin/env python3
"""What a sandbox costs: hermetic and its peers, interleaved in one run, as ratios.

  benchmarks/launch.py [--rounds N] [--hermetic PROGRAM] [--loop PROGRAM] [--json FILE] [--svg FILE]

Every round runs every case once, in a random order; a case is compared with others of the same run only. Absolute
times mean little on a shared machine; ratios of medians do.
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

ENVIRONMENT = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
TOOLCHAIN = [path for path in ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc/alternatives",
                               "/etc/ld.so.cache", "/etc/ld.so.conf.d") if os.path.exists(path)]


def spawned(words):
    """A case: run the program, wait for it."""
    program = shutil.which(words[0])

    def run():
        start = time.perf_counter()
        null = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        process = os.posix_spawn(program, words, ENVIRONMENT, file_actions=null)
        _, status = os.waitpid(process, 0)
        taken = time.perf_counter() - start
        if status != 0:
            sys.exit(f"launch.py: {' '.join(words[:6])}... ended with status {status}")
        return taken
    return run


def in_parallel(words, count):
    """A case: start `count` at once, wait for all."""
    program = shutil.which(words[0])

    def run():
        start = time.perf_counter()
        null = [(os.POSIX_SPAWN_OPEN, 1, "/dev/null", os.O_WRONLY, 0)]
        processes = [os.posix_spawn(program, words, ENVIRONMENT, file_actions=null) for _ in range(count)]
        for process in processes:
            _, status = os.waitpid(process, 0)
            if status != 0:
                sys.exit(f"launch.py: {' '.join(words[:6])}... ended with status {status}")
        return time.perf_counter() - start
    return run


class Loop:
    """A case: one execute() of a program that uses the library."""

    def __init__(self, words):
        self.process = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=ENVIRONMENT)

    def __call__(self):
        self.process.stdin.write(b"\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("launch.py: execute_loop ended")
        return int(line) / 1e6

    def close(self):
        self.process.stdin.close()
        self.process.wait()


def bubblewrap(inputs, command):
    """The same policy: namespaces, read-only toolchain and inputs, own /proc, /dev and /tmp, exact environment."""
    words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--clearenv", "--hostname", "hermetic"]
    for name, value in ENVIRONMENT.items():
        words += ["--setenv", name, value]
    for path in TOOLCHAIN:
        if os.path.islink(path):
            words += ["--symlink", os.readlink(path), path]
        else:
            words += ["--ro-bind", path, path]
    words += ["--tmpfs", "/tmp", "--proc", "/proc", "--dev", "/dev"]
    for path in inputs:
        words += ["--ro-bind", path, path]
    return words + command


def hermetic_spec(directory, name, inputs, command):
    path = os.path.join(directory, name + ".json")
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": 1, "command": command, "inputs": TOOLCHAIN + inputs}, file)
    return path


def c_source(directory):
    path = os.path.join(directory, "big.c")
    with open(path, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\n#include <string.h>\n#include <stdlib.h>\n")
        for number in range(250):
            file.write(f"static int f{number}(int a, const char *s) {{\n  int n = (int)strlen(s) + a * {number};\n"
                       f"  return n > 7 ? n - {number % 5} : n;\n}}\n")
        file.write("int main(int argc, char **argv) { int n = argc;\n")
        file.writelines(f"  n += f{number}(n, argv[0]);\n" for number in range(250))
        file.write("  printf(\"%d\\n\", n); return 0; }\n")
    return path


def cases_of(options, directory):
    inputs = []
    for number in range(200):
        path = os.path.join(directory, "inputs", str(number))
        os.makedirs(path)
        inputs.append(path)
    hermetic, cases = options.hermetic, {}

    def spec(name, count, command):
        return hermetic_spec(directory, name, inputs[:count], command)

    cases["bare true"] = spawned(["true"])
    cases["hermetic --version"] = spawned([hermetic, "--version"])
    cases["static hello"] = spawned([static_hello(directory)])
    cases["unshare"] = spawned(["unshare", "-Urmpnif", "--mount-proc", "true"])
    for count in (0, 10, 200):
        label = f", {count} inputs" if count else ""
        cases[f"hermetic run{label}"] = spawned([hermetic, "run", "--spec", spec(f"true{count}", count, ["true"])])
        cases[f"bwrap{label}"] = spawned(bubblewrap(inputs[:count], ["true"]))
        loop = [options.loop] + (["--inputs", str(count), os.path.join(directory, "inputs")] if count else [])
        cases[f"execute(){label}"] = Loop(loop + ["--", "true"])
    cases["execute(), caller of 1 GB"] = Loop([options.loop, "--ballast", "1024", "--", "true"])
    cases["hermetic run, 2 at once"] = in_parallel([hermetic, "run", "--spec", spec("two", 0, ["true"])], 2)
    cases["bwrap, 2 at once"] = in_parallel(bubblewrap([], ["true"]), 2)
    source = c_source(directory)
    compile_words = ["cc", "-O1", "-c", source, "-o", "/dev/null"]
    cases["compile, bare"] = spawned(compile_words)
    cases["compile, hermetic"] = spawned(
        [hermetic, "run", "--spec", hermetic_spec(directory, "compile", [source], compile_words)])
    cases["compile, bwrap"] = spawned(bubblewrap([source], compile_words))
    return cases


def static_hello(directory):
    source, program = os.path.join(directory, "hello.c"), os.path.join(directory, "hello")
    with open(source, "w", encoding="utf-8") as file:
        file.write("#include <stdio.h>\nint main(void) { puts(\"hello\"); return 0; }\n")
    subprocess.run(["cc", "-O2", "-static", source, "-o", program], check=True)
    return program


# (what, of what, at most): the bars that the project sets itself.
BARS = [("hermetic run", "bwrap", 0.6), ("execute()", "bwrap", 0.4), ("hermetic run, 200 inputs", "bwrap, 200 inputs", 0.1),
        ("hermetic run, 200 inputs", "hermetic run, 10 inputs", 2.0), ("execute(), 200 inputs", "execute(), 10 inputs", 2.0),
        ("execute(), caller of 1 GB", "execute()", 1.1), ("compile, hermetic", "compile, bare", 1.03),
        ("hermetic --version", "static hello", 2.0), ("hermetic run, 2 at once", "bwrap, 2 at once", 0.6)]


def measure(cases, rounds):
    samples = {name: [] for name in cases}
    order = list(cases)
    for name in order:  # once for nothing: caches
        cases[name]()
    for number in range(rounds):
        random.shuffle(order)
        for name in order:
            if "compile" in name and number % 4:
                continue
            samples[name].append(cases[name]())
        if sys.stderr.isatty():
            print(f"\rround {number + 1} of {rounds}", end="", file=sys.stderr)
    if sys.stderr.isatty():
        print("\r\x1b[K", end="", file=sys.stderr)
    return samples


def summary(samples):
    rows = {}
    for name, values in samples.items():
        values = sorted(values)
        rows[name] = {"median_us": round(statistics.median(values) * 1e6), "p95_us": round(values[int(len(values) * 0.95)] * 1e6),
                      "min_us": round(values[0] * 1e6), "count": len(values)}
    bars = [{"what": what, "of": other, "ratio": round(rows[what]["median_us"] / rows[other]["median_us"], 3),
             "ratio_of_minima": round(rows[what]["min_us"] / rows[other]["min_us"], 3), "bar": bar} for what, other, bar in BARS]
    return {"version": 1, "cases": rows, "bars": bars}


def plot(result, path):
    rows = sorted(((name, row) for name, row in result["cases"].items() if "compile" not in name and "200" not in name),
                  key=lambda item: item[1]["median_us"])
    widest = max(row["p95_us"] for _, row in rows)
    height = 26 * len(rows) + 50
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="760" height="{height}" font-family="sans-serif" font-size="13">',
             '<rect width="100%" height="100%" fill="white"/>',
             '<text x="10" y="20" font-size="15">Time from start to exit, median (bar) and 95th percentile (line)</text>']
    for number, (name, row) in enumerate(rows):
        y = 40 + 26 * number
        median, p95 = 460 * row["median_us"] / widest, 460 * row["p95_us"] / widest
        colour = "#2a7" if name.startswith(("hermetic", "execute")) else "#888"
        lines.append(f'<text x="190" y="{y + 13}" text-anchor="end">{name}</text>')
        lines.append(f'<rect x="200" y="{y}" width="{median:.1f}" height="18" fill="{colour}"/>')
        lines.append(f'<line x1="{200 + median:.1f}" x2="{200 + p95:.1f}" y1="{y + 9}" y2="{y + 9}" stroke="{colour}"/>')
        lines.append(f'<text x="{206 + p95:.1f}" y="{y + 13}">{row["median_us"] / 1000:.2f} ms</text>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines + ["</svg>", ""]))


def main():
    root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--hermetic", default=os.path.join(root, "build/release/hermetic"))
    parser.add_argument("--loop", default=os.path.join(root, "build/release/execute_loop"))
    parser.add_argument("--json")
    parser.add_argument("--svg")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        cases = cases_of(options, directory)
        result = summary(measure(cases, options.rounds))
        for case in cases.values():
            if isinstance(case, Loop):
                case.close()
    for name, row in result["cases"].items():
        print(f"{name:<28} median {row['median_us']:>7} us   p95 {row['p95_us']:>7}   min {row['min_us']:>7}   n {row['count']}")
    print()
    for bar in result["bars"]:
        word = "ok  " if bar["ratio"] <= bar["bar"] else "OVER"
        print(f"{word} {bar['what']:<28} / {bar['of']:<26} {bar['ratio']:>6} (minima {bar['ratio_of_minima']}), bar {bar['bar']}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=2, sort_keys=True)
            file.write("\n")
    if options.svg:
        plot(result, options.svg)


if __name__ == "__main__":
    main()
