"""What the virtual machine boots from: a root disk with programs of this system, and an initramfs with the agent."""

import os
import pathlib
import re
import shutil
import subprocess

# Packages whose programs every guest has.
PACKAGES = ["bash", "bsdutils", "coreutils", "dash", "debianutils", "findutils", "grep", "hostname", "libc-bin",
            "mount", "perl-base", "procps", "sed", "util-linux"]
# Loaded by name at run time, or read by the C library.
ALWAYS = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libgcc_s.so.1", "/usr/lib/locale/C.utf8",
          "/etc/nsswitch.conf", "/etc/os-release", "/etc/debian_version", "/etc/login.defs"]
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n"
                  "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    "etc/group": "root:x:0:\ntty:x:5:\nuser:x:1000:\nnogroup:x:65534:\n",
    "etc/hosts": "127.0.0.1\tlocalhost\n::1\tlocalhost\n127.0.1.1\tvm\n",
    "etc/hostname": "vm\n",
}
FOLDERS = {"dev": 0o755, "home/user": 0o755, "proc": 0o555, "root": 0o700, "run": 0o755, "sys": 0o555,
           "tmp": 0o1777, "usr/local/bin": 0o755, "usr/local/sbin": 0o755, "var/tmp": 0o1777, "mnt": 0o755}
MODULES = ["virtio_pci", "virtio_blk", "virtio_console"]
SPARE_BYTES = 1 << 30  # what a job can write; the image is sparse


class Missing(Exception):
    """Something that the disk was to hold is not here."""


def package_files(packages, below):
    """The files of these packages that are at paths such as this expression says."""
    try:
        answer = subprocess.run(["dpkg-query", "--listfiles", *packages], check=True, capture_output=True, text=True,
                                stdin=subprocess.DEVNULL)
    except (OSError, subprocess.CalledProcessError) as problem:
        raise Missing(f"not all of the packages {' '.join(packages)} are here") from problem
    paths = re.findall(rf"^(?:/usr)?{below}/.+$", answer.stdout, re.M)
    return sorted(path for path in set(paths) if os.path.lexists(path) and not os.path.isdir(path))


def is_program(path):
    if path.is_symlink() or not path.is_file():
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def needed_names(programs):
    """The names of the shared objects that these need; those that are no such files are passed over."""
    answer = subprocess.run(["objdump", "-p", *programs], capture_output=True, text=True,
                            stdin=subprocess.DEVNULL, check=False)
    return set(re.findall(r"^\s+NEEDED\s+(\S+)$", answer.stdout, re.M))


def library_paths():
    answer = subprocess.run(["/sbin/ldconfig", "-p"], check=True, capture_output=True, text=True,
                            stdin=subprocess.DEVNULL)
    found = {}
    for name, path in re.findall(r"^\t(\S+) \(libc6,x86-64\b[^)]*\) => (\S+)$", answer.stdout, re.M):
        found.setdefault(name, path)
    return found


class Tree:
    """A folder that becomes the root disk: files of this system at their own paths, with what they need."""

    def __init__(self, root):
        self.root = pathlib.Path(root)
        self.programs = []

    def add(self, path):
        """The file or the tree at an absolute path, and every link on the way to it with what it points to."""
        parts = list(pathlib.Path(path).parts[1:])
        place = pathlib.Path("/")
        while parts:
            place /= parts.pop(0)
            inside = self.inside(place)
            if place.is_symlink():
                target = os.readlink(place)
                if not inside.is_symlink():
                    inside.symlink_to(target)
                self.add(pathlib.Path(os.path.normpath(place.parent / target), *parts))
                return
            if place.is_dir():
                inside.mkdir(exist_ok=True)
        if place.is_dir():
            for entry in sorted(place.iterdir()):
                self.add(entry)
        elif not inside.exists():
            if not place.is_file():
                raise Missing(f"{place} is no file that could be put on the disk")
            shutil.copy(place, inside)
            if is_program(place):
                self.programs.append(place)

    def inside(self, path):
        return self.root / path.relative_to("/")

    def add_libraries(self):
        """The shared objects that the programs need, and those that these need."""
        paths = library_paths()
        seen = set()
        while self.programs:
            programs, self.programs = self.programs, []
            for name in sorted(needed_names(programs) - seen):
                seen.add(name)
                if name not in paths:
                    raise Missing(f"the shared object {name}, which a program needs, is not here")
                self.add(paths[name])


def make_disk(folder, paths, packages, empty_files):
    """An ext4 file system with the usual programs, what is at these paths and in these packages, and files that
    everybody may write; returns its own file."""
    root = folder / "root"
    tree = Tree(root)
    for name in FOLDERS:
        (root / name).mkdir(parents=True)
    files = package_files(PACKAGES, "/s?bin")
    if packages:
        files += package_files(packages, "/(?:s?bin|lib|include|libexec)")
    for path in [*files, *(path for path in ALWAYS if os.path.exists(path)), *paths]:
        tree.add(path)
    tree.add_libraries()
    for name, text in FILES.items():
        (root / name).write_text(text, encoding="utf-8")
    for path in empty_files:
        file = tree.inside(pathlib.Path(path))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
        file.chmod(0o666)
    for name, mode in FOLDERS.items():  # last: some of them may not be written to
        (root / name).chmod(mode)
    size = sum(file.lstat().st_size + 4096 for file in root.rglob("*") if not file.is_dir())
    disk = folder / "disk"
    with open(disk, "wb") as file:
        file.truncate((size * 5 // 4 + SPARE_BYTES) & ~4095)
    options = ["-q", "-t", "ext4", "-m", "0", "-E", "root_owner=0:0,lazy_itable_init=1,nodiscard"]
    subprocess.run(["/sbin/mke2fs", *options, "-d", root, disk], check=True, stdin=subprocess.DEVNULL)
    shutil.rmtree(root)
    return disk


def archive(entries):
    """The entries (name, mode, content) as a cpio archive, in the format that the kernel unpacks."""
    blocks = []
    for number, (name, mode, content) in enumerate([*entries, ("TRAILER!!!", 0, b"")], 1):
        name = name.encode() + b"\0"
        fields = [number, mode, 0, 0, 1, 0, len(content), 0, 0, 0, 0, len(name), 0]
        head = b"070701" + b"".join(b"%08x" % field for field in fields) + name
        blocks += [head, b"\0" * (-len(head) % 4), content, b"\0" * (-len(content) % 4)]
    return b"".join(blocks)


def job_words(job):
    words = [job.user, str(job.seconds)]
    for group in [job.files, job.environment, job.command]:
        words += [str(len(group)), *group]
    return b"".join(os.fsencode(word) + b"\0" for word in words)


def make_initramfs(folder, linux, agent, jobs, modules=()):
    entries = [("init", 0o100755, agent.read_bytes()), ("modules", 0o040755, b""),
               ("dev", 0o040755, b""), ("jobs", 0o100600, b"".join(map(job_words, jobs)))]
    for number, module in enumerate(linux.modules([*MODULES, *modules])):
        entries.append((f"modules/{number:02} {module.name}", 0o100644, module.read_bytes()))
    initramfs = folder / "initramfs"
    initramfs.write_bytes(archive(entries))
    return initramfs
