#!/usr/bin/python3
"""A kernel that was told to have no IPv6: allowed hosts are reached there, too."""

import sys

sys.dont_write_bytecode = True

import os
import pathlib
import unittest

import kernel
import machine
import vm

HERMETIC = os.environ["HERMETIC_PROGRAM"]
AGENT = pathlib.Path(os.environ["HERMETIC_BINARY_DIR"], "tests/vm_agent")
# The small Python of the machine has no more of its library.
SERVER = """
import _socket, os
server = _socket.socket()
server.bind(("127.0.0.2", 7))
server.listen()
os.write(1, b"ready\\n")
os.write(server._accept()[0], b"hello")
"""
CLIENT = """
import _socket
client = _socket.socket()
client.connect(("127.0.0.2", 7))
print(client.recv(5).decode())
for port in range(100, 200):
    _socket.socket().connect_ex(("127.0.0.2", port))
"""
JOB = f"""
cat /proc/net/if_inet6 2>&1
python3 -c '{SERVER}' | {{
  read ready
  {HERMETIC} run --on-violation fail --allow-host 127.0.0.2 -- /usr/bin/python3 -c '{CLIENT}'
  echo "exit $?"
}}
"""


class WithoutIpv6(unittest.TestCase):
    def test_allowed_hosts_are_reached(self):
        jobs = [machine.Job(["/bin/sh", "-c", JOB], "root", seconds=120)]
        version = f"python{sys.version_info.major}.{sys.version_info.minor}-minimal"
        packages = ["python3-minimal", version, f"lib{version}"]
        with machine.Machine(AGENT, jobs, [HERMETIC], seconds=240, packages=packages,
                             kernel_options=["ipv6.disable=1"]) as guest:
            [end] = guest.ends()
        self.assertEqual(end.output.decode(),
                         "cat: /proc/net/if_inet6: No such file or directory\nhello\nexit 0\n")


def main():
    try:
        machine.what_it_needs(AGENT)
    except kernel.NoMachine as problem:
        print(f"SKIPPED, no virtual machine can be made: {problem}")
        return vm.NO_MACHINE
    vm.stop_on_signals()
    return 0 if unittest.main(exit=False).result.wasSuccessful() else 1


if __name__ == "__main__":
    sys.exit(main())
