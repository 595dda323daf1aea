"""Temporary: what the caller of a task leaves in /tmp under names that are meant to go with it.

Evaluation projects call their files /tmp/hermes_* and expect them to be gone when a run is. Commands of a task have a
/tmp of their own, which needs none of this.
"""

from __future__ import annotations

import os
import pathlib
import shutil
import stat
import threading
from typing import Set

FOLDER = pathlib.Path("/tmp")
PREFIX = "hermes_"


class Temporary:
    """Remembers what is there; remove() removes what has come since and is the user's own. As long as other tasks of
    this process are there it may be theirs: the last one removes it."""

    _lock = threading.RLock()  # a finalizer runs whenever the interpreter likes
    _alive = 0
    _before: Set[str] = set()

    def __init__(self) -> None:
        self._owner = os.getpid()
        with Temporary._lock:
            if Temporary._alive == 0:
                Temporary._before = self._names()
            Temporary._alive += 1

    @staticmethod
    def _names() -> Set[str]:
        try:
            return {name for name in os.listdir(FOLDER) if name.startswith(PREFIX)}
        except OSError:
            return set()

    def __del__(self) -> None:
        self.remove()

    def remove(self) -> None:
        """Once; and not in a child of the process whose task it is."""
        with Temporary._lock:
            if self._owner != os.getpid():
                return
            self._owner = 0
            Temporary._alive -= 1
            if Temporary._alive > 0:
                return
            for name in self._names() - Temporary._before:
                self._remove(FOLDER / name)

    @staticmethod
    def _remove(path: pathlib.Path) -> None:
        try:
            status = path.lstat()
            if status.st_uid != os.geteuid():
                return
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(path, ignore_errors=True)  # follows no link
            else:
                path.unlink()
        except OSError:  # gone, or not for us to remove
            pass
