#!/usr/bin/python3
"""The virtual machine itself: what its guest is, and that every way to go wrong is told as what it is."""

import sys

sys.dont_write_bytecode = True

import contextlib
import io
import os
import pathlib
import signal
import subprocess
import tempfile
import time
import types
import unittest

import machine
import vm

HERMETIC = os.environ["HERMETIC_PROGRAM"]
AGENT = pathlib.Path(os.environ["HERMETIC_BINARY_DIR"], "tests/vm_agent")
# Makes a control group beside its own, and is ended in it when it takes more memory than that may have.
USE_MEMORY_LIMIT = """
set -e
parent=/sys/fs/cgroup$(sed 's/^0:://; s,/[^/]*$,,' /proc/self/cgroup)
mkdir $parent/child
echo '+cpu +io +memory +pids' >$parent/cgroup.subtree_control
echo 16M >$parent/child/memory.max
cat $parent/child/memory.max
(echo 0 >$parent/child/cgroup.procs; exec dd if=/dev/zero of=/dev/null bs=64M count=1) || echo $?
grep oom_kill $parent/child/memory.events
rmdir $parent/child
"""
MEMORY_LIMIT_HELD = b"16777216\nKilled\n137\noom_kill 1\n"

JOBS = {
    "kernel": ("root", "uname -r"),
    "controllers": ("root", "cat /sys/fs/cgroup/cgroup.controllers; stat -f -c %T /sys/fs/cgroup"),
    "limit as root": ("root", USE_MEMORY_LIMIT),
    "limit as delegated": ("delegated", USE_MEMORY_LIMIT),
    "limit as plain": ("plain", USE_MEMORY_LIMIT),
    "limit of the delegated group": ("delegated", "echo max >/sys/fs/cgroup/job/memory.max"),
    "user": ("delegated", "id -u; id -g; id -G; cd && pwd; cat /proc/self/cgroup"),
    "exit": ("root", "exit 7"),
    "signal": ("root", "kill -KILL $$"),
    "exit like a signal": ("root", "exit 137"),
    "missing": ("root", None),
    "too long": ("root", "echo before; sleep 1000"),
    "background": ("root", "setsid sleep 1000 & exit 3"),
    "gone": ("root", "pgrep -c sleep"),
    "groups left": ("root", "mkdir -p /sys/fs/cgroup/a/b; echo 0 >/sys/fs/cgroup/a/b/cgroup.procs; exit 0"),
    "groups removed": ("root", "ls -d /sys/fs/cgroup/*/"),
    "much output": ("root", "head -c 300000 /dev/zero | tr '\\0' x; echo end >&2"),
    "file": ("plain", "echo content >/var/tmp/new/file"),
    "environment": ("root", "echo $WORD"),
    "doctor as root": ("root", f"{HERMETIC} doctor"),
    "doctor as delegated": ("delegated", f"{HERMETIC} doctor"),
    "panic": ("root", "echo c >/proc/sysrq-trigger; sleep 1000"),
}


def job_of(name):
    user, script = JOBS[name]
    command = ["/no/such/program"] if script is None else ["/bin/sh", "-c", script]
    return machine.Job(command, user, seconds=2 if name == "too long" else 120,
                       files=["/var/tmp/new/file"] if name == "file" else [], environment=["WORD=a b"])


def collect(guest):
    """The ends up to where there are no more."""
    ends = []
    try:
        for end in guest.ends():
            ends.append(end)
    except machine.NoResult as problem:
        return ends, str(problem)
    return ends, None


class Guest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with machine.Machine(AGENT, [job_of(name) for name in JOBS], [HERMETIC], seconds=180) as guest:
            ends, cls.reason = collect(guest)
        cls.ends = dict(zip(JOBS, ends))

    def end(self, name):
        if name not in self.ends:
            self.fail(f"there is no end of it: {self.reason}")
        return self.ends[name]

    def ended(self, name):
        end = self.end(name)
        return f"{end.how} {end.number}"

    def test_kernel_is_the_one_that_was_fetched(self):
        self.assertRegex(self.end("kernel").output, rb"^6\.1\.0-\d+-cloud-amd64\n$")

    def test_control_groups_are_those_of_version_2(self):
        names, kind = self.end("controllers").output.decode().splitlines()
        self.assertLessEqual({"cpu", "io", "memory", "pids"}, set(names.split()))
        self.assertEqual(kind, "cgroup2fs")

    def test_root_and_a_delegated_user_can_limit_memory_and_a_plain_one_cannot(self):
        for user in ["root", "delegated"]:
            self.assertEqual(self.end(f"limit as {user}").output, MEMORY_LIMIT_HELD)
            self.assertEqual(self.ended(f"limit as {user}"), "exit 0")
        self.assertIn(b"Permission denied", self.end("limit as plain").output)
        self.assertNotEqual(self.ended("limit as plain"), "exit 0")

    def test_what_limits_the_delegated_user_is_not_its_own(self):
        self.assertIn(b"Permission denied", self.end("limit of the delegated group").output)

    def test_user_is_an_ordinary_one(self):
        self.assertEqual(self.end("user").output, b"1000\n1000\n1000\n/home/user\n0::/job/start\n")

    def test_ends_are_told_apart(self):
        self.assertEqual(self.ended("exit"), "exit 7")
        self.assertEqual(self.ended("signal"), "signal 9")
        self.assertEqual(self.ended("exit like a signal"), "exit 137")
        self.assertEqual(self.ended("missing"), "exit 127")
        self.assertEqual(self.ended("too long"), "timeout 0")
        self.assertEqual(self.end("too long").output, b"before\n")

    def test_what_a_job_leaves_running_ends_with_it(self):
        self.assertEqual(self.ended("background"), "exit 3")
        self.assertEqual(self.end("gone").output, b"0\n")

    def test_control_groups_that_are_left_are_counted_and_removed(self):
        self.assertEqual(self.end("groups left").groups_left, 2)
        self.assertEqual(self.end("groups removed").output, b"/sys/fs/cgroup/job/\n")
        self.assertEqual(self.end("limit as root").groups_left, 0)

    def test_output_comes_whole(self):
        self.assertEqual(self.end("much output").output, b"x" * 300000 + b"end\n")

    def test_file_comes_out(self):
        self.assertEqual(self.end("file").files, {"/var/tmp/new/file": b"content\n"})

    def test_environment_goes_in(self):
        self.assertEqual(self.end("environment").output, b"a b\n")

    def test_doctor_finds_on_this_kernel_what_is_promised_there(self):
        for user in ["root", "delegated"]:
            output = self.end(f"doctor as {user}").output.decode()
            self.assertEqual(self.ended(f"doctor as {user}"), "exit 0", output)
            self.assertIn("Linux 6.1.0-", output)
            self.assertIn("Landlock ABI 2 (tried", output)
            self.assertNotIn("BROKEN", output)

    def test_panic_is_no_result(self):
        self.assertNotIn("panic", self.ends)
        self.assertIn("Kernel panic", self.reason or "")


def children_of(pid):
    return [int(word) for word in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text("utf-8").split()]


def is_there(pid):
    """Not if it is only waited for."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


class Program(unittest.TestCase):
    """vm.py as its callers see it; each test has a folder for temporary files, which has to be empty at its end."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.temporary = self.folder / "temporary"
        self.programs = self.folder / "programs"
        self.temporary.mkdir()
        self.programs.mkdir()
        self.environment = {**os.environ, "TMPDIR": str(self.temporary)}

    def command(self, *words):
        return [sys.executable, pathlib.Path(__file__).with_name("vm.py"), "--agent", AGENT, *words]

    def run_with(self, qemu, **environment):
        """vm.py with this script in the place of QEMU."""
        if qemu is not None:
            (self.programs / machine.PROGRAM).write_text(f"#!/bin/sh\n{qemu}\n", encoding="utf-8")
            (self.programs / machine.PROGRAM).chmod(0o755)
        path = {"PATH": f"{self.programs}:{os.environ['PATH']}"}
        command = self.command("--seconds", "-58", "--", "/bin/true")
        return subprocess.run(command, env={**self.environment, **path, **environment}, capture_output=True, text=True,
                              timeout=120, stdin=subprocess.DEVNULL, check=False)

    def assert_nothing_left(self):
        self.assertEqual(list(self.temporary.iterdir()), [])

    def test_machine_that_ends_without_a_word_is_no_success(self):
        answer = self.run_with("exit 0")
        self.assertEqual(answer.returncode, vm.NO_RESULT, answer.stderr)
        self.assertIn("without a result", answer.stderr)
        self.assert_nothing_left()

    def test_machine_that_says_nothing_runs_into_the_time_limit(self):
        answer = self.run_with("exec sleep 1000")
        self.assertEqual(answer.returncode, vm.NO_RESULT, answer.stderr)
        self.assertIn("was not done after 2 s", answer.stderr)
        self.assert_nothing_left()

    def test_no_emulator_is_a_skip_that_says_so(self):
        for name in ["setpriv", "objdump"]:
            (self.programs / name).symlink_to(f"/usr/bin/{name}")
        answer = self.run_with(None, PATH=str(self.programs))
        self.assertEqual(answer.returncode, vm.NO_MACHINE, answer.stderr)
        self.assertIn(f"SKIPPED, no virtual machine can be made: {machine.PROGRAM} is not installed", answer.stderr)

    def test_no_kernel_is_a_skip_that_says_so(self):
        cache = self.folder / "cache"
        apt = self.programs / "apt-cache"
        apt.write_text("#!/bin/sh\n", encoding="utf-8")
        apt.chmod(0o755)
        answer = self.run_with("exit 0", HERMETIC_VM_CACHE=str(cache))
        self.assertEqual(answer.returncode, vm.NO_MACHINE, answer.stderr)
        self.assertIn("apt knows no linux-image-6.1.0-*-cloud-amd64", answer.stderr)
        self.assertEqual([entry.name for entry in cache.iterdir()], ["lock"])

    def test_what_is_missing_is_no_skip(self):
        for words in [["/no/such/program"], ["--with", "/no/such/file", "/bin/true"],
                      ["--package", "no-such-package", "/bin/true"]]:
            answer = subprocess.run(self.command(*words), env=self.environment, capture_output=True, text=True,
                                    timeout=120, stdin=subprocess.DEVNULL, check=False)
            self.assertEqual(answer.returncode, vm.NO_RESULT, answer.stderr)
            self.assertIn("no-such-package" if "--package" in words else "/no/such/", answer.stderr)
        self.assert_nothing_left()

    def test_signals_leave_nothing(self):
        for number in [signal.SIGTERM, signal.SIGKILL]:
            with self.subTest(number.name):
                words = self.command("--", "/bin/sh", "-c", "echo here; sleep 1000")
                process = subprocess.Popen(words, env=self.environment, stdout=subprocess.PIPE,
                                           stdin=subprocess.DEVNULL)
                with process:
                    self.assertEqual(process.stdout.readline(), b"here\n")
                    [emulator] = children_of(process.pid)
                    self.assertTrue(is_there(emulator))
                    process.send_signal(number)
                    process.wait(60)
                deadline = time.monotonic() + 30
                while is_there(emulator) and time.monotonic() < deadline:
                    time.sleep(0.02)
                if is_there(emulator):
                    os.kill(emulator, signal.SIGKILL)
                    self.fail("QEMU goes on without vm.py")
                if number == signal.SIGTERM:  # nobody can remove anything after SIGKILL
                    self.assertEqual(process.returncode, 128 + number)
                    self.assert_nothing_left()

    def test_code_is_that_of_the_command(self):
        options = types.SimpleNamespace(fetch=["/no/such/file"], seconds=1)
        with contextlib.redirect_stderr(io.StringIO()) as said:
            for how, number, code in [("exit", 7, 7), ("signal", 9, 137), ("timeout", 0, vm.TOO_LONG),
                                      ("exit", 0, vm.NO_RESULT)]:
                self.assertEqual(vm.code_of(machine.End(how, number, 0, b"", {}), options), code)
        self.assertIn("has not written /no/such/file", said.getvalue())


if __name__ == "__main__":
    sys.exit(vm.run_tests(AGENT))
