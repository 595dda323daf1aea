"""The package with every interpreter that is there: any CPython from 3.9 on will do."""

import os
import pathlib
import pwd
import re
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio, sys
import hermetic
done = hermetic.run(["sh", "-c", "echo said; exit 3"], capture_output=True, text=True)
assert (done.returncode, done.stdout) == (3, "said\\n"), done
assert hermetic.run(["cat"], input=b"given", capture_output=True).stdout == b"given"
try:
    hermetic.run(["false"], check=True)
except hermetic.CommandFailed as error:
    assert error.returncode == 1
else:
    raise AssertionError("nothing was raised")
async def both():
    return await asyncio.gather(*(hermetic.run_async(["sh", "-c", f"exit {n}"]) for n in range(2)))
assert [one.returncode for one in asyncio.run(both())] == [0, 1]
print("worked with", *sys.version_info[:2])
"""


def interpreters():
    """One of each version: in PATH, among those of pyenv, and the one that runs this."""
    folders = [pathlib.Path(folder) for folder in os.environ.get("PATH", "").split(":") if folder]
    homes = {os.environ.get("HOME", "/"), pwd.getpwuid(os.getuid()).pw_dir}
    for home in sorted(homes):
        try:
            folders += sorted(pathlib.Path(home, ".pyenv", "versions").glob("*/bin"))
        except OSError:  # not for us to look at
            pass
    found = {sys.version_info[:2]: sys.executable}
    for folder in folders:
        if folder.name == "shims":  # they are no interpreters
            continue
        for program in folder.glob("python3.*"):
            match = re.fullmatch(r"python3\.(\d+)", program.name)
            if match and int(match[1]) >= 9 and os.access(program, os.X_OK):
                found.setdefault((3, int(match[1])), str(program))
    return sorted(found.items())


@pytest.mark.parametrize("version, program", [pytest.param(*each, id="3.%d" % each[0][1]) for each in interpreters()])
def test_the_package_works_with_this_interpreter(version, program):
    done = subprocess.run([program, "-B", "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          check=False)
    assert (done.returncode, done.stdout) == (0, f"worked with {version[0]} {version[1]}\n"), done.stderr
