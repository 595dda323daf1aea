"""The same for asyncio: awaited, iterated, and ended when the task is cancelled."""

from __future__ import annotations

import asyncio
from typing import Any, AsyncIterator, Callable, Dict, Optional, Sequence

from ._run import Result, Run, start
from ._waiting import Worker
from .errors import TimeoutExpired
from .events import Event
from .spec import PathLike


async def _in_thread(work: Callable[[], Any], undo: Optional[Callable[[Any], None]] = None) -> Any:
    """In a thread of its own: those of the loop's executor are few, and a run may take hours.

    If it is cancelled the work is still waited for, because it is short, and then undone.
    """
    loop = asyncio.get_running_loop()
    future: "asyncio.Future[Any]" = loop.create_future()

    def settle(result: Any, problem: Optional[BaseException]) -> None:
        if not future.done():
            if problem is None:
                future.set_result(result)
            else:
                future.set_exception(problem)

    def do() -> None:
        result, problem = None, None
        try:
            result = work()
        except BaseException as raised:
            problem = raised
        try:
            loop.call_soon_threadsafe(settle, result, problem)
        except RuntimeError:  # the loop is closed, and nobody waits
            pass

    Worker(do).start()
    cancelled: Optional[asyncio.CancelledError] = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as problem:
            cancelled = problem
        except BaseException:
            break
    if cancelled is not None:
        if undo is not None and future.exception() is None:
            done, undone = future.result(), undo
            try:
                await _in_thread(lambda: undone(done))
            except asyncio.CancelledError:
                pass
        raise cancelled
    return future.result()


class AsyncRun:
    """A command that runs, for `async with`."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self._news = asyncio.Event()
        loop = asyncio.get_running_loop()

        def tell() -> None:
            try:
                loop.call_soon_threadsafe(self._news.set)
            except RuntimeError:  # the loop is closed, and nobody waits
                pass

        run._supervisor.add_listener(tell)

    async def __aenter__(self) -> "AsyncRun":
        return self

    async def __aexit__(self, *_: Any) -> None:
        await self.close()

    async def events(self) -> AsyncIterator[Event]:
        """What happens, as it happens, until the run has ended."""
        while True:
            self._news.clear()
            running = self.run.running
            event = self.run._supervisor.next_event(wait=False)
            if event is not None:
                yield event
            elif running:
                await self._news.wait()
            else:
                return

    async def _ended(self) -> None:
        while self.run.running:
            self._news.clear()
            if self.run.running:
                await self._news.wait()

    async def wait(self, timeout: Optional[float] = None) -> Result:
        """Until it has ended. After `timeout` seconds it raises TimeoutExpired, and the run goes on."""
        try:
            await asyncio.wait_for(self._ended(), timeout)
        except asyncio.TimeoutError:
            assert timeout is not None
            raise TimeoutExpired(list(self.run.args), timeout) from None
        return self.run.result()

    def send_signal(self, number: int) -> bool:
        return self.run.send_signal(number)

    def kill(self) -> None:
        self.run.kill()

    def usage(self) -> Dict[str, Any]:
        return self.run.usage()

    async def close(self) -> None:
        """Ends it, if it has not ended, and waits for that, also when cancelled."""
        if self.run.running:
            self.run.kill()
        await _in_thread(self.run.close)


class _Starting:
    """What start_async() gives: `await` it, or use it in `async with`."""

    def __init__(self, command: Optional[Sequence[PathLike]], options: Dict[str, Any]) -> None:
        self._command, self._options = command, options
        self._run: Optional[AsyncRun] = None

    async def _start(self) -> AsyncRun:
        return AsyncRun(await _in_thread(lambda: start(self._command, **self._options), Run.close))

    def __await__(self) -> Any:
        return self._start().__await__()

    async def __aenter__(self) -> AsyncRun:
        self._run = await self._start()
        return self._run

    async def __aexit__(self, *_: Any) -> None:
        assert self._run is not None
        await self._run.close()


def start_async(command: Optional[Sequence[PathLike]] = None, **options: Any) -> _Starting:
    """`async with hermetic.start_async(…) as run:`, with the options of start()."""
    return _Starting(command, options)


async def run_async(command: Optional[Sequence[PathLike]] = None, *, timeout: Optional[float] = None,
                    check: bool = False, **options: Any) -> Result:
    """run() for asyncio. If the task is cancelled, the run is ended first."""
    async with start_async(command, **{"events": False, **options}) as started:
        try:
            result = await started.wait(timeout)
        except TimeoutExpired as expired:
            await started.close()
            output, error = started.run.captured()
            expired.output, expired.stderr = output or None, error or None
            raise
    if check:
        result.check_returncode()
    return result
