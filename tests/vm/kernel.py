"""Debian's packaged kernel for virtual machines: fetched by apt, unpacked into a cache, never installed."""

import fcntl
import os
import pathlib
import re
import shutil
import subprocess
import tempfile

PACKAGE = re.compile(r"linux-image-(6\.1\.0-\d+-cloud-amd64)")
SOURCE = pathlib.Path(__file__).resolve().parents[2]


class NoMachine(Exception):
    """No virtual machine can be made here, which says nothing about what was to be tested."""


class Kernel:
    """A kernel that was unpacked: its image, and its modules by name."""

    def __init__(self, folder):
        self.release = PACKAGE.fullmatch(folder.name)[1]
        self.image = folder / "boot" / f"vmlinuz-{self.release}"
        files = (folder / "lib/modules" / self.release).rglob("*.ko")
        self._modules = {file.stem.replace("-", "_"): file for file in files}

    def modules(self, wanted):
        """The files of these modules, each after those that it depends on."""
        order = []

        def add(name):
            file = self._modules[name]
            depends = re.search(rb"\0depends=([^\0]*)\0", file.read_bytes())[1].decode()
            for other in filter(None, depends.split(",")):
                add(other.replace("-", "_"))
            if file not in order:
                order.append(file)

        for name in wanted:
            add(name)
        return order


def cache_folder():
    return pathlib.Path(os.environ.get("HERMETIC_VM_CACHE") or SOURCE / "build/vm-cache")


def names_in(folder):
    return [entry.name for entry in folder.iterdir()] if folder.is_dir() else []


def newest(names):
    found = [name for name in names if PACKAGE.fullmatch(name)]
    return max(found, key=lambda name: [int(number) for number in re.findall(r"\d+", name)], default=None)


def output_of(command, **options):
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=300,
                                stdin=subprocess.DEVNULL, **options)
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise NoMachine(f"the kernel cannot be fetched: {problem}") from problem
    if answer.returncode != 0:
        last = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        raise NoMachine(f"the kernel cannot be fetched: {command[0]}: {last}")
    return answer.stdout


def fetch(cache):
    """Puts the newest kernel there, whole or not at all; returns its folder."""
    package = newest(output_of(["apt-cache", "pkgnames", "linux-image-6.1.0-"]).split())
    if package is None:
        raise NoMachine("the kernel cannot be fetched: apt knows no linux-image-6.1.0-*-cloud-amd64; "
                        "is this Debian 12 on amd64, and has apt-get update been run?")
    with tempfile.TemporaryDirectory(prefix=".fetching-", dir=cache) as folder:
        # apt's own user may not write there.
        output_of(["apt-get", "download", "-o", "APT::Sandbox::User=root", package], cwd=folder)
        debs = list(pathlib.Path(folder).glob("*.deb"))
        if len(debs) != 1:
            raise NoMachine(f"the kernel cannot be fetched: apt-get download left {len(debs)} files")
        unpacked = pathlib.Path(folder, package)
        output_of(["dpkg-deb", "--extract", debs[0], unpacked])
        shutil.rmtree(unpacked / "usr", ignore_errors=True)  # documentation
        unpacked.rename(cache / package)
    return cache / package


def kernel():
    """The newest kernel of the cache; fetches one if there is none. One caller at a time."""
    cache = cache_folder()
    if name := newest(names_in(cache)):  # complete, since it has its name
        return Kernel(cache / name)
    try:
        cache.mkdir(parents=True, exist_ok=True)
        with open(cache / "lock", "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            name = newest(names_in(cache))  # somebody else may have fetched it meanwhile
            return Kernel(cache / name if name else fetch(cache))
    except OSError as problem:
        raise NoMachine(f"the kernel cannot be kept: {problem}") from problem
