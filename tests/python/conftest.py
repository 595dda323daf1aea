"""What the tests of the Python package share."""

import os
import pathlib
import time

import pytest


# Timeouts within which a command has begun: the first will do, but for a machine that is busy.
GROWING = (0.1, 1, 10)


def processes_named(marker):
    """The command lines, of all processes that we may look at, that have this word."""
    found = []
    for name in os.listdir("/proc"):
        if not name.isdigit() or int(name) == os.getpid():
            continue
        try:
            words = pathlib.Path("/proc", name, "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if marker.encode() in words:
            found.append(b" ".join(words))
    return found


def comes_true(condition, seconds=10):
    """Waits for what happens soon; how soon is no matter."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def marker():
    """A length of sleep that nobody else uses."""
    return f"{1000 + os.getpid()}.{time.monotonic_ns() % 1_000_000_000:09d}"


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    """Every test in an empty directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", "/usr/local/bin:/usr/bin:/bin")
    return tmp_path
