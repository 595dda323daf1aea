#!/usr/bin/python3
"""vm.py [OPTION]... -- COMMAND...: runs a command in a virtual machine with Debian's own kernel (6.1) and control
groups of version 2, and ends as it ended.

The guest has the usual small programs of this system at their own paths, the command, what --with names, and the
shared objects that these need. It has no network. Exit codes: that of the command, 128 + the signal that ended it,
124 if it took longer than --seconds, 125 if there is no result (the machine did not come up, panicked, or hung),
77 if no machine can be made here.
"""

import sys

sys.dont_write_bytecode = True

import argparse
import os
import pathlib
import shutil
import signal
import unittest

import image
import kernel
import machine

NO_RESULT = 125
TOO_LONG = 124
NO_MACHINE = 77


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--as", dest="user", choices=["root", "plain", "delegated"], default="root",
                        help="plain is uid 1000; delegated too, with a control group of its own")
    parser.add_argument("--with", dest="paths", action="append", default=[], metavar="PATH",
                        help="a file or a tree to have in the guest, at the same path")
    parser.add_argument("--package", dest="packages", action="append", default=[], metavar="NAME",
                        help="a package that is installed here, to have in the guest")
    parser.add_argument("--module", dest="modules", action="append", default=[], metavar="NAME",
                        help="one of the kernel's, loaded before the command runs")
    parser.add_argument("--environment", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--fetch", action="append", default=[], metavar="PATH",
                        help="a file that the command writes, to have here afterwards, at the same path")
    parser.add_argument("--seconds", type=int, default=600, help="for the command; 60 more for the machine")
    parser.add_argument("--memory", type=int, default=1024, metavar="MEGABYTES")
    parser.add_argument("--processors", type=int, default=1)
    parser.add_argument("--agent", type=pathlib.Path, default=kernel.SOURCE / "build/dev/tests/vm_agent")
    parser.add_argument("command", nargs="+")
    return parser.parse_args()


SIGNALS = [signal.SIGTERM, signal.SIGHUP, signal.SIGINT]


def end_by(number, _frame):
    for other in SIGNALS:  # once is enough: the way out is not to be disturbed
        signal.signal(other, signal.SIG_IGN)
    raise SystemExit(128 + number)


def stop_on_signals():
    """So that what was made is removed."""
    for number in SIGNALS:
        signal.signal(number, end_by)


def write_through(content):
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def say(text):
    print(f"vm: {text}", file=sys.stderr, flush=True)


def code_of(end, options):
    if end.groups_left:
        say(f"the command left {end.groups_left} control groups")
    for path in options.fetch:
        if end.files.get(path):
            pathlib.Path(path).write_bytes(end.files[path])
        elif (end.how, end.number) == ("exit", 0):
            say(f"the command has not written {path}")
            return NO_RESULT
    if end.how == "exit":
        return end.number
    if end.how == "signal":
        say(f"the command was ended by {signal.Signals(end.number).name}")
        return 128 + end.number
    say(f"the command was not done after {options.seconds} s")
    return TOO_LONG


def run_tests(agent):
    """Those of the program that calls it, if there can be a machine at all."""
    try:
        machine.what_it_needs(agent)
    except kernel.NoMachine as problem:
        print(f"SKIPPED, no virtual machine can be made: {problem}")
        return NO_MACHINE
    stop_on_signals()
    return 0 if unittest.main("__main__", exit=False).result.wasSuccessful() else 1


def main():
    options = arguments()
    stop_on_signals()
    program = shutil.which(options.command[0]) or options.command[0]
    paths = [os.path.abspath(path) for path in [program, *options.paths]]
    job = machine.Job([os.path.abspath(program), *options.command[1:]], options.user, options.seconds, options.fetch,
                      options.environment)
    for path in options.fetch:  # what is there afterwards is new
        pathlib.Path(path).unlink(missing_ok=True)
    guest = machine.Machine(options.agent, [job], paths, options.seconds + 60, options.packages,
                            options.memory, options.processors, modules=options.modules)
    try:
        with guest:
            try:
                [end] = guest.ends(write_through)
            except machine.NoResult:
                sys.stderr.write(guest.console()[-4000:])
                raise
    except kernel.NoMachine as problem:
        say(f"SKIPPED, no virtual machine can be made: {problem}")
        return NO_MACHINE
    except (machine.NoResult, image.Missing) as problem:
        say(f"no result: {problem}")
        return NO_RESULT
    return code_of(end, options)


if __name__ == "__main__":
    sys.exit(main())
