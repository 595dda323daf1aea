"""refuse.py WHAT COMMAND...: runs a command for which the kernel refuses something, as hardened hosts and containers do.

WHAT is `namespaces`: none of any kind; or `descriptors`: none of other processes.
"""
import ctypes
import os
import struct
import sys


def line(code, yes, no, value):
    return struct.pack("HBBI", code, yes, no, value)


EPERM, ENOSYS, ALLOW = 0x50001, 0x50026, 0x7FFF0000
UNSHARE, CLONE, CLONE3, PIDFD_GETFD = {"x86_64": (272, 56, 435, 438), "aarch64": (97, 220, 435, 438)}[os.uname().machine]
REFUSED = {
    "namespaces": [
        line(0x15, 0, 1, UNSHARE), line(6, 0, 0, EPERM), line(0x15, 0, 1, CLONE3), line(6, 0, 0, ENOSYS),
        line(0x15, 0, 3, CLONE), line(0x20, 0, 0, 16), line(0x45, 0, 1, 0x7E020000), line(6, 0, 0, EPERM)],
    "descriptors": [line(0x15, 0, 1, PIDFD_GETFD), line(6, 0, 0, EPERM)],
}


class Program(ctypes.Structure):
    _fields_ = [("size", ctypes.c_ushort), ("lines", ctypes.c_void_p)]


# First the number of the call is loaded.
program = b"".join([line(0x20, 0, 0, 0), *REFUSED[sys.argv[1]], line(6, 0, 0, ALLOW)])
lines = ctypes.create_string_buffer(program)
libc = ctypes.CDLL(None)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, ctypes.byref(Program(len(program) // 8, ctypes.addressof(lines))), 0, 0) == 0
os.execvp(sys.argv[2], sys.argv[2:])
