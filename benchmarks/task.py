#!/usr/bin/python3
"""What a fresh checkout and environment cost: by git worktree and python -m venv, and by hermetic task.

  benchmarks/task.py [--files N] [--rounds N] [--tasks N] [--seconds S] [--batch-rounds N] [--hermetic PROGRAM] [--json FILE]

One repository of N files. Every round sets both up once and removes both, in a random order. Ratios are those of the
medians, and of the minima, in two ways: setup_ratio_* is the wall time of git worktree and python -m venv by what
hermetic says of its own setting up; whole_wall_time_ratio_* has nothing but wall time, from the start of the first
process to the end of the last, of setting up and removing.

Then a batch of short tasks, each set up with an empty environment, after which nothing may be left, and batches of tasks that compute, and the same commands
alone, as many at once: in rounds, both in each, in a random order.
"""
import argparse
import concurrent.futures
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

BUSY = "import time; end = time.process_time() + {seconds}\nwhile time.process_time() < end: sum(range(2000))"

TASK = f"bench{os.getpid()}"  # how the names of our tasks begin: others may run theirs


def git(repository, *words):
    subprocess.run(
        ["git", "-C", repository, "-c", "user.name=b", "-c", "user.email=b@localhost", *words],
        check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def make_repository(path, files):
    os.mkdir(path)
    git(path, "init", "-q")
    chooser = random.Random(1)
    for number in range(files):
        folder = os.path.join(path, f"d{number % 97}", f"e{number % 9}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"f{number}.py"), "w", encoding="ascii") as file:
            file.write("".join(chooser.choice("abcdefgh \n") for _ in range(chooser.randrange(200, 4000))))
    git(path, "add", "-A")
    git(path, "commit", "-qm", "one")


def by_worktree(repository, folder):
    """As the implementation before this one: returns the seconds of setting up and of removing."""
    begin = time.perf_counter()
    os.mkdir(folder)
    git(repository, "worktree", "add", "--detach", os.path.join(folder, "worktree"))
    subprocess.run([sys.executable, "-m", "venv", os.path.join(folder, "venv")], check=True)
    ready = time.perf_counter()
    git(repository, "worktree", "remove", "--force", os.path.join(folder, "worktree"))
    shutil.rmtree(folder)
    git(repository, "worktree", "prune")
    return ready - begin, time.perf_counter() - ready


def by_task(program, repository, folder):
    """Everything that is not the command itself, and what hermetic says about its parts."""
    manifest = os.path.join(folder, "manifest.json")
    begin = time.perf_counter()
    subprocess.run(
        [program, "task", "run", "--repo", repository, "--task-id", TASK, "--scratch",
         os.path.join(folder, "scratch"), "--manifest", manifest, "--", "true"], check=True)
    whole = time.perf_counter() - begin
    with open(manifest, encoding="ascii") as file:
        parts = json.load(file)["durations"]
    setup = (parts["setup_ms"] + parts["guard_ms"]) / 1000
    return setup, parts["cleanup_ms"] / 1000, whole, parts["environment_ms"]


def processes_in(folder):
    """Commands of our tasks, and programs that were told of the folder."""
    found = []
    for number in filter(str.isdigit, os.listdir("/proc")):
        if int(number) == os.getpid():
            continue
        for name, mark in (("environ", f"HERMETIC_TASK_ID={TASK}"), ("cmdline", folder)):
            try:
                with open(f"/proc/{number}/{name}", "rb") as file:
                    if mark.encode() in file.read():
                        found.append(number)
                        break
            except OSError:  # it is gone, or another user's
                pass
    return found


def temporary_names():
    """What hermetic could have left in the folders that everybody uses; others may use it at the same time."""
    return {os.path.join(folder, name) for folder in ("/tmp", "/var/tmp") for name in os.listdir(folder)
            if "hermetic" in name}


def left_over(folder, repository, before):
    """Files in the scratch folder, entries of worktrees, mounts, processes, temporary files: all of it must be none."""
    scratch = [name for _, folders, names in os.walk(os.path.join(folder, "scratch")) for name in folders + names]
    entries = subprocess.run(["git", "-C", repository, "worktree", "list"], stdout=subprocess.PIPE, check=True)
    with open("/proc/self/mountinfo", encoding="utf-8") as mounts:
        mounted = [line for line in mounts if "/task/" in line or folder in line]
    cache = os.environ["HERMETIC_CACHE"]
    return {
        "files": len(scratch),
        "worktree_entries": len(entries.stdout.splitlines()) - 1,
        "mounts": len(mounted),
        "journals": len(os.listdir(os.path.join(cache, "journals"))),
        "half_made": len([name for name in os.listdir(cache) if name.endswith(".making")]),
        "processes": len(processes_in(folder)),
        "temporary_files": len(temporary_names() - before),
    }


def batch(program, repository, folder, lines, jobs):
    tasks = os.path.join(folder, "tasks.jsonl")
    out = os.path.join(folder, "out")
    shutil.rmtree(out, ignore_errors=True)
    with open(tasks, "w", encoding="ascii") as file:
        for line in lines:
            file.write(json.dumps(line) + "\n")
    begin = time.perf_counter()
    subprocess.run([program, "task", "batch", tasks, "--repo", repository, "--out", out, "--jobs", str(jobs),
                    "--scratch", os.path.join(folder, "scratch"), "--quiet"], check=True)
    return time.perf_counter() - begin


def alone(command, count, jobs):
    begin = time.perf_counter()
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        list(pool.map(lambda _: subprocess.run(command, check=True), range(count)))
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tasks", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=0.3)
    parser.add_argument("--batch-rounds", type=int, default=5)
    parser.add_argument("--hermetic", default="build/release/hermetic")
    parser.add_argument("--json")
    options = parser.parse_args()
    program = os.path.abspath(options.hermetic)
    jobs = os.cpu_count() or 2
    with tempfile.TemporaryDirectory(prefix="hermetic-bench-", dir="/var/tmp") as folder:
        os.environ["HERMETIC_CACHE"] = os.path.join(folder, "cache")
        before = temporary_names()
        repository = os.path.join(folder, "repository")
        make_repository(repository, options.files)
        by_task(program, repository, folder)  # fills the cache
        worktree, task = [], []
        for number in range(options.rounds):
            cases = [lambda n=number: worktree.append(by_worktree(repository, os.path.join(folder, f"w{n}"))),
                     lambda: task.append(by_task(program, repository, folder))]
            random.shuffle(cases)
            for case in cases:
                case()
        lines = [{"task_id": f"{TASK}-t{n}", "command": ["true"], "seed": n} for n in range(options.tasks)]
        short = batch(program, repository, folder, lines, jobs)
        with open(os.path.join(folder, "out", "results.jsonl"), encoding="ascii") as results:
            in_batch = [json.loads(line)["durations"] for line in results]
        left = left_over(folder, repository, before)
        command = [sys.executable, "-c", BUSY.format(seconds=options.seconds)]
        count = 20 * jobs
        lines = [{"task_id": f"{TASK}-b{n}", "command": command} for n in range(count)]
        by_batch, by_itself = [], []
        for _ in range(options.batch_rounds):
            cases = [lambda: by_batch.append(batch(program, repository, folder, lines, jobs)),
                     lambda: by_itself.append(alone(command, count, jobs))]
            random.shuffle(cases)
            for case in cases:
                case()
        result = {
            "files": options.files,
            "setup_ratio_medians": statistics.median(w[0] for w in worktree) / statistics.median(t[0] for t in task),
            "setup_ratio_minima": min(w[0] for w in worktree) / min(t[0] for t in task),
            "whole_wall_time_ratio_medians":
                statistics.median(sum(w) for w in worktree) / statistics.median(t[2] for t in task),
            "whole_wall_time_ratio_minima": min(sum(w) for w in worktree) / min(t[2] for t in task),
            "worktree_whole_ms": 1000 * statistics.median(sum(w) for w in worktree),
            "task_whole_ms": 1000 * statistics.median(t[2] for t in task),
            "worktree_setup_ms": 1000 * statistics.median(w[0] for w in worktree),
            "task_setup_ms": 1000 * statistics.median(t[0] for t in task),
            "task_cleanup_ms_most": 1000 * max(t[1] for t in task),
            "worktree_cleanup_ms": 1000 * statistics.median(w[1] for w in worktree),
            "task_environment_ms": statistics.median(t[3] for t in task),
            "task_environment_ms_least": min(t[3] for t in task),
            "task_setup_ms_in_a_batch": statistics.median(d["setup_ms"] for d in in_batch),
            "task_environment_ms_in_a_batch": statistics.median(d["environment_ms"] for d in in_batch),
            "tasks": options.tasks,
            "tasks_per_second": options.tasks / short,
            "left_over": left,
            "batch_per_second_median": count / statistics.median(by_batch),
            "alone_per_second_median": count / statistics.median(by_itself),
            "batch_to_alone_medians": statistics.median(by_batch) / statistics.median(by_itself),
            "batch_to_alone_by_round": sorted(b / a for b, a in zip(by_batch, by_itself)),
        }
    print(json.dumps(result, indent=2))
    if options.json:
        with open(options.json, "w", encoding="ascii") as file:
            json.dump(result, file, indent=2)


if __name__ == "__main__":
    main()
