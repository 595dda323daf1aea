"""Threads, and waiting for them, that an exception may interrupt at any moment.

A signal handler of Python, such as that which raises KeyboardInterrupt, runs between two steps of the main thread's
Python code. threading.Event, threading.Condition and Thread.start() are such code: interrupted in the wrong place they
release a lock that they do not hold ("release unlocked lock"), or keep one for ever. What is here is made of single
calls into C, between which nothing is half done, and leaves nothing behind that another caller could meet.
"""

from __future__ import annotations

import _thread
import collections
import time
from typing import Any, Callable, Deque, Generic, Iterator, List, Optional, Tuple, TypeVar

Value = TypeVar("Value")


def in_c(steps: Iterator[Any]) -> None:
    """Takes all of `map(function of C, …)`: no other code of this thread runs in between."""
    collections.deque(steps, maxlen=0)


class Bell:
    """Wakes all that wait. Each has a lock of its own, which no other takes and which it may leave behind."""

    def __init__(self) -> None:
        self._waiting: Deque[Any] = collections.deque()

    def ring(self) -> None:
        while self._waiting:
            try:
                lock = self._waiting.popleft()
            except IndexError:  # who waited has gone
                return
            lock.release()

    def wait(self, is_over: Callable[[], bool], timeout: Optional[float] = None) -> bool:
        """Until `is_over`, which is asked again whenever it rings. False if the time is over before."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while not is_over():
            lock = _thread.allocate_lock()
            lock.acquire()
            self._waiting.append(lock)
            try:
                if is_over():  # and there is no more ringing
                    return True
                if deadline is None:
                    lock.acquire()
                else:
                    left = deadline - time.monotonic()
                    if left <= 0:
                        return False
                    lock.acquire(True, min(left, _thread.TIMEOUT_MAX))
            finally:
                try:
                    self._waiting.remove(lock)
                except ValueError:  # it has rung
                    pass
        return True


class Latch:
    """Set once."""

    def __init__(self) -> None:
        self._bell = Bell()
        self._is_set = False

    def is_set(self) -> bool:
        return self._is_set

    def set(self) -> None:
        self._is_set = True
        self._bell.ring()

    def wait(self, timeout: Optional[float] = None) -> bool:
        return self._bell.wait(self.is_set, timeout)


class Worker(Generic[Value]):
    """Work in a thread of its own, where no signal handler runs. At the end of the interpreter it is not waited for."""

    def __init__(self, work: Callable[[], Value]) -> None:
        self._work = work
        self._started: List[int] = []
        self._ended = Latch()
        self._result: Optional[Tuple[Optional[Value], Optional[BaseException]]] = None

    def start(self) -> None:
        # The thread is made and known in one call: there is none that join() does not know.
        self._started.extend(map(_thread.start_new_thread, [self._run], [()]))

    def _run(self) -> None:
        try:
            self._result = (self._work(), None)
        except BaseException as problem:  # raised where it is waited for
            self._result = (None, problem)
        finally:
            del self._work  # and what it refers to
            self._ended.set()

    def join(self) -> None:
        if self._started:
            self._ended.wait()

    def result(self) -> Value:
        self.join()
        assert self._result is not None
        value, problem = self._result
        if problem is not None:
            raise problem
        return value  # type: ignore[return-value]


def unseen(work: Callable[[], Value]) -> Value:
    """What `work` gives. It makes something that must not be lost, so it is done where no exception comes in between;
    if one comes to who waits here, what was made is given back by its own finalizer."""
    worker = Worker(work)
    worker.start()
    return worker.result()
