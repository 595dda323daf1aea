"""A drop-in for the functions of the standard library's subprocess, each command in a sandbox.

    from hermetic import subprocess

What a command may use is what `hermetic run` allows without a spec file (the toolchain and its directory can
be read), or the `spec`, and over that inputs, outputs, temps, network and limits. Everything else is as in the
standard library, but for this: processes that the command leaves behind are ended and not waited for, there is
no Popen, and what a sandbox cannot give (preexec_fn, pass_fds, user…) is refused.
"""

from __future__ import annotations

import errno
import os
import subprocess as _subprocess
from subprocess import (DEVNULL, PIPE, STDOUT, CalledProcessError, SubprocessError,  # noqa: F401
                        TimeoutExpired)
from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from ._run import Run, finish, returncode_of, spec_for
from ._streams import Decoding, Streams
from .errors import SystemFailure
from .spec import PathLike, Spec

__all__ = ["CalledProcessError", "CompletedProcess", "DEVNULL", "PIPE", "STDOUT", "SubprocessError",
           "TimeoutExpired", "call", "check_call", "check_output", "run"]

# What may be given if it is this, because it then changes nothing.
_USUAL: Mapping[str, Sequence[Any]] = {
    "preexec_fn": (None,), "close_fds": (True,), "startupinfo": (None,), "creationflags": (0,),
    "pass_fds": ((), []), "user": (None,), "group": (None,), "extra_groups": (None,), "umask": (-1,),
    "process_group": (None, -1),
}
# What makes no difference: nothing is read before the end, and a sandbox has a session of its own.
_IGNORED = {"bufsize", "restore_signals", "start_new_session", "pipesize"}
_ALLOWED = {"inputs", "outputs", "temps", "network", "limits"}
_LONGEST_NAME = 255

Args = Union[PathLike, Sequence[PathLike]]


class CompletedProcess(_subprocess.CompletedProcess):  # type: ignore[type-arg]
    """That of the standard library, and the outcome of the run."""

    outcome: Dict[str, Any]


def _words(args: Args, shell: bool, executable: Optional[PathLike]) -> List[PathLike]:
    words: List[PathLike]
    if isinstance(args, (str, bytes)):
        words = [args]
    elif isinstance(args, os.PathLike):
        if shell:
            raise TypeError("path-like args is not allowed when shell is true")
        words = [args]
    else:
        words = list(args)
    if shell:
        words = ["/bin/sh", "-c", *words]
        if executable is not None:
            words[0] = executable
    elif executable is not None:
        raise NotImplementedError("a sandbox starts a program under its own name; give it as args[0]")
    if not words:
        raise IndexError("list index out of range")
    return words


def _environment(env: Optional[Mapping[Any, Any]]) -> Dict[Any, Any]:
    """Of an inherited one, what has a name that a sandbox knows; a shell's functions have not."""
    if env is not None:
        return dict(env)
    return {name: value for name, value in os.environ.items()
            if name.isascii() and name.isidentifier() and len(name) <= _LONGEST_NAME}


def _check(options: Mapping[str, Any]) -> None:
    for name, value in options.items():
        if name in _IGNORED:
            continue
        if name not in _USUAL:
            raise TypeError(f"unexpected keyword argument {name!r}")
        if not any(value is usual or value == usual for usual in _USUAL[name]):
            raise NotImplementedError(f"{name} cannot be given to a command in a sandbox")


def _is_text(text: Optional[bool], universal_newlines: Optional[bool]) -> Optional[bool]:
    if text is not None and universal_newlines is not None and bool(universal_newlines) != bool(text):
        raise SubprocessError("Cannot disambiguate when both text and universal_newlines are supplied but "
                              "different. Pass one or the other.")
    return text or universal_newlines


def _start(args: Args, *, input: Any = None, executable: Optional[PathLike] = None, stdin: Any = None,
           stdout: Any = None, stderr: Any = None, shell: bool = False, cwd: Optional[PathLike] = None,
           env: Optional[Mapping[Any, Any]] = None, universal_newlines: Optional[bool] = None,
           text: Optional[bool] = None, encoding: Optional[str] = None, errors: Optional[str] = None,
           spec: Optional[Spec] = None, **others: Any) -> Run:
    allowed = {name: others.pop(name) for name in list(others) if name in _ALLOWED}
    _check(others)
    decoding = Decoding(_is_text(text, universal_newlines), encoding, errors)
    if isinstance(stdout, int) and stdout == STDOUT:
        raise ValueError("STDOUT can only be used for stderr")
    words = _words(args, shell, executable)
    if cwd is not None:
        os.close(os.open(cwd, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC))  # raises what subprocess raises
        cwd = os.path.realpath(cwd)
    wanted = spec_for(words, spec, cwd=cwd, **allowed).replace(exact_env=_environment(env))
    data = None if input is None else decoding.encode(input)
    streams = Streams(stdin, stdout, stderr, data)
    try:
        return Run(wanted, streams, decoding, {}, False)
    except SystemFailure as failure:
        if failure.os_error == errno.E2BIG:  # found out when init gets the words, which it passes on
            raise OSError(failure.os_error, failure.strerror, os.fspath(words[0])) from None
        raise


def _raise_unless_started(outcome: Mapping[str, Any], program: PathLike) -> None:
    if outcome["ending"] == "not_started":
        number = outcome["os_error"]
        raise OSError(number, os.strerror(number), os.fspath(program))


def run(*popenargs: Any, input: Any = None, capture_output: bool = False, timeout: Optional[float] = None,
        check: bool = False, **kwargs: Any) -> CompletedProcess:
    """subprocess.run(), in a sandbox."""
    if input is not None:
        if kwargs.get("stdin") is not None:
            raise ValueError("stdin and input arguments may not both be used.")
    if capture_output:
        if kwargs.get("stdout") is not None or kwargs.get("stderr") is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        kwargs["stdout"] = kwargs["stderr"] = PIPE
    if len(popenargs) > 1:
        raise TypeError("only args may be given without a name")
    args = popenargs[0] if popenargs else kwargs.pop("args")
    started = _start(args, input=input, **kwargs)
    try:
        result = finish(started, timeout)
    except TimeoutExpired as expired:
        expired.cmd = args
        raise
    _raise_unless_started(result.outcome, started.args[0])
    done = CompletedProcess(args, returncode_of(result.outcome), result.stdout, result.stderr)
    done.outcome = result.outcome
    if check and done.returncode:
        raise CalledProcessError(done.returncode, args, output=done.stdout, stderr=done.stderr)
    return done


def call(*popenargs: Any, timeout: Optional[float] = None, **kwargs: Any) -> int:
    """subprocess.call(), in a sandbox."""
    return int(run(*popenargs, timeout=timeout, **kwargs).returncode)


def check_call(*popenargs: Any, **kwargs: Any) -> int:
    """subprocess.check_call(), in a sandbox."""
    code = call(*popenargs, **kwargs)
    if code:
        raise CalledProcessError(code, popenargs[0] if popenargs else kwargs["args"])
    return 0


def check_output(*popenargs: Any, timeout: Optional[float] = None, **kwargs: Any) -> Any:
    """subprocess.check_output(), in a sandbox."""
    for name in ("stdout", "check"):
        if name in kwargs:
            raise ValueError(f"{name} argument not allowed, it will be overridden.")
    if "input" in kwargs and kwargs["input"] is None:
        text = kwargs.get("universal_newlines") or kwargs.get("text") or kwargs.get("encoding") or kwargs.get("errors")
        kwargs["input"] = "" if text else b""
    return run(*popenargs, stdout=PIPE, timeout=timeout, check=True, **kwargs).stdout
