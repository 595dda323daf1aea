#!/usr/bin/python3
"""Tasks on a machine that loses its power: what the disk holds then is cleared up by `hermetic gc`, the source is as it
was, and nothing half made is taken for whole.

The guest says when it is time, and is gone at once: what its kernel had not written yet is lost. Its disk keeps what it
was given, in the order in which it was given.
"""

import sys

sys.dont_write_bytecode = True

import hashlib
import os
import pathlib
import tempfile
import unittest

import image
import machine
import vm

HERMETIC = os.environ["HERMETIC_PROGRAM"]
AGENT = pathlib.Path(os.environ["HERMETIC_BINARY_DIR"], "tests/vm_agent")
PYTHON = "python{}.{}".format(*sys.version_info)
PACKAGES = ["git", "tar", PYTHON, f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib", f"{PYTHON}-venv",
            "python3-distutils"]
PATHS = [HERMETIC, "/usr/bin/python3", "/usr/share/python-wheels"]

START = """set -eu
export HERMETIC_CACHE=/var/tmp/$USER/cache GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0=user.name GIT_CONFIG_VALUE_0=a
export GIT_CONFIG_KEY_1=user.email GIT_CONFIG_VALUE_1=a@example.org
mkdir -p /var/tmp/$USER; cd /var/tmp/$USER
hermetic=%s
if [ ! -e source/.git/ready ]; then
  git init -q source
  for i in $(seq 300); do echo "content $i" >source/file$i; done
  git -C source add .; git -C source commit -qm first
  touch source/.git/ready; sync
fi
task() { $hermetic task run --repo source --task-id power "$@"; }
""" % HERMETIC

# Every file has its content, git agrees, and all the rest is gone.
AFTERWARDS = """
$hermetic gc
task -- sh -euc 'git status --porcelain; git fsck --strict; cat file* | sha256sum; python -c "import pip, encodings"
  pip --version; echo x >new' >said 2>&1 || { cat said; exit 1; }
cat said
$hermetic gc
find . -path ./source -prune -o -path ./cache/venv-\\*/upper -prune -o -path ./cache/checkout-\\*/upper -prune -o -print |
  sed 's/-[0-9a-f]\\{64\\}/-KEY/' | sort
git -C source fsck --strict; git -C source status --porcelain; git -C source worktree list | wc -l
cat source/file* | sha256sum
"""
CONTENT = "".join(f"content {i}\n" for i in sorted(range(1, 301), key=str))
LEFT = ["./cache", "./cache/checkout-KEY", "./cache/checkout-KEY.lock", "./cache/checkout-KEY/facts",
        "./cache/checkout-KEY/seal", "./cache/journals", "./cache/venv-KEY", "./cache/venv-KEY.lock",
        "./cache/venv-KEY/facts", "./cache/venv-KEY/seal", "./said"]

# When the power goes. What is written down by then is left on the disk in any case, and for gc to find.
WHILE_THE_CHECKOUT_IS_MADE = """
task -- true &
while kill -0 $!; do if find cache -path '*checkout*' -name index | grep -q .; then echo now; fi; sleep 0.02; done
"""
WHILE_THE_ENVIRONMENT_IS_MADE = """
task -- true &
while kill -0 $!; do if find cache -name '*.pyc' | grep -q .; then echo now; fi; sleep 0.2; done
"""
WHILE_THE_COMMAND_RUNS = """
task --manifest manifest.json -- sh -c 'for i in $(seq 200); do echo changed >file$i; done; git commit -qam mine
  sync; mkdir -p deep/er /task/scratch/more; echo now; sleep 100'
"""
WHILE_IT_IS_CLEARED_UP = """
sh -c 'while ls scratch/power/*/worktree-changes/upper/file1 >/dev/null 2>&1 || ! [ -e started ]; do :; done; echo now' &
task -- sh -c 'for i in $(seq 200); do echo changed >file$i; done' & touch started; wait
"""


class Power(unittest.TestCase):
    def boot(self, user, script, modules, cut):
        """Runs it in the machine, up to its end or, with `cut`, to the line that says now. What it has said."""
        job = machine.Job(["/bin/sh", "-c", START + script], user, seconds=600)
        said = bytearray()

        class Cut(Exception):
            pass

        def hear(content):
            said.extend(content)
            if cut and b"now\n" in said:
                raise Cut

        guest = machine.Machine(AGENT, [job], [], seconds=700, disk=self.disk, modules=modules)
        with guest:
            try:
                [end] = guest.ends(hear)
            except Cut:
                return said.decode()
            except machine.NoResult as problem:
                self.fail(f"{problem}\n{guest.console()[-3000:]}")
        self.assertFalse(cut, f"it ended before its power did: {said.decode()}")
        self.assertEqual((end.how, end.number), ("exit", 0), said.decode())
        return said.decode()

    def check(self, user, modules):
        said = self.boot(user, AFTERWARDS, modules, cut=False)
        digest = hashlib.sha256(CONTENT.encode()).hexdigest()
        self.assertEqual(said.count(digest), 2, said)
        self.assertIn("pip ", said)
        self.assertEqual([line for line in said.splitlines() if line.startswith("./")], LEFT, said)
        self.assertIn("\n1\n", said)
        self.assertNotIn(" M file", said)
        return said

    def test_tasks_are_cleared_up_after_and_nothing_half_made_is_used(self):
        with tempfile.TemporaryDirectory(prefix="hermetic-power-") as name:
            self.disk = image.make_disk(pathlib.Path(name), PATHS, PACKAGES, [])
            # By layers, and where there is no overlay file system by copies.
            for user, modules in (("plain", ["overlay"]), ("root", [])):
                for act in (WHILE_THE_CHECKOUT_IS_MADE, WHILE_THE_ENVIRONMENT_IS_MADE, WHILE_THE_COMMAND_RUNS,
                            WHILE_IT_IS_CLEARED_UP):
                    with self.subTest(user=user, act=act):
                        self.boot(user, act, modules, cut=True)
                        if act is WHILE_THE_CHECKOUT_IS_MADE:
                            continue  # an environment takes a minute to make: that comes next
                        said = self.check(user, modules)
                        if act is WHILE_THE_COMMAND_RUNS:
                            self.assertRegex(said, "removed +/var/tmp/.*/scratch/power/run_")


if __name__ == "__main__":
    sys.exit(vm.run_tests(AGENT))
