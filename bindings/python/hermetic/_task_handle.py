"""TaskHandle: what the library knows a task by. It is freed once, by the process that made it.

The worktree and the environment are made in a thread of their own: the caller's only waits for it, so that a
KeyboardInterrupt comes through at once and never between making something and remembering it.
"""

from __future__ import annotations

import os
import threading
from typing import Optional

from . import _native
from ._supervisor import leave_signals_to_others
from ._waiting import Worker, unseen


class TaskHandle:
    _pointer: Optional[int] = None  # also if it could not be made

    def __init__(self, request: bytes) -> None:
        self._owner = os.getpid()
        # May be taken again by the same thread: a finalizer runs whenever the interpreter likes.
        self._lock = threading.RLock()
        unseen(lambda: self._make(request))

    def _make(self, request: bytes) -> None:
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
        worker = Worker(self._prepare)
        try:
            worker.start()
            worker.result()
        except BaseException:
            _native.call("hermetic_task_stop", self._pointer)
            worker.join()
            self.free()
            raise

    def _prepare(self) -> None:
        leave_signals_to_others()
        _native.call("hermetic_task_prepare", self._pointer)

    def free(self) -> None:
        if self._pointer is None:
            return
        with self._lock:
            pointer, self._pointer = self._pointer, None
            if pointer is not None and self.is_ours:
                _native.library().hermetic_task_free(pointer)
