"""What can go wrong: with hermetic (HermeticError), and with the command (as in subprocess)."""

from __future__ import annotations

import os
import subprocess as _subprocess
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from ._run import Result

TimeoutExpired = _subprocess.TimeoutExpired

INVALID, UNSUPPORTED, SYSTEM, INTERNAL = "invalid", "unsupported", "system", "internal"


class HermeticError(Exception):
    """The command was not run, or its outcome could not be had. A command that fails is none of these."""

    def __init__(self, kind: str, message: str, hint: str = "", origin: str = "", os_error: int = 0) -> None:
        text = f"{origin}: {message}" if origin else message
        super().__init__(f"{text}\n  hint: {hint}" if hint else text)
        self.kind = kind
        self.message = message
        self.hint = hint
        self.origin = origin
        self.os_error = os_error

    def __reduce__(self) -> Any:
        return (type(self), (self.kind, self.message, self.hint, self.origin, self.os_error))


class InvalidSpecError(HermeticError, ValueError):
    """What was asked for cannot be meant; nothing was tried."""


class UnsupportedError(HermeticError):
    """This host cannot give a clause that the spec needs; nothing was run."""


class SystemFailure(HermeticError):
    """The operating system refused; os_error says why."""

    @property
    def strerror(self) -> str:
        return os.strerror(self.os_error)


class CommandFailed(_subprocess.CalledProcessError):
    """The command ended with another code than 0, and check was asked for. `result` has all of it."""

    def __init__(self, result: "Result") -> None:
        super().__init__(result.returncode, result.args, result.stdout, result.stderr)
        self.result: Optional["Result"] = result

    def __reduce__(self) -> Any:
        return (type(self), (self.result,))
