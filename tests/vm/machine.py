"""One virtual machine: booted, listened to, and gone when the work is done, whatever happens."""

import dataclasses
import os
import pathlib
import select
import shutil
import socket
import subprocess
import tempfile
import time

import image
import kernel

PROGRAM = "qemu-system-x86_64"
# As little as possible that a boot would wait for. After a panic the machine restarts, which ends QEMU.
COMMAND_LINE = ("console=ttyS0 loglevel=4 panic=-1 reboot=t mitigations=off tsc=reliable no_timer_check "
                "cryptomgr.notests ima=off apparmor=0 audit=0 8250.nr_uarts=1 random.trust_cpu=on")


class NoResult(Exception):
    """The machine has not told how all jobs ended. Never a success, and no verdict about the job either."""


@dataclasses.dataclass
class Job:
    command: list
    user: str = "root"
    seconds: int = 600
    files: list = dataclasses.field(default_factory=list)
    environment: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class End:
    """How a job ended: by exit, signal or timeout, with the code or the number of the signal."""
    how: str
    number: int
    groups_left: int  # control groups that the job has made and not removed
    output: bytes
    files: dict


def accelerator():
    """tcg runs everywhere. A /dev/kvm that can be opened may still be unable to run an ordinary kernel, and it
    takes as long as a boot to find out, so KVM is used only where somebody who knows says so."""
    return os.environ.get("HERMETIC_VM_ACCEL") or "tcg"


def command_line(linux, initramfs, disk, console, channel, memory, processors, kernel_options):
    chosen = ["-accel", "tcg,thread=multi,tb-size=256", "-cpu", "max"]
    if accelerator() != "tcg":
        chosen = ["-accel", accelerator(), "-cpu", "host"]
    return [
        # If we are killed, so is QEMU.
        "setpriv", "--pdeathsig", "KILL", "--",
        PROGRAM, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-machine", "q35", *chosen,
        "-smp", str(processors), "-m", str(memory), "-kernel", linux.image, "-initrd", initramfs,
        "-append", " ".join([COMMAND_LINE, *kernel_options]), "-serial", f"file:{console}",
        "-drive", f"file={disk},format=raw,if=none,id=disk,cache=unsafe", "-device", "virtio-blk-pci,drive=disk",
        "-chardev", f"socket,id=channel,fd={channel}", "-device", "virtio-serial-pci",
        "-device", "virtserialport,chardev=channel,name=jobs",
    ]


def what_it_needs(agent):
    """The kernel, if all the rest is here too."""
    for program in [PROGRAM, "setpriv", "objdump"]:
        if shutil.which(program) is None:
            raise kernel.NoMachine(f"{program} is not installed")
    if not agent.exists():
        raise image.Missing(f"{agent} is not built")
    return kernel.kernel()


class Machine:
    """A context: inside, ends() tells what happens; leaving it ends QEMU and removes all files. A disk that is given
    stays, as it is at that moment."""

    def __init__(self, agent, jobs, paths, seconds, packages=(), memory=1024, processors=1, disk=None, modules=(),
                 kernel_options=()):
        self.agent = pathlib.Path(agent)
        self.jobs = jobs
        self.paths = paths
        self.packages = packages
        self.seconds = seconds
        self.memory = memory
        self.processors = processors
        self.disk = disk
        self.modules = modules
        self.kernel_options = kernel_options
        self.folder = None
        self.process = None
        self.channel = None

    def __enter__(self):
        linux = what_it_needs(self.agent)
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="hermetic-vm-"))
        try:
            self._boot(linux)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _boot(self, linux):
        files = [path for job in self.jobs for path in job.files]
        disk = self.disk or image.make_disk(self.folder, self.paths, self.packages, files)
        initramfs = image.make_initramfs(self.folder, linux, self.agent, self.jobs, self.modules)
        self.channel, other = socket.socketpair()
        with other:
            command = command_line(linux, initramfs, disk, self.folder / "console", other.fileno(),
                                   self.memory, self.processors, self.kernel_options)
            # Its own process group: Ctrl-C is for us, who then end it.
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[other.fileno()],
                                            start_new_session=True)

    def __exit__(self, *_):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
        if self.channel is not None:
            self.channel.close()
        if self.folder is not None:
            shutil.rmtree(self.folder)

    def frames(self):
        """The frames of the agent (letter, content), up to the last one; see agent.cc."""
        deadline = time.monotonic() + self.seconds
        data = bytearray()
        while True:
            while len(data) >= 5 and len(data) >= 5 + (size := int.from_bytes(data[1:5], "little")):
                letter, content = chr(data[0]), bytes(data[5:5 + size])
                del data[:5 + size]
                if letter == "X":
                    raise NoResult(f"the agent gave up: {content.decode(errors='replace')}")
                yield letter, content
                if letter == "D":
                    return
            left = deadline - time.monotonic()
            if left <= 0:
                raise NoResult(f"the machine was not done after {self.seconds} s")
            if select.select([self.channel], [], [], left)[0]:
                try:
                    block = self.channel.recv(1 << 16)
                except ConnectionError:
                    block = b""
                if not block:
                    raise NoResult(self._why_it_ended())
                data += block

    def _why_it_ended(self):
        try:
            code = self.process.wait(10)
        except subprocess.TimeoutExpired:
            return "the machine closed its channel"
        panic = [line for line in self.console().splitlines() if "Kernel panic" in line]
        reason = panic[0].strip() if panic else "no panic on its console"
        return f"the machine went down without a result (QEMU's exit code {code}): {reason}"

    def console(self):
        file = self.folder / "console"
        return file.read_text(encoding="utf-8", errors="replace") if file.exists() else ""

    def ends(self, on_output=None):
        """How each job ended, in their order."""
        output, files = bytearray(), {}
        done = 0
        for letter, content in self.frames():
            if letter == "O":
                output += content
                if on_output:
                    on_output(content)
            elif letter == "F":
                name, _, text = content.partition(b"\0")
                files[os.fsdecode(name)] = text
            elif letter == "E":
                how, number, left = content.decode().split()
                yield End(how, int(number), int(left), bytes(output), files)
                output, files = bytearray(), {}
                done += 1
        if done != len(self.jobs):
            raise NoResult(f"the machine told of {done} jobs of {len(self.jobs)}")
