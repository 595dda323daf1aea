"""Run commands with exactly the files, network and limits they were given.

    >>> import hermetic
    >>> hermetic.run(["echo", "hello"], capture_output=True, text=True).stdout
    'hello\\n'

docs/guide/python.md is the guide.
"""

from __future__ import annotations

import json as _json
from typing import Any, Dict

from . import _native, subprocess
from ._asynchronous import AsyncRun, run_async, start_async
from ._run import Result, Run, run, start
from ._streams import DEVNULL, PIPE, STDOUT
from .errors import (CommandFailed, HermeticError, InvalidSpecError, SystemFailure, TimeoutExpired,
                     UnsupportedError)
from .events import Event
from .spec import Spec, Tree
from .task import HermeticRun, Task

__version__ = "0.1.0"

__all__ = [
    "AsyncRun", "CommandFailed", "DEVNULL", "Event", "HermeticError", "HermeticRun", "InvalidSpecError", "PIPE",
    "Result",
    "Run", "STDOUT", "Spec", "SystemFailure", "Task", "TimeoutExpired", "Tree", "UnsupportedError", "capabilities",
    "library_version", "run", "run_async", "start", "start_async", "subprocess",
]


def library_version() -> str:
    """Of the shared object that is used."""
    return _native.version()


def capabilities() -> Dict[str, Any]:
    """Which clauses this host can give, and by what means."""
    return dict(_json.loads(_native.call_for_text("hermetic_capabilities_json")))
