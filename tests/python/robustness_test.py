"""What callers do to a library: interrupt it, fork, exit, use many threads, give it odd things."""

import ctypes
import gc
import itertools
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import hermetic
import pytest
from conftest import comes_true, processes_named
from hermetic import _native
from hermetic._streams import Streams


def descriptors():
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


def python(script, **options):
    return subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **options)


def test_no_descriptor_and_no_thread_is_left():
    hermetic.run(["true"])
    before, threads = descriptors(), threading.active_count()
    for number in range(200):
        if number % 4 == 0:
            hermetic.run(["cat"], input=b"x", capture_output=True)
        elif number % 4 == 1:
            with hermetic.start(["true"], stderr=hermetic.PIPE) as run:
                list(run.events())
        elif number % 4 == 2:
            with pytest.raises(hermetic.InvalidSpecError):
                hermetic.run(["true"], inputs=["/nonexistent"], capture_output=True, input=b"x")
        else:
            with pytest.raises(hermetic.SystemFailure):
                hermetic.run(["true"], stdin=999_999, capture_output=True)
    assert comes_true(lambda: threading.active_count() == threads)
    assert descriptors() == before


def test_many_threads_at_once():
    before = descriptors()
    wrong = []

    def work(number):
        for turn in range(5):
            text = f"{number}/{turn}".encode()
            said = hermetic.run(["cat"], input=text, capture_output=True)
            if said.stdout != text or said.returncode:
                wrong.append((text, said))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert comes_true(lambda: descriptors() == before)


def test_one_run_may_be_used_by_many_threads(marker):
    with hermetic.start(["sleep", marker]) as run:
        results = []
        waiting = [threading.Thread(target=lambda: results.append(run.wait().returncode)) for _ in range(4)]
        asking = [threading.Thread(target=lambda: [run.usage() for _ in range(50)]) for _ in range(4)]
        for thread in [*waiting, *asking]:
            thread.start()
        for thread in asking:
            thread.join()
        run.kill()
        for thread in waiting:
            thread.join()
        assert results == [-9] * 4


@pytest.mark.parametrize("call", [
    "hermetic.run(['sleep', '{0}'], timeout=1000, capture_output=True)",
    "list(hermetic.start(['sleep', '{0}']).events())",
    "asyncio.run(hermetic.run_async(['sleep', '{0}']))",
])
def test_an_interrupt_ends_the_run(call, marker):
    script = ("import asyncio, hermetic, os, signal, threading\n"
              "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
              "threading.Timer(0.15, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
              f"{call.format(marker)}\n")
    child = python(script)
    _, error = child.communicate(timeout=60)
    assert "KeyboardInterrupt" in error
    assert child.returncode != 0
    assert processes_named(marker) == []


def test_nothing_is_left_when_an_interrupt_comes_while_the_run_starts(marker, monkeypatch):
    call = _native.call
    begun = []

    def slow(name, *arguments):
        begun.append(name)
        if name == "hermetic_run_start":
            time.sleep(0.3)
        return call(name, *arguments)

    monkeypatch.setattr(_native, "call", slow)
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt):
            hermetic.run(["sleep", marker])
        assert "hermetic_run_wait" in begun  # and so ended: it is waited for in the same thread
        assert processes_named(marker) == []
    finally:
        signal.signal(signal.SIGALRM, before)


def test_nothing_is_left_when_an_interrupt_comes_out(marker):
    """At once, and not only when somebody collects what is left or the interpreter ends."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        for call in (hermetic.run, hermetic.subprocess.call):
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                call(["sleep", marker])
            assert processes_named(marker) == []
    finally:
        signal.signal(signal.SIGALRM, before)


def test_interrupts_at_any_moment_leave_nothing(marker):
    """By the hundred, of one process: while it starts, waits and clears up."""
    script = ("import hermetic, os, random, signal\n"
              "signal.signal(signal.SIGALRM, signal.default_int_handler)\n"
              "hermetic.run(['true'])\n"
              "ended = 0\n"
              "for turn in range(60):\n"
              "    try:\n"
              # Once more, because an exception that comes in a finalizer is lost.
              "        signal.setitimer(signal.ITIMER_REAL, 0.0005 + 0.0001 * turn, 1)\n"
              f"        hermetic.run(['sleep', '{marker}'])\n"
              "    except KeyboardInterrupt:\n"
              "        signal.setitimer(signal.ITIMER_REAL, 0)\n"
              "        ended += 1\n"
              "print(ended)\n")
    child = python(script)
    said, error = child.communicate(timeout=60)
    assert (said, child.returncode) == ("60\n", 0), error
    assert comes_true(lambda: not processes_named(marker))


class InterruptedAt:
    """Raises KeyboardInterrupt where the interpreter would let a signal handler do so: when a function of Python
    begins, and when one of C has returned. At the `number`-th of these places, and at no other."""

    def __init__(self, number):
        self.left = number
        self.kept = self.look  # also when the interpreter takes it off while it runs

    def __enter__(self):
        sys.setprofile(self.kept)
        return self

    def __exit__(self, *_):
        sys.setprofile(None)

    def look(self, frame, event, _):
        if event not in ("call", "c_return"):
            return
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt  # and the interpreter takes this function off


def run_it(marker):
    assert hermetic.run(["echo", marker], input=b"x" * 100_000, capture_output=True).returncode == 0


def hear_it(marker):
    with hermetic.start(["echo", marker], stdout=hermetic.PIPE) as run:
        assert [event for event in run.events() if event.kind == "ended"]
        run.usage()
        run.kill()
        assert run.wait(1000).stdout


def threads():
    return len(os.listdir("/proc/self/task"))


# One that comes in a finalizer is lost; whose run is over by then.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("act", [run_it, hear_it])
def test_an_interrupt_at_each_single_moment_is_an_interrupt_and_leaves_nothing(act, marker):
    before_threads = threads()
    act(marker)
    assert comes_true(lambda: threads() <= before_threads)
    before = descriptors()
    interrupted = 0
    for number in itertools.count(1):
        try:
            with InterruptedAt(number) as moment:
                act(marker)
        except KeyboardInterrupt:
            interrupted += 1
        if moment.left > 0:  # it was over before
            break
    assert interrupted > 50
    assert comes_true(lambda: descriptors() <= before)
    assert comes_true(lambda: threads() <= before_threads)
    assert comes_true(lambda: not processes_named(marker))
    act(marker)


@pytest.mark.parametrize("exit_", ["pass", "sys.exit(3)", "raise SystemExit", "os._exit(0)", "1 / 0",
                                   "os.kill(os.getpid(), 9)"])
def test_the_end_of_the_interpreter_ends_runs(exit_, marker):
    child = python("import hermetic, os, sys\n"
                   f"runs = [hermetic.start(['sleep', '{marker}'], stdout=hermetic.PIPE) for _ in range(2)]\n"
                   f"{exit_}\n")
    _, error = child.communicate(timeout=60)
    assert "Fatal" not in error
    assert comes_true(lambda: not processes_named(marker))


def test_a_forked_child_does_not_touch_its_parents_runs(marker):
    with hermetic.start(["sleep", marker]) as run:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                refused = 0
                for act in (run.kill, run.wait, run.usage, lambda: next(run.events())):
                    try:
                        act()
                    except hermetic.InvalidSpecError:
                        refused += 1
                run.close()
                mine = hermetic.run(["echo", "mine"], capture_output=True)
                code = 0 if refused == 4 and mine.stdout == b"mine\n" else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert run.running
        assert comes_true(lambda: processes_named(marker))
    assert processes_named(marker) == []


def test_forks_in_many_threads():
    wrong = []

    def work():
        for _ in range(5):
            child = os.fork()
            if child == 0:
                os._exit(0 if hermetic.run(["true"]).returncode == 0 else 1)
            if os.waitpid(child, 0)[1]:
                wrong.append("child")
            if hermetic.run(["echo"], capture_output=True).stdout != b"\n":
                wrong.append("parent")

    hermetic.run(["true"])
    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_whoever_keeps_a_copy_of_our_pipes_does_not_hold_us_up(monkeypatch):
    """As a child does that another thread forks while they are open."""
    kept = []
    given = Streams.given

    def keep_and_give(streams):
        kept.extend(os.dup(descriptor) for descriptor in streams._theirs)
        given(streams)

    monkeypatch.setattr(Streams, "given", keep_and_give)
    try:
        with hermetic.start(["sh", "-c", "sleep 0.1; echo said"], capture_output=True) as run:
            assert kept
            assert run.wait(60).stdout == b"said\n"
    finally:
        for descriptor in kept:
            os.close(descriptor)


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN])
def test_a_caller_that_waits_for_all_children_takes_nothing_away(handler):
    """Init is a child of the caller, who may reap it by waitpid(-1) or by ignoring SIGCHLD."""
    before = signal.signal(signal.SIGCHLD, handler)
    try:
        with hermetic.start(["sh", "-c", "sleep 0.1; exit 7"]) as run:
            try:
                os.waitpid(-1, 0)
            except ChildProcessError:  # hermetic was there first, or the kernel was
                pass
            assert run.wait().returncode == 7
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_exceptions_of_callbacks_do_not_harm(monkeypatch, capfd):
    monkeypatch.setattr(sys, "unraisablehook", lambda *_: None)
    callback = _native.event_callback(lambda _: 1 / 0)
    spec = hermetic.Spec(["true"], defaults=True).build()
    run = _native.call("hermetic_run_start", spec.handle, None, callback, None)
    assert '"exit_code": 0' in _native.call_for_text("hermetic_run_wait", run)
    _native.library().hermetic_run_free(run)
    capfd.readouterr()


@pytest.mark.parametrize("name", sorted(_native._FAILING))
def test_null_is_refused_and_never_followed(name):
    if not _native._FAILING[name][1] or name == "hermetic_draft_new":
        return
    empty = [0 if kind in (ctypes.c_int, ctypes.c_size_t) else None for kind in _native._FAILING[name][1]]
    if name == "hermetic_run_start":
        empty[2] = _native.EventCallback()
    with pytest.raises(hermetic.InvalidSpecError, match="NULL"):
        _native.call(name, *empty)
    assert getattr(_native.library(), name)(*empty, None) in (None, -1)  # nobody wants the error


def test_null_may_be_freed():
    for name in ("error", "draft", "spec", "run", "string"):
        getattr(_native.library(), f"hermetic_{name}_free")(None)
    assert _native.library().hermetic_error_kind(None) == 0


@pytest.mark.parametrize("options", [
    b"", b"[]", b"{", b"null", b'{"nonsense": 1}', b'{"stdin": "0"}', b'{"stdin": -2}', b'{"stdout": -1}',
    b'{"stdin": 1e3}', b'{"stdin": 99999999999999999999}', b'{"prove": 1}', b'{"timeout_ms": 0}',
    b'{"timeout_ms": 99999999999999}', b'{"keep_failed": 3}', b'{"capture_bytes": -1}', b"\xff",
    b"[" * 60_000, b'{"a": "' + b"x" * (1 << 20) + b'"}', b'{"stdin": 18446744073709551615}',
])
def test_bad_options_are_refused(options):
    spec = hermetic.Spec(["true"], defaults=True).build()
    with pytest.raises(hermetic.InvalidSpecError):
        _native.call("hermetic_run_start", spec.handle, options, _native.EventCallback(), None)


def test_a_missing_library_is_told(tmp_path):
    child = python("import hermetic; hermetic.run(['true'])",
                   env={**os.environ, "HERMETIC_LIBRARY": str(tmp_path / "none.so")})
    _, error = child.communicate(timeout=60)
    assert "ImportError" in error and "HERMETIC_LIBRARY" in error


def test_text_of_other_encodings_is_an_ordinary_error():
    with pytest.raises(UnicodeDecodeError):
        hermetic.run(["printf", r"\377"], capture_output=True, text=True, encoding="utf-8")


def test_package_is_marked_as_typed():
    assert (pathlib.Path(hermetic.__file__).parent / "py.typed").exists()
