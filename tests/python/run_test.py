"""Runs: what the command gets and gives, how it ends, and what is left of it."""

import errno
import os
import signal
import time

import hermetic
import pytest
from conftest import GROWING, comes_true, processes_named
from hermetic import Spec


def shell(script, **options):
    return hermetic.run(["sh", "-c", script], **options)


def test_gives_back_what_the_command_says():
    result = shell("cat; echo problem >&2; exit 3", input="text\n", capture_output=True, text=True)
    assert (result.returncode, result.stdout, result.stderr) == (3, "text\n", "problem\n")
    assert result.ending == "exited"
    assert result.outcome["exit_code"] == 3
    assert result.usage["wall_time_us"] > 0


def test_is_a_sandbox(place):
    (place / "mine").write_text("mine")
    secret = os.path.join(os.path.dirname(place), f"secret-{os.path.basename(place)}")
    with open(secret, "w", encoding="ascii") as file:
        file.write("secret")
    try:
        look = f"cat mine {secret}; echo changed >mine"
        assert os.system(f"cat {secret} >/dev/null") == 0  # the control
        result = shell(look, capture_output=True, text=True)
        assert result.stdout == "mine"
        assert (place / "mine").read_text() == "mine"
    finally:
        os.unlink(secret)


def test_publishes_outputs(place):
    result = shell("echo made >out/file", outputs=["out"], digest_outputs=True, check=True)
    assert (place / "out/file").read_text() == "made\n"
    assert result.outputs[0]["path"] == str(place / "out")
    assert result.outputs[0]["digest"].startswith("sha256:")
    assert shell("echo other >out/file; false", outputs=["out"]).returncode == 1
    assert (place / "out/file").read_text() == "made\n"


def test_keeps_the_outputs_of_a_failed_run_if_asked(place):
    shell("echo made >out/file; false", outputs=["out"], keep_failed="failed")
    assert [file.read_text() for file in (place / "failed").rglob("file")] == ["made\n"]


def test_has_exactly_the_environment(monkeypatch):
    monkeypatch.setenv("SECRET", "1")
    monkeypatch.setenv("PASSED", "2")
    said = hermetic.run(["env"], env={"SET": "3"}, pass_env=["PASSED"], capture_output=True, text=True).stdout
    assert {line.partition("=")[0] for line in said.split()} == {
        "HOME", "LANG", "PATH", "TZ", "USER", "PASSED", "SET"}


def test_takes_a_spec():
    spec = Spec(["echo", "hello"], inputs=["/usr", "/bin", "/lib", "/lib64", "/etc/ld.so.cache"])
    assert hermetic.run(spec=spec, capture_output=True).stdout == b"hello\n"
    assert hermetic.run(["echo", "other"], spec=spec, capture_output=True).stdout == b"other\n"


def test_tells_a_violation():
    connect = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    result = hermetic.run(["/usr/bin/python3", "-c", connect])
    assert [violation["act"] for violation in result.violations] == ["connect"]
    assert not result.hermetic
    assert hermetic.run(["true"]).violations == []


@pytest.mark.parametrize("script, code, ending", [
    ("kill -9 $$", -9, "signaled"), ("kill -SEGV $$", -signal.SIGSEGV, "signaled"), ("exit 137", 137, "exited"),
])
def test_a_signal_is_a_negative_code(script, code, ending):
    result = shell(script)
    assert (result.returncode, result.ending) == (code, ending)


def test_check_raises_with_the_whole_result():
    with pytest.raises(hermetic.CommandFailed) as failed:
        shell("echo said; exit 4", check=True, capture_output=True)
    assert failed.value.returncode == 4
    assert failed.value.stdout == b"said\n"
    assert failed.value.result.outcome["exit_code"] == 4


def test_a_limit_is_an_ending_and_a_timeout_an_exception(marker):
    result = hermetic.run(["sleep", marker], limits={"wall_time": 0.1})
    assert (result.ending, result.returncode) == ("timed_out", 124)
    for timeout in GROWING:
        with pytest.raises(hermetic.TimeoutExpired) as expired:
            shell(f"echo first; sleep {marker}", timeout=timeout, capture_output=True)
        if expired.value.output:
            break
    assert expired.value.output == b"first\n"
    assert processes_named(marker) == []


def test_what_cannot_be_started_is_an_ending():
    assert hermetic.run(["nonexistent"]).returncode == 127
    assert hermetic.run(["nonexistent"]).ending == "not_started"


def test_a_clause_that_is_missing_is_unsupported():
    spec = Spec(["true"], inputs=["/usr"], limits={"disk_write": "1G"})
    with pytest.raises(hermetic.UnsupportedError) as refused:
        hermetic.run(spec=spec)
    assert "disk-write-limit" in str(refused.value)


def test_proves_the_sandbox_if_asked():
    assert hermetic.run(["true"], prove=True).outcome["probes"]


@pytest.mark.parametrize("data", [b"", b"\xff\xfe\0\n", bytes(range(256)) * 4096])
def test_any_bytes_go_in_and_out(data):
    assert hermetic.run(["cat"], input=data, capture_output=True).stdout == data


def test_any_bytes_are_arguments_and_variables():
    result = hermetic.run([b"sh", "-c", 'printf "%s|" "$@" "$A"', "sh", b"\xff\xfe", "\udcff", "ü"],
                          env={"A": b"\xfd"}, capture_output=True)
    assert result.stdout == b"\xff\xfe|\xff|" + "ü".encode() + b"|\xfd|"


def test_declared_paths_are_texts(place):
    name = os.fsencode(place) + b"/\xff\xfe"
    os.mkdir(name)
    with pytest.raises(hermetic.InvalidSpecError, match="UTF-8"):
        hermetic.run(["true"], cwd=name)


def test_a_command_that_reads_nothing_does_not_hold_up_the_input():
    assert hermetic.run(["true"], input=b"x" * (1 << 20)).returncode == 0


def test_an_argument_may_be_too_long():
    with pytest.raises(hermetic.InvalidSpecError):
        hermetic.run(["true", "x" * (3 << 20)])
    with pytest.raises(hermetic.SystemFailure) as refused:
        hermetic.run(["true", "x" * (200 << 10)])
    assert refused.value.os_error == errno.E2BIG


def test_can_be_signalled_looked_at_and_ended(marker):
    script = f"trap 'echo caught; exit 5' TERM; echo ready; sleep {marker} & wait"
    with hermetic.start(["sh", "-c", script], capture_output=True) as run:
        assert comes_true(lambda: run.captured()[0] == b"ready\n")
        assert run.running
        assert run.usage()["wall_time_us"] >= 0
        assert comes_true(lambda: processes_named(marker))  # the control of those that look for none
        assert run.send_signal(signal.SIGTERM)
        result = run.wait()
        assert (result.returncode, result.stdout) == (5, b"ready\ncaught\n")
        assert not run.send_signal(signal.SIGTERM)
        assert run.usage() == result.usage
    with pytest.raises(hermetic.InvalidSpecError), hermetic.start(["sleep", marker]) as run:
        run.send_signal(1000)
    assert processes_named(marker) == []


def test_wait_may_be_repeated_and_may_time_out(marker):
    with hermetic.start(["sleep", marker]) as run:
        with pytest.raises(ValueError):
            run.result()
        with pytest.raises(hermetic.TimeoutExpired):
            run.wait(0.01)
        run.kill()
        assert run.wait().returncode == -9
        assert run.wait() == run.result()


def test_leaving_the_block_ends_it(marker):
    with hermetic.start(["sleep", marker]):
        assert comes_true(lambda: processes_named(marker))
    assert processes_named(marker) == []


def test_losing_the_last_reference_ends_it(marker):
    run = hermetic.start(["sleep", marker])
    assert comes_true(lambda: processes_named(marker))
    del run
    assert comes_true(lambda: not processes_named(marker))


def test_many_at_once():
    runs = [hermetic.start(["sh", "-c", f"sleep 0.2; exit {number}"]) for number in range(16)]
    assert [run.wait().returncode for run in runs] == list(range(16))


def test_standard_streams_may_be_files(place):
    with open("in", "w+b") as source, open("out", "w+b") as target:
        source.write(b"content")
        source.flush()
        source.seek(0)
        shell("cat; echo error >&2", stdin=source, stdout=target, stderr=hermetic.STDOUT)
    assert (place / "out").read_bytes() == b"contenterror\n"


def test_bad_streams_are_refused():
    with pytest.raises(ValueError):
        hermetic.run(["true"], input=b"", stdin=hermetic.DEVNULL)
    with pytest.raises(ValueError):
        hermetic.run(["true"], capture_output=True, stdout=hermetic.PIPE)
    with pytest.raises(hermetic.SystemFailure) as refused:
        hermetic.run(["true"], stdout=999_999)
    assert refused.value.os_error == 9
    with pytest.raises(TypeError):
        hermetic.run(["true"], nonsense=True)


def test_time_goes_on_while_a_run_is_waited_for(marker):
    """The interpreter's lock is not held."""
    with hermetic.start(["sleep", marker]) as run:
        before = time.thread_time()
        with pytest.raises(hermetic.TimeoutExpired):
            run.wait(0.05)
        assert time.thread_time() - before < 10
