"""Supervisor: one run, in a thread that does all that is done to its handle.

Starting, waiting and freeing happen in that thread, so that no exception of the caller's thread, such as
KeyboardInterrupt, can come in between and lose the handle. Others ask it by flags and by the calls that the
C ABI allows from every thread.
"""

from __future__ import annotations

import atexit
import collections
import json
import os
import signal
import threading
import weakref
from typing import Any, Callable, Deque, Dict, List, Optional

from . import _native
from ._streams import Streams
from ._waiting import Bell, Latch, Worker
from .errors import INVALID, InvalidSpecError
from .events import Event
from .spec import BuiltSpec

# Events that nobody takes: as many, and of as many bytes.
MOST_WAITING = 1 << 16
MOST_WAITING_BYTES = 1 << 24
_SYNCHRONOUS = {signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT}


def leave_signals_to_others() -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals() - _SYNCHRONOUS)


class Supervisor:
    def __init__(self, spec: BuiltSpec, options: Dict[str, Any], streams: Streams, listens: bool) -> None:
        self.streams = streams
        self.started = Latch()
        self.done = Latch()
        self.failure: Optional[BaseException] = None
        self.outcome: Dict[str, Any] = {}
        self._spec = spec
        self._options = options
        self._owner = os.getpid()
        # May be taken again by the same thread: a finalizer runs whenever the interpreter likes. One of C, whose
        # `with` no exception comes into; those that are written in Python are not used: see _waiting.py.
        self._lock = threading.RLock()
        self._handle: Optional[int] = None
        self._unwanted = False
        self._usage: Dict[str, Any] = {}
        self._news = Bell()
        self._queue = threading.RLock()  # of the next four
        self._events: Deque[bytes] = collections.deque()
        self._events_bytes = 0
        self._lost = 0
        self._heard = 0
        self._listeners: List[Callable[[], None]] = []
        self._callback = _native.event_callback(self._hear) if listens else _native.no_event_callback()
        self._thread = Worker(self._supervise)

    def begin(self) -> None:
        """Returns when the command runs; raises if it cannot be run."""
        _live.add(self)
        try:
            self._thread.start()
            self.started.wait()
        except BaseException:
            self.end()  # a run that the thread is just starting, too
            raise
        if self.failure is not None:
            raise self.failure

    def _supervise(self) -> None:
        leave_signals_to_others()
        try:
            self._run_with_pump()
        except BaseException as problem:  # told to whoever waits
            self.failure = problem
        finally:
            self.done.set()
            self.started.set()
            self._tell_all()

    def _run_with_pump(self) -> None:
        pump = Worker(self._pump)
        try:
            if self.streams.is_pumped:
                pump.start()
            self._run()
        finally:
            # The spec holds descriptors, and the callback this object.
            del self._spec, self._callback
            self.streams.given()
            self.streams.finish()
            pump.join()
            self.streams.close()

    def _pump(self) -> None:
        leave_signals_to_others()
        self.streams.pump()

    def _run(self) -> None:
        options = {"stdin": self.streams.stdin, "stdout": self.streams.stdout, "stderr": self.streams.stderr,
                   **self._options}
        handle = _native.call("hermetic_run_start", self._spec.handle, json.dumps(options).encode(),
                              self._callback, None)
        with self._lock:
            self._handle = handle
            unwanted = self._unwanted
        try:
            self.streams.given()
            if unwanted:
                _native.call("hermetic_run_kill", handle)
            self.started.set()
            self.outcome = json.loads(_native.call_for_text("hermetic_run_wait", handle))
            self._usage = self.outcome["usage"]
        finally:
            with self._lock:
                self._handle = None
            _native.library().hermetic_run_free(handle)

    # --- From any thread ---

    def check_process(self) -> None:
        if self._owner != os.getpid():
            raise InvalidSpecError(INVALID, "the run was started by another process, of which this one is a child",
                                   "use runs in the process that started them")

    def wait(self, timeout: Optional[float] = None) -> bool:
        self.check_process()
        return self.done.wait(timeout)

    def kill(self) -> None:
        self.check_process()
        with self._lock:
            if self._handle is not None:
                _native.call("hermetic_run_kill", self._handle)

    def send_signal(self, number: int) -> bool:
        self.check_process()
        with self._lock:
            return self._handle is not None and bool(_native.call("hermetic_run_signal", self._handle, number))

    def usage(self) -> Dict[str, Any]:
        self.check_process()
        with self._lock:
            if self._handle is not None:
                return dict(json.loads(_native.call_for_text("hermetic_run_snapshot", self._handle)))
        return dict(self._usage)

    def abandon(self) -> None:
        """Nobody wants it any more. Does not wait; in a child of the process that owns it, does nothing."""
        if self._owner != os.getpid():
            return
        with self._lock:
            self._unwanted = True
            if self._handle is not None:
                _native.call("hermetic_run_kill", self._handle)

    def end(self) -> None:
        self.abandon()
        if self._owner == os.getpid():
            self._thread.join()

    # --- Events ---

    def _hear(self, line: bytes) -> None:
        with self._queue:
            self._heard += 1
            full = (len(self._events) >= MOST_WAITING or self._events_bytes + len(line) > MOST_WAITING_BYTES)
            if full or self._lost:  # those that are lost are told of before anything newer
                self._lost += 1
            else:
                self._events.append(line)
                self._events_bytes += len(line)
        self._tell_all()

    def _tell_all(self) -> None:
        self._news.ring()
        for listener in list(self._listeners):
            listener()

    def add_listener(self, listener: Callable[[], None]) -> None:
        """Called, in another thread, whenever there is an event or the end."""
        self._listeners.append(listener)
        listener()

    def next_event(self, wait: bool = True) -> Optional[Event]:
        """None when there is none, and with `wait` when there will be none."""
        self.check_process()
        if wait:
            self._news.wait(lambda: bool(self._events or self._lost or self.done.is_set()))
        with self._queue:
            if self._events:
                line = self._events.popleft()
                self._events_bytes -= len(line)
                return Event.from_json(line)
            if self._lost:
                lost, self._lost = self._lost, 0
                return Event.lost(lost, self._heard - lost + 1)
        return None


_live: "weakref.WeakSet[Supervisor]" = weakref.WeakSet()


@atexit.register
def _end_all() -> None:
    """While threads of Python can still run; the interpreter does not wait for daemons."""
    left = [supervisor for supervisor in list(_live) if not supervisor.done.is_set()]
    for supervisor in left:
        supervisor.abandon()
    for supervisor in left:
        supervisor.end()
