"""What the tests of the Python package share."""

import os
import pathlib
import subprocess
import time

import pytest

import hermetic


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


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One for all tests: making an environment takes seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()

    def git(*words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=path, check=True,
                       stdout=subprocess.DEVNULL)

    git("init", "-q")
    (path / "kept.txt").write_text("kept\n")
    (path / "changed.txt").write_text("old\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    return path


@pytest.fixture
def task(repository, cache):
    def make(task_id="demo", **options):
        return hermetic.HermeticRun(task_id, repo=repository, cache=cache, **options)

    return make
