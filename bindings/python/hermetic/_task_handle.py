"""TaskHandle: what the library knows a task by. It is freed once, by the process that made it.

The worktree and the environment are made in a thread of their own: the caller's only waits for one of Python's own
events, so that a KeyboardInterrupt comes through at once and never between making something and remembering it.
"""

from __future__ import annotations

import os
import threading
from typing import Optional

from . import _native
from ._supervisor import leave_signals_to_others


class TaskHandle:
    _pointer: Optional[int] = None  # also if it could not be made

    def __init__(self, request: bytes) -> None:
        self._owner = os.getpid()
        # May be taken again by the same thread: a finalizer runs whenever the interpreter likes.
        self._lock = threading.RLock()
        self._done = threading.Event()
        self._failure: Optional[BaseException] = None
        self._pointer = _native.call("hermetic_task_new", request)

    def __del__(self) -> None:
        self.free()

    @property
    def is_ours(self) -> bool:
        """Not that of the process of which this one is a child."""
        return self._owner == os.getpid()

    @property
    def pointer(self) -> Optional[int]:
        return self._pointer

    def prepare(self) -> None:
        """Returns when the task is set up; whatever else happens, nothing of it is left."""
        thread = threading.Thread(target=self._prepare, name="hermetic-task", daemon=True)
        try:
            thread.start()
            self._done.wait()
        except BaseException:
            _native.call("hermetic_task_stop", self._pointer)
            if thread.ident is not None:
                thread.join()
            self.free()
            raise
        if self._failure is not None:
            self.free()
            raise self._failure

    def _prepare(self) -> None:
        leave_signals_to_others()
        try:
            _native.call("hermetic_task_prepare", self._pointer)
        except BaseException as problem:  # told to whoever waits
            self._failure = problem
        self._done.set()

    def free(self) -> None:
        if self._pointer is None:
            return
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer is not None and self.is_ours:
                _native.library().hermetic_task_free(pointer)
