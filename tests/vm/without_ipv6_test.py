#!/usr/bin/python3
"""Kernels that were told to have no IPv6, or not to use it: allowed hosts are reached there, too."""

import sys

sys.dont_write_bytecode = True

import os
import pathlib
import unittest

import machine
import vm

HERMETIC = os.environ["HERMETIC_PROGRAM"]
AGENT = pathlib.Path(os.environ["HERMETIC_BINARY_DIR"], "tests/vm_agent")
# The small Python of the machine has no more of its library.
SERVER = """
import _socket, os
server = _socket.socket()
server.setsockopt(_socket.SOL_SOCKET, _socket.SO_REUSEADDR, 1)
server.bind(("127.0.0.2", 7007))
server.listen()
os.write(1, b"ready\\n")
os.write(server._accept()[0], b"hello")
"""
CLIENT = """
import _socket
client = _socket.socket()
client.connect(("127.0.0.2", 7007))
print(client.recv(5).decode())
for port in range(100, 200):
    _socket.socket().connect_ex(("127.0.0.2", port))
"""
JOB = f"""
python3 -c '{SERVER}' | {{
  read ready
  {HERMETIC} run --on-violation fail --allow-host 127.0.0.2 -- /usr/bin/python3 -c '{CLIENT}'
  echo "exit $?"
}}
{HERMETIC} run --network loopback -- /usr/bin/python3 -c '
import _socket
_socket.socket(_socket.AF_INET6).bind(("::1", 7007))
' 2>&1 | tail -n 1
"""
VERSION = f"python{sys.version_info.major}.{sys.version_info.minor}-minimal"
PACKAGES = ["python3-minimal", VERSION, f"lib{VERSION}"]


class WithoutIpv6(unittest.TestCase):
    def output_with(self, option):
        jobs = [machine.Job(["/bin/sh", "-c", JOB], user, seconds=60) for user in ["root", "plain"]]
        with machine.Machine(AGENT, jobs, [HERMETIC], seconds=240, packages=PACKAGES,
                             kernel_options=[option]) as guest:
            return [end.output.decode() for end in guest.ends()]

    def test_kernel_that_has_none_has_allowed_hosts(self):
        for output in self.output_with("ipv6.disable=1"):
            self.assertEqual(output, "hello\nexit 0\nOSError: [Errno 97] Address family not supported by protocol\n")

    def test_network_that_has_none_is_not_that_of_the_sandbox(self):
        for output in self.output_with("ipv6.disable_ipv6=1"):
            self.assertEqual(output, "hello\nexit 0\n")


if __name__ == "__main__":
    sys.exit(vm.run_tests(AGENT))
