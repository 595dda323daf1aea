"""The drop-in, held against the module that it stands in for: the same calls, the same answers."""

import itertools
import os
import pathlib
import subprocess as real

import hermetic
import pytest
from conftest import GROWING, processes_named
from hermetic import subprocess as ours

TALK = r'cat; printf "out\r\n\303\274"; printf "err\n" >&2; '


def answer(module, function, *arguments, **options):
    """What a call says or raises, as values that can be compared."""
    try:
        said = getattr(module, function)(*arguments, **options)
    except (module.CalledProcessError, module.TimeoutExpired) as raised:
        return (type(raised).__name__, str(raised), raised.cmd, raised.output, raised.stderr,
                getattr(raised, "returncode", None))
    except OSError as raised:
        return (type(raised).__name__, raised.errno, raised.filename)
    except Exception as raised:  # pylint: disable=broad-except
        return (type(raised).__name__, str(raised))
    if isinstance(said, real.CompletedProcess):
        return ("CompletedProcess", said.args, said.returncode, said.stdout, said.stderr, repr(said))
    return (type(said).__name__, said)


def same(function, *arguments, **options):
    expected = answer(real, function, *arguments, **options)
    assert answer(ours, function, *arguments, **options) == expected
    return expected


TEXT_MODES = [{}, {"text": True}, {"universal_newlines": True}, {"encoding": "utf-8"},
              {"encoding": "ascii", "errors": "replace"}, {"encoding": "ascii"}, {"errors": "ignore"}]
ERRORS = [None, real.PIPE, real.STDOUT, real.DEVNULL]
ENDS = ["exit 0", "exit 3", "kill -9 $$"]


@pytest.mark.parametrize("mode", TEXT_MODES, ids=str)
def test_streams(mode, capfd):
    ends = itertools.cycle(itertools.product(ENDS, [False, True]))
    for stdout, stderr in itertools.product([real.PIPE, real.DEVNULL, None], ERRORS):
        end, check = next(ends)
        options = {"stdout": stdout, "stderr": stderr, "check": check, "stdin": real.DEVNULL, **mode}
        expected = answer(real, "run", ["sh", "-c", TALK + end], **options)
        passed_on = capfd.readouterr()
        assert answer(ours, "run", ["sh", "-c", TALK + end], **options) == expected
        assert capfd.readouterr() == passed_on


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("check", [False, True])
def test_endings(end, check):
    for options in ({"capture_output": True}, {"stdout": real.PIPE, "stderr": real.STDOUT, "text": True}):
        same("run", ["sh", "-c", TALK + end], input=None if not options.get("text") else "in", check=check,
             **options)


@pytest.mark.parametrize("mode", TEXT_MODES, ids=str)
@pytest.mark.parametrize("given", [b"", "", None, b"bytes\r\n", "text\r\n\u00fc", bytearray(b"array"),
                                   memoryview(b"view"), b"x" * 200_000], ids=lambda value: str(value)[:20])
def test_input(mode, given):
    options = {"stdin": real.PIPE} if given is None else {"input": given}
    wrong = given is not None and isinstance(given, str) != bool(mode)
    if wrong and given:  # nothing of the wrong type is told by some versions, in some cases
        for module in (real, ours):
            with pytest.raises((TypeError, AttributeError)):
                module.run(["cat"], capture_output=True, **options, **mode)
    elif not wrong:
        same("run", ["cat"], capture_output=True, **options, **mode)
        same("check_output", ["cat"], **options, **mode)


@pytest.mark.parametrize("options", [
    {"shell": True, "args": "echo $0 'two words' | cat; exit 2"},
    {"shell": True, "args": ["echo $0 $1", "zero", "one"]},
    {"shell": True, "args": b"echo bytes"},
    {"shell": True, "args": "echo $0", "executable": "/bin/bash"},
    {"shell": True, "args": pathlib.Path("/bin/true")},
    {"args": "true"}, {"args": b"true"}, {"args": pathlib.Path("/bin/true")},
    {"args": [pathlib.Path("/bin/echo"), b"\xff", "\udcfe", ""]},
    {"args": ("echo", "tuple")}, {"args": []}, {"args": ["nonexistent"]}, {"args": "with arguments"},
    {"args": ["/etc"]}, {"args": ["./nonexistent"]}, {"args": ["./file"]}, {"args": ["./script"]},
    {"args": ["./garbage"]}, {"args": ["a\0b"]}, {"args": ["true", "\0"]},
    {"args": ["pwd"], "cwd": "folder"}, {"args": ["pwd"], "cwd": b"folder"},
    {"args": ["pwd"], "cwd": pathlib.Path("folder")}, {"args": ["pwd"], "cwd": "link"},
    {"args": ["pwd"], "cwd": "folder/../folder"}, {"args": ["true", "x" * (200 << 10)]},
    {"args": ["true"], "cwd": "missing"}, {"args": ["true"], "cwd": "file"},
    {"args": ["env"], "env": {}}, {"args": ["env"], "env": {"A": "1", "B": "\udcff", "PATH": "/usr/bin"}},
    {"args": ["env"], "env": {b"A": b"\xff"}}, {"args": ["env"], "env": {"PATH": "/nonexistent"}},
    {"args": ["env"], "env": {"A=B": "1"}}, {"args": ["env"], "env": {"A": "\0"}},
    {"args": ["sh", "-c", 'echo "$HOME $INHERITED"']},
    {"args": ["true"], "bufsize": 0, "close_fds": True, "restore_signals": False, "start_new_session": True},
], ids=lambda options: str(options)[:60])
def test_arguments(options, place, monkeypatch):
    (place / "folder").mkdir()
    (place / "link").symlink_to("folder")
    for name, content, mode in (("file", "", 0o644), ("script", "#!/bin/sh\necho script", 0o755),
                                ("garbage", "\x7fELF", 0o755)):
        (place / name).write_text(content)
        (place / name).chmod(mode)
    monkeypatch.setenv("INHERITED", "1")
    monkeypatch.setenv("BASH_FUNC_f%%", "() { :; }")
    same("run", capture_output=True, **options)


def test_whole_environment_is_inherited(monkeypatch):
    for name in list(os.environ):
        if not name.isidentifier():
            monkeypatch.delenv(name)
    monkeypatch.delenv("HOME", raising=False)
    env = ["env", "-u", "COLUMNS", "-u", "LINES"]  # set by readline behind Python's back
    lines = [sorted(module.run(env, capture_output=True).stdout.splitlines()) for module in (real, ours)]
    assert lines[0] == lines[1]


@pytest.mark.parametrize("options", [
    {"input": b"", "stdin": real.DEVNULL}, {"capture_output": True, "stdout": real.PIPE},
    {"capture_output": True, "stderr": real.STDOUT},
    {"text": True, "universal_newlines": False},
], ids=str)
def test_refusals(options):
    same("run", ["true"], **options)


@pytest.mark.parametrize("function", ["call", "check_call", "check_output", "run"])
@pytest.mark.parametrize("command", [["true"], ["false"], ["sh", "-c", "exit 7"], ["sh", "-c", "kill -15 $$"],
                                     ["nonexistent"]])
def test_functions(function, command):
    same(function, command)
    same(function, args=command)
    if function == "check_output":
        same(function, command, stderr=real.STDOUT, text=True)
        same(function, command, stdout=real.PIPE)


@pytest.mark.parametrize("options", [
    {"stdout": real.PIPE}, {"capture_output": True, "text": True}, {"stdout": real.DEVNULL},
    {"stdout": real.PIPE, "stderr": real.STDOUT, "input": b"x" * 100_000},
], ids=lambda options: str(options)[:60])
def test_timeouts(options, marker):
    # exec: the one process is all that subprocess ends
    command = ["sh", "-c", f"echo partial; exec sleep {marker}"]
    for timeout in GROWING:
        told = answer(ours, "run", command, timeout=timeout, **options)
        expected = answer(real, "run", command, timeout=timeout, **options)
        if "stdout" in options and options["stdout"] == real.DEVNULL or told[3] and expected[3]:
            break
    assert told[2:] == expected[2:]  # the text names what was left of the time, or all of it
    assert told[0] == "TimeoutExpired"
    assert processes_named(marker) == []


def test_a_timeout_that_is_not_reached():
    same("run", ["echo", "quick"], timeout=60, capture_output=True)
    assert answer(ours, "call", ["sleep", "60"], timeout=0)[0] == "TimeoutExpired"


def test_standard_input_may_be_a_file(place):
    (place / "in").write_bytes(b"content")
    for module in (real, ours):
        with open("in", "rb") as source, open("out", "wb") as target:
            source.seek(3)
            os.lseek(source.fileno(), 3, os.SEEK_SET)
            assert module.run(["cat"], stdin=source, stdout=target).stdout is None
        assert (place / "out").read_bytes() == b"tent"
        with open("in", "rb") as source:
            assert module.check_output(["cat"], stdin=source.fileno()) == b"content"


def test_both_streams_may_be_one_file(place):
    for module in (real, ours):
        with open("out", "wb") as target:
            module.run(["sh", "-c", "echo one; echo two >&2"], stdout=target, stderr=target)
        assert (place / "out").read_bytes() == b"one\ntwo\n"


@pytest.mark.parametrize("options", [
    {"preexec_fn": print}, {"pass_fds": [0]}, {"user": 1}, {"umask": 0o77}, {"close_fds": False},
    {"executable": "/bin/sh"},
], ids=str)
def test_what_a_sandbox_cannot_give_is_refused(options):
    with pytest.raises(NotImplementedError):
        ours.run(["true"], **options)


def test_unknown_options_are_refused():
    with pytest.raises(TypeError):
        ours.run(["true"], nonsense=1)
    with pytest.raises(TypeError):
        ours.run(["true"], 0)


def test_is_a_sandbox_and_says_so(place):
    assert real.run(["sh", "-c", "echo x >file"]).returncode == 0  # the control
    (place / "file").unlink()
    done = ours.run(["sh", "-c", "echo x >file"], stderr=ours.DEVNULL)
    assert done.returncode != 0
    assert not (place / "file").exists()
    assert done.outcome["hermetic"]
    done = ours.run(["sh", "-c", "echo x >made/file"], outputs=["made"])
    assert (place / "made/file").read_text() == "x\n"
    limited = ours.run(["sleep", "60"], limits={"wall_time": 0.1})
    assert limited.returncode == 124


def test_takes_a_spec():
    spec = hermetic.Spec(inputs=["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"], directory="/")
    assert ours.check_output(["pwd"], spec=spec) == b"/\n"
