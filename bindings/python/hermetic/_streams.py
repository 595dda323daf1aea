"""The standard streams of a run: what the command gets, and who reads and writes the other ends."""

from __future__ import annotations

import io
import os
import selectors
import subprocess as _subprocess
from typing import IO, Any, Dict, List, Optional, Union

from ._waiting import in_c, unseen

PIPE, STDOUT, DEVNULL = _subprocess.PIPE, _subprocess.STDOUT, _subprocess.DEVNULL

Stream = Union[None, int, IO[Any]]
_CHUNK = 1 << 16


class Decoding:
    """What text, encoding and errors of subprocess mean."""

    def __init__(self, text: Optional[bool], encoding: Optional[str], errors: Optional[str]) -> None:
        self.is_text = bool(text or encoding or errors)
        self._encoding, self._errors = encoding, errors

    def _wrapper(self, buffer: io.BytesIO) -> io.TextIOWrapper:
        return io.TextIOWrapper(buffer, encoding=self._encoding, errors=self._errors)

    def decode(self, data: Optional[bytes]) -> Union[None, bytes, str]:
        if data is None or not self.is_text:
            return data
        return self._wrapper(io.BytesIO(data)).read()

    def encode(self, data: Any) -> bytes:
        if not data:  # of whatever kind, as in subprocess
            return b""
        if not self.is_text:
            return bytes(memoryview(data).cast("B"))
        buffer = io.BytesIO()
        with self._wrapper(buffer) as wrapper:
            wrapper.write(data)
            wrapper.flush()
            return buffer.getvalue()


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


class _Descriptors(List[int]):
    """Closed once each, and not lost: whatever interrupts comes before one is taken out or after it is closed."""

    def close(self, descriptor: int) -> None:
        in_c(map(os.close, map(self.pop, [self.index(descriptor)])))

    def close_all(self) -> None:
        try:
            in_c(map(os.close, iter(self.pop, None)))
        except IndexError:  # none is left
            pass


class Streams:
    """Descriptors for the command, and a pump for our ends of its pipes.

    Nobody is ever held up: the ends are not blocking, and finish() takes what is left without waiting for
    the end of the file, which somebody else may hold up (a child that was forked at the wrong moment).
    """

    def __init__(self, stdin: Stream, stdout: Stream, stderr: Stream, data: Optional[bytes]) -> None:
        self._theirs = _Descriptors()  # closed when the command has them
        self._ours = _Descriptors()
        self._input = memoryview(data or b"")
        self._write: Optional[int] = None
        self._reads: Dict[int, bytearray] = {}
        self._output: Optional[bytearray] = None
        self._error: Optional[bytearray] = None
        self._wake: Optional[int] = None
        self._woken: Optional[int] = None
        unseen(lambda: self._open(stdin, stdout, stderr, data))

    def __del__(self) -> None:
        self.close()

    def _open(self, stdin: Stream, stdout: Stream, stderr: Stream, data: Optional[bytes]) -> None:
        try:
            self.stdin = self._open_input(stdin, data)
            self.stdout = self._open_output(stdout, 1)
            if self.stdout in self._theirs and stdout == PIPE:
                self._output = list(self._reads.values())[-1]
            if isinstance(stderr, int) and stderr == STDOUT:
                self.stderr = self.stdout
            else:
                self.stderr = self._open_output(stderr, 2)
                if isinstance(stderr, int) and stderr == PIPE:
                    self._error = list(self._reads.values())[-1]
            if self._reads or self._write is not None:
                self._woken, self._wake = os.pipe()
                self._ours += [self._woken, self._wake]
        except BaseException:
            self.close()
            raise

    @property
    def is_pumped(self) -> bool:
        return self._wake is not None

    @property
    def output(self) -> Optional[bytes]:
        return None if self._output is None else bytes(self._output)

    @property
    def error(self) -> Optional[bytes]:
        return None if self._error is None else bytes(self._error)

    def _open_input(self, stdin: Stream, data: Optional[bytes]) -> int:
        if data is not None or (isinstance(stdin, int) and stdin == PIPE):
            if not data:
                return -1  # an empty input
            theirs, self._write = os.pipe()
            self._theirs.append(theirs)
            self._ours.append(self._write)
            os.set_blocking(self._write, False)
            return theirs
        if stdin is None:
            return 0 if _is_open(0) else -1
        if isinstance(stdin, int):
            return -1 if stdin == DEVNULL else stdin
        return stdin.fileno()

    def _open_output(self, stream: Stream, usual: int) -> int:
        if isinstance(stream, int) and stream == PIPE:
            ours, theirs = os.pipe()
            self._theirs.append(theirs)
            self._ours.append(ours)
            os.set_blocking(ours, False)
            self._reads[ours] = bytearray()
            return theirs
        if stream is None and _is_open(usual):
            return usual
        if stream is None or (isinstance(stream, int) and stream == DEVNULL):
            null = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
            self._theirs.append(null)
            return null
        return stream if isinstance(stream, int) else stream.fileno()

    def given(self) -> None:
        """The command has its descriptors now, or never will."""
        self._theirs.close_all()

    def finish(self) -> None:
        """No process of the run is left: what is in the pipes is all there will be."""
        if self._wake is not None:
            os.write(self._wake, b"x")

    def pump(self) -> None:
        """Until finish(). In a thread of its own."""
        with selectors.DefaultSelector() as selector:
            assert self._woken is not None
            selector.register(self._woken, selectors.EVENT_READ)
            for descriptor in self._reads:
                selector.register(descriptor, selectors.EVENT_READ)
            if self._write is not None:
                selector.register(self._write, selectors.EVENT_WRITE)
            finished = False
            while not finished:
                for key, _ in selector.select():
                    if key.fd == self._woken:
                        finished = True
                    elif key.fd == self._write:
                        if self._feed():
                            selector.unregister(key.fd)
                            self._ours.close(key.fd)
                            self._write = None
                    elif self._drain(key.fd, 16 * _CHUNK):
                        selector.unregister(key.fd)
        for descriptor in self._reads:
            self._drain(descriptor, None)

    def _feed(self) -> bool:
        """Writes some of the input. True when there is nobody left to write to, or nothing."""
        assert self._write is not None
        try:
            self._input = self._input[os.write(self._write, self._input[:_CHUNK]):]
        except BlockingIOError:
            return False
        except BrokenPipeError:
            return True
        return not self._input

    def _drain(self, descriptor: int, most: Optional[int]) -> bool:
        """Reads what is there, up to about `most`. True at the end of the file."""
        kept = self._reads[descriptor]
        before = len(kept)
        while most is None or len(kept) - before < most:
            try:
                data = os.read(descriptor, _CHUNK)
            except BlockingIOError:
                return False
            if not data:
                return True
            kept += data
        return False

    def close(self) -> None:
        self._write = self._wake = self._woken = None
        self._reads = {}
        self._theirs.close_all()
        self._ours.close_all()
