"""Events: iterated while the command runs, here and in asyncio."""

import asyncio
import os

import hermetic
import pytest
from conftest import GROWING, comes_true, processes_named
from hermetic import _supervisor


def kinds(events):
    return [event.kind for event in events]


def test_are_those_of_the_events_file():
    with hermetic.start(["sh", "-c", "env true; :"]) as run:
        events = list(run.events())
    assert kinds(events)[:4] == ["coverage"] * 4
    assert kinds(events)[-1] == "ended"
    assert "started" in kinds(events)
    assert "/usr/bin/env" in [event.subject for event in events if event.kind == "process"]
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert events[0].raw["version"] == 1


def test_come_while_it_runs(marker):
    with hermetic.start(["sleep", marker]) as run:
        for event in run.events():
            if event.kind == "started":
                run.kill()
        assert run.wait().returncode == -9


def test_tell_who_was_denied_what():
    connect = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    with hermetic.start(["/usr/bin/python3", "-c", connect]) as run:
        denied = [event for event in run.events() if event.verdict == "deny"]
    assert [(event.act, event.subject) for event in denied] == [("connect", "127.0.0.1:9/tcp")]
    assert denied[0].endpoint["port"] == 9
    assert "python3" in denied[0].process["executable"]


def test_secrets_are_struck_out(monkeypatch):
    monkeypatch.setenv("MY_TOKEN", "sesame-open-12345")
    with hermetic.start(["env", "true", "sesame-open-12345"]) as run:
        text = repr([event.raw for event in run.events()])
    assert "sesame" not in text
    assert "[redacted:MY_TOKEN]" in text


def test_those_that_nobody_takes_are_counted(monkeypatch):
    monkeypatch.setattr(_supervisor, "MOST_WAITING", 3)
    with hermetic.start(["true"]) as run:
        run.wait()
        events = list(run.events())
    assert kinds(events) == ["coverage"] * 3 + ["lost"]
    assert events[-1].amount >= 3
    assert events[-1].sequence == 4


def test_those_that_nobody_takes_are_bounded_by_their_bytes(monkeypatch):
    monkeypatch.setattr(_supervisor, "MOST_WAITING_BYTES", 100_000)
    script = "x=$(printf %03000d 1); for i in $(seq 100); do /bin/true $x; done; :"
    with hermetic.start(["sh", "-c", script]) as run:
        run.wait()
        waiting = sum(len(line) for line in run._supervisor._events)
        events = list(run.events())
    assert 50_000 < waiting <= 100_000  # of some 700,000
    assert kinds(events).count("lost") == 1
    assert events[-1].kind == "lost"
    assert events[-1].sequence == len(events)
    assert events[-1].amount > 100


def test_what_comes_after_those_that_were_lost_is_told_after_them(monkeypatch):
    monkeypatch.setattr(_supervisor, "MOST_WAITING", 3)
    with hermetic.start(["sh", "-c", "read line; /bin/true"], stdin=(pipe := os.pipe())[0]) as run:
        os.close(pipe[0])
        assert comes_true(lambda: run._supervisor._lost > 0)
        seen = run._supervisor._heard
        first = [run._supervisor.next_event() for _ in range(4)]
        os.close(pipe[1])
        run.wait()
        rest = list(run.events())
    assert kinds(first) == ["coverage"] * 3 + ["lost"]
    assert first[-1].amount == seen - 3
    assert [event.sequence for event in rest[:3]] == [seen + 1, seen + 2, seen + 3]


def test_none_are_told_if_nobody_listens():
    with hermetic.start(["true"], events=False) as run:
        assert list(run.events()) == []


def test_asyncio_runs():
    async def main():
        results = await asyncio.gather(*(
            hermetic.run_async(["sh", "-c", f"sleep 0.1; echo {number}"], capture_output=True, text=True)
            for number in range(10)))
        return [result.stdout for result in results]

    assert asyncio.run(main()) == [f"{number}\n" for number in range(10)]


def test_asyncio_fails_as_the_other():
    with pytest.raises(hermetic.CommandFailed):
        asyncio.run(hermetic.run_async(["false"], check=True))
    with pytest.raises(hermetic.InvalidSpecError):
        asyncio.run(hermetic.run_async(["true"], inputs=["/nonexistent"]))


def test_asyncio_times_out(marker):
    for timeout in GROWING:
        with pytest.raises(hermetic.TimeoutExpired) as expired:
            asyncio.run(hermetic.run_async(["sh", "-c", f"echo first; sleep {marker}"], timeout=timeout,
                                           capture_output=True))
        if expired.value.output:
            break
    assert expired.value.output == b"first\n"
    assert processes_named(marker) == []


def test_asyncio_iterates_events(marker):
    async def main():
        seen = []
        async with hermetic.start_async(["sleep", marker]) as run:
            async for event in run.events():
                seen.append(event.kind)
                if event.kind == "started":
                    assert run.usage()
                    run.kill()
            return seen, (await run.wait()).returncode

    seen, code = asyncio.run(main())
    assert (seen[0], seen[-1], code) == ("coverage", "ended", -9)


def test_asyncio_cancellation_ends_the_run(marker):
    async def main():
        task = asyncio.create_task(hermetic.run_async(["sleep", marker]))
        while not processes_named(marker):
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return processes_named(marker)

    assert asyncio.run(main()) == []


def test_asyncio_cancellation_at_once_leaves_nothing(marker):
    async def main():
        for yields in range(6):
            task = asyncio.create_task(hermetic.run_async(["sleep", marker]))
            for _ in range(yields):
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        return processes_named(marker)

    assert asyncio.run(main()) == []


def test_asyncio_loop_is_not_held_up(marker):
    async def main():
        turns = 0
        async with hermetic.start_async(["sleep", "0.2"]) as run:
            while run.run.running:
                await asyncio.sleep(0.01)
                turns += 1
        return turns

    assert asyncio.run(main()) > 1
