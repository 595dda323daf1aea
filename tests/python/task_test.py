"""Tasks: fresh, sealed, recorded, gone."""

import asyncio
import fcntl
import gc
import json
import os
import shutil
import signal
import subprocess
import threading
import time

import pytest

import hermetic
from conftest import comes_true, processes_named
from hermetic import _native


SEED_KEYS = {
    "task_id", "run_id", "seed", "repo_sha", "base_sha", "config_hash", "lockfile_sha", "venv_hash", "os_fingerprint",
    "hermetic", "scratch_path", "worktree_path", "venv_path", "model_shas", "tokenizer_shas", "quantization",
    "durations", "stable_hash",
}


def test_a_command_sees_a_fresh_worktree_and_leaves_nothing(task, repository, tmp_path):
    before = sorted(os.listdir(tmp_path))
    with task(seed=7) as run:
        assert run.scratch_base.is_dir()
        result = run.run(["sh", "-c", "cat changed.txt; echo new >changed.txt; echo $HERMETIC_SEED; which python"],
                         capture_output=True, text=True, check=True)
        assert result.stdout == "old\n7\n/task/venv/bin/python\n"
        assert [(change["change"], change["path"]) for change in run.changes] == [("modified", "changed.txt")]
        folder = run.scratch_base
    assert not folder.exists()
    assert sorted(os.listdir(tmp_path)) == before
    assert (repository / "changed.txt").read_text() == "old\n"
    assert run.manifest["cleanup"]["left"] == []


def test_commands_of_one_task_see_each_others_changes(task):
    with task() as run:
        run.run(["sh", "-c", "echo 1 >count"], check=True)
        assert run.run(["cat", "count"], capture_output=True).stdout == b"1\n"
    with task() as run:
        assert run.run(["cat", "count"], capture_output=True).returncode == 1


def test_the_manifest_has_every_key_and_is_stable(task, tmp_path):
    hashes = set()
    for _ in range(2):
        with task(seed=1) as run:
            run.run(["true"])
            run.emit_manifest(tmp_path / "manifest.json")
        manifest = json.loads((tmp_path / "manifest.json").read_text())
        assert SEED_KEYS <= set(manifest)
        assert "unknown" not in json.dumps(manifest)
        assert manifest["hermetic"] and manifest["exit_code"] == 0
        hashes.add(manifest["stable_hash"])
    with task(seed=2) as run:
        run.run(["true"])
        hashes.add(run.manifest["stable_hash"])
    assert len(hashes) == 2


def test_how_the_last_command_ended_is_recorded(task):
    with task(spec={"limits": {"wall_time": "3s"}}) as run:
        run.run(["sleep", "600"])
        assert run.manifest["failure"] == "timeout"
        run.run(["sh", "-c", "exit 3"])
        assert (run.manifest["failure"], run.manifest["exit_code"]) == ("command", 3)


def facts(manifest):
    return [manifest[key] for key in ("command", "exit_code", "failure", "hermetic")]


def test_the_manifest_says_nothing_that_nobody_knows(task):
    with task() as run:
        assert facts(run.manifest) == [None, None, None, True]  # what is promised
        assert run.manifest["result_hash"] is None
        assert run.manifest["commands"] == []
        started = run.start(["sleep", "600"])
        assert facts(run.manifest) == [["sleep", "600"], None, None, None]
        started.kill()
        started.wait()
        assert facts(run.manifest) == [["sleep", "600"], 137, "signal", True]


def test_every_command_is_recorded_however_it_was_run(task):
    reach = "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"
    with task() as run:
        assert run.start(["python", "-c", reach + "; raise SystemExit(3)"]).wait().returncode == 3
        assert facts(run.manifest)[1:] == [3, "command", False]
        with pytest.raises(hermetic.TimeoutExpired):
            run.run(["sleep", "600"], timeout=0.3)
        assert facts(run.manifest) == [["sleep", "600"], 124, "timeout", False]
        with pytest.raises(hermetic.TimeoutExpired):
            asyncio.run(run.run_async(["sleep", "601"], timeout=0.3))
        asyncio.run(run.run_async(["true"]))
    commands = run.manifest["commands"]
    assert [command["command"][-1] for command in commands[1:]] == ["600", "601", "true"]
    assert [command["failure"] for command in commands] == ["command", "timeout", "timeout", "none"]
    assert [command["hermetic"] for command in commands] == [False, True, True, True]
    assert all(0 < command["guard_ms"] < command["command_ms"] for command in commands)
    assert commands[1]["command_ms"] > 250
    durations = run.manifest["durations"]
    assert durations["command_ms"] == pytest.approx(sum(command["command_ms"] for command in commands))
    assert durations["guard_ms"] > 0


def test_a_violation_is_called_one_where_it_is_to_fail(task):
    with task(spec={"on_violation": "fail"}) as run:
        run.run(["python", "-c", "import socket; socket.socket().connect_ex(('127.0.0.1', 9))"])
        assert facts(run.manifest)[1:] == [123, "violation", False]


def test_the_hash_is_of_all_commands_in_their_order(task):
    def hash_of(*commands):
        with task() as run:
            for command in commands:
                run.run(command)
        return run.manifest["stable_hash"]

    one, two = ["true"], ["sh", "-c", ":"]
    assert hash_of(one, two) == hash_of(one, two)
    assert len({hash_of(one), hash_of(two), hash_of(one, two), hash_of(two, one), hash_of(one, one)}) == 5


def test_a_command_has_input_variables_and_a_directory(task):
    with task(spec={"environment": {"set": {"A": "1", "B": "1"}}}) as run:
        run.run(["mkdir", "inner"], check=True)
        shell = ["sh", "-c", 'cat; echo "$A$B"; pwd']
        result = run.run(shell, input="in\n", env={"B": "2"}, cwd="inner", capture_output=True, text=True)
        assert result.stdout == "in\n12\n/task/worktree/inner\n", result.stderr
        result = run.run(shell, cwd="/task/scratch", stdin=hermetic.DEVNULL, capture_output=True, text=True)
        assert result.stdout == "11\n/task/scratch\n"
        assert run.run(["printenv", "B"], env={"B": b"\xff"}, capture_output=True).stdout == b"\xff\n"
        with pytest.raises(ValueError):
            run.run(["true"], input=b"", stdin=hermetic.DEVNULL)
        with pytest.raises(ValueError):
            run.run(["true"], capture_output=True, stdout=hermetic.PIPE)


def test_the_network_is_closed_to_python(task):
    probe = ("import asyncio, ssl, socket\n"
             "try:\n    socket.create_connection(('127.0.0.1', 9), 1)\n"
             "except OSError as error:\n    print(type(error).__name__)")
    with task() as run:
        result = run.run(["python", "-c", probe], capture_output=True, text=True)
        assert result.stdout.strip() and "Error" in result.stdout, result.stderr
        assert not run.manifest["hermetic"]  # it was tried, and that is on record


def test_commands_can_be_awaited_and_cancelled(task, marker):
    async def both():
        with task() as run:
            assert (await run.run_async(["cat", "kept.txt"], capture_output=True)).stdout == b"kept\n"
            sleeping = asyncio.ensure_future(run.run_async(["sleep", marker]))
            await asyncio.sleep(0.2)
            sleeping.cancel()
            with pytest.raises(asyncio.CancelledError):
                await sleeping
            assert (await run.run_async(["true"])).returncode == 0

    asyncio.run(both())


def test_any_number_of_tasks_start_from_a_snapshot(task):
    # Named after the process: the cache is shared.
    name = f"prepared-{os.getpid()}"
    with task() as run:
        run.run(["sh", "-c", "echo built >artifact; rm kept.txt"], check=True)
        run.freeze(name)
    for _ in range(2):
        with task(snapshot=name) as run:
            assert run.run(["ls"], capture_output=True).stdout == b"artifact\nchanged.txt\n"
            run.run(["rm", "artifact"], check=True)


def test_what_cannot_be_frozen_stays_as_it_is(task, cache):
    name = f"unfrozen-{os.getpid()}"
    names = cache / "snapshots"
    names.mkdir(exist_ok=True)
    (names / name).mkdir()  # nothing can be written there
    with task() as run:
        run.run(["sh", "-c", "echo new >file; echo s >/task/scratch/s"], check=True)
        with pytest.raises(hermetic.SystemFailure):
            run.freeze(name)
        assert [change["path"] for change in run.changes] == ["file"]
        assert run.run(["cat", "file", "/task/scratch/s"], capture_output=True).stdout == b"new\ns\n"
        (names / name).rmdir()
        if os.geteuid() != 0:
            run.run(["sh", "-c", "mkdir l; chmod 0 l"], check=True)
            with pytest.raises(hermetic.UnsupportedError, match="cannot open 'l'"):
                run.freeze(name)
            assert "file" in [change["path"] for change in run.changes]
            run.run(["rmdir", "l"], check=True)
        run.freeze(name)
    with task(snapshot=name) as run:
        assert run.run(["cat", "file", "/task/scratch/s"], capture_output=True).stdout == b"new\ns\n"


def test_without_a_command_there_is_nothing_to_freeze_or_to_keep(task, tmp_path):
    with task() as run:
        with pytest.raises(hermetic.InvalidSpecError, match="nothing was run in the task yet"):
            run.freeze("nothing")
        with pytest.raises(hermetic.InvalidSpecError, match="nothing was run in the task yet"):
            run.keep_changes(tmp_path / "kept")
        assert not (tmp_path / "kept").exists()


def test_what_a_command_still_writes_is_neither_frozen_nor_kept(task, tmp_path):
    with task() as run:
        writer = run.start(["sh", "-c", "while :; do echo x >>growing; sleep 0.01; done"])
        assert comes_true(lambda: run.changes)
        with pytest.raises(ValueError, match="a command of the task is still running"):
            run.freeze("moving")
        with pytest.raises(ValueError, match="a command of the task is still running"):
            run.keep_changes(tmp_path / "kept")
        assert not (tmp_path / "kept").exists()
        assert writer.running
        writer.close()
        run.freeze("moving")
    with task(snapshot="moving") as run:
        assert run.run(["test", "-s", "growing"]).returncode == 0


def test_a_name_is_not_cut_at_a_zero_byte(task, tmp_path):
    with task() as run:
        run.run(["touch", "new"], check=True)
        with pytest.raises(ValueError, match="null byte"):
            run.keep_changes(f"{tmp_path}/kept\0more")
        with pytest.raises(ValueError, match="null byte"):
            run.freeze("cut\0more")
        assert not (tmp_path / "kept").exists()


def test_a_task_whose_changes_cannot_be_read_is_removed_all_the_same(task, cache):
    run = task()
    run.setup()
    run.run(["touch", "new"], check=True)
    place = run.scratch_base
    upper = run.scratch_base / "worktree-changes" / "upper"
    shutil.rmtree(upper)
    upper.touch()
    with pytest.raises(hermetic.SystemFailure, match="Not a directory"):
        run.cleanup()
    assert not place.exists()
    assert os.listdir(cache / "journals") == []
    run.cleanup()


def test_changes_can_be_kept(task, tmp_path):
    with task() as run:
        run.run(["sh", "-c", "echo new >changed.txt"], check=True)
        run.keep_changes(tmp_path / "kept")
    assert (tmp_path / "kept" / "changed.txt").read_text() == "new\n"
    assert os.listdir(tmp_path / "kept") == ["changed.txt"]


@pytest.mark.parametrize("mode", ["700", "500"])
def test_what_was_committed_is_there_after_changes_could_not_be_kept(task, tmp_path, mode):
    (tmp_path / "taken").mkdir()
    with task() as run:
        run.run(["sh", "-euc", f"touch new; git add new; git commit -qm mine; chmod {mode} .git ."], check=True)
        with pytest.raises(ValueError, match="is there already"):
            run.keep_changes(tmp_path / "taken")
        log = run.run(["sh", "-euc", "git status --porcelain; git log -1 --format=%s; stat -c %a .git"],
                      capture_output=True, text=True, check=True)
        assert log.stdout == f"mine\n{mode}\n"
        run.keep_changes(tmp_path / "kept")
        assert "git" not in os.listdir(run.scratch_base / "worktree-changes")
    assert os.listdir(tmp_path / "kept") == ["new"]


def test_what_cannot_be_meant_is_refused(task, cache, tmp_path):
    for options in ({"task_id": "../x"}, {"sha": "0" * 40}, {"spec": {"limits": {"memroy": "1G"}}}, {"snapshot": "no"}):
        with pytest.raises(hermetic.HermeticError):
            task(**options).setup()
    with pytest.raises(hermetic.InvalidSpecError):
        hermetic.HermeticRun("demo", repo=tmp_path, cache=cache).setup()
    assert not (tmp_path / "scratch").exists()


def test_requests_that_could_be_read_in_two_ways_are_refused(task, repository, tmp_path):
    for spec, said in (({"command": ["true"]}, "'command' in its 'spec'"), ({"targets": {}}, "'targets' in its 'spec'"),
                       ({"version": 9}, "unknown version '9'")):
        with pytest.raises(hermetic.InvalidSpecError, match=said):
            task(spec=spec).setup()
    (tmp_path / "req.lock").touch()
    with pytest.raises(hermetic.InvalidSpecError, match="a 'lockfile' with a zero byte"):
        task(lockfile=tmp_path / "req.lock\0zzz").setup()
    with pytest.raises(hermetic.InvalidSpecError, match="a 'sparse' with a zero byte"):
        task(sparse=["a\0b"]).setup()
    with pytest.raises(hermetic.InvalidSpecError, match="the key 'task_id' twice"):
        _native.call("hermetic_task_new", b'{"task_id": "a", "task_id": "b"}')
    with task(spec={"version": 1, "limits": {"wall_time": "60s"}}) as run:
        run.run(["true"], check=True)


def test_texts_of_a_spec_are_given_as_they_are(task):
    odd = "a\x7fb\x85c\u2028d\ufeffe\U0001f600\tf"
    with task(spec={"environment": {"set": {"ODD": odd}}}) as run:
        assert run.run(["printenv", "ODD"], capture_output=True).stdout.decode() == odd + "\n"


def test_a_task_is_set_up_once_and_not_used_when_it_is_gone(task):
    run = task()
    with pytest.raises(ValueError):
        run.run(["true"])
    with run:
        with pytest.raises(ValueError):
            run.setup()
        with pytest.raises(hermetic.InvalidSpecError):
            run.run([])
    run.cleanup()
    with pytest.raises(ValueError):
        run.run(["true"])


def test_before_it_is_set_up_there_is_nothing_to_tell(task):
    run = task()
    for name in ("manifest", "changes"):
        with pytest.raises(ValueError, match="not set up"):
            getattr(run, name)


def test_a_wrong_keyword_is_one_error_and_no_more(task, capsys):
    with pytest.raises(TypeError):
        task(sead=1)
    gc.collect()
    assert capsys.readouterr().err == ""


def test_a_single_path_is_a_list_of_one(task, tmp_path):
    (tmp_path / "lock").write_text("missing==1.0\n")
    (tmp_path / "wheels").mkdir()
    with pytest.raises(hermetic.HermeticError, match="missing==1.0"):  # and not: no such file 'w'
        task(lockfile=tmp_path / "lock", wheels=str(tmp_path / "wheels")).setup()


def test_the_base_is_a_commit_of_its_own(task, repository):
    def commit(name):
        return subprocess.check_output(["git", "rev-parse", name], cwd=repository, text=True).strip()

    who = ["-c", "user.name=t", "-c", "user.email=t@localhost"]
    subprocess.run(["git", *who, "commit", "-qm", "two", "--allow-empty"], cwd=repository, check=True)
    for options, expected in (({}, ("HEAD", "HEAD")), ({"base_sha": "HEAD~1"}, ("HEAD~1", "HEAD~1")),
                              ({"sha": "HEAD", "base_sha": "HEAD~1"}, ("HEAD", "HEAD~1"))):
        with task(**options) as run:
            assert (run.manifest["repo_sha"], run.manifest["base_sha"]) == tuple(map(commit, expected))


def test_packages_come_from_an_index_of_the_web(task, tmp_path):
    (tmp_path / "lock").write_text("missing==1.0\n")
    with pytest.raises(hermetic.InvalidSpecError, match="no URL of an index"):
        task(lockfile=tmp_path / "lock", index="ftp://127.0.0.1/").setup()
    with pytest.raises(hermetic.InvalidSpecError, match="where the packages"):
        task(lockfile=tmp_path / "lock").setup()


def at_once(count, what):
    """What came of it, in as many threads."""
    results = []

    def body():
        try:
            results.append(what())
        except BaseException as problem:
            results.append(problem)

    threads = [threading.Thread(target=body) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def test_threads_share_a_task(task):
    run = task()
    refused = [problem for problem in at_once(3, run.setup) if problem is not None]
    assert len(refused) == 2 and all("already" in str(problem) for problem in refused)
    run.run(["sh", "-c", "for i in $(seq 200); do echo $i >$i; done"], check=True)
    counts = at_once(4, lambda: {len(run.manifest["changes"]) for _ in range(50)})
    assert counts == [{200}] * 4
    assert at_once(4, run.cleanup) == [None] * 4
    assert len(run.manifest["changes"]) == 200


def test_a_thread_can_end_what_another_waits_for(task, marker):
    run = task()
    run.setup()
    done = []
    waiter = threading.Thread(target=lambda: done.append(run.run(["sleep", marker]).returncode))
    waiter.start()
    assert comes_true(lambda: processes_named(marker))
    assert run.manifest["task_id"] == "demo"  # nobody has to wait for the command
    run.cleanup()
    waiter.join(10)
    assert done and done[0] != 0


def test_a_child_leaves_the_task_of_its_parent_alone(task):
    with task() as run:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                with pytest.raises(hermetic.InvalidSpecError, match="another process"):
                    run.run(["true"])
                run.__exit__(None, None, None)
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert run.scratch_base.is_dir()
        assert run.run(["cat", "kept.txt"], capture_output=True).stdout == b"kept\n"
    assert not run.scratch_base.exists()


def test_an_interrupt_ends_the_setup_soon_and_leaves_nothing(repository, tmp_path):
    # A cache of its own: there is an environment to be made, which takes seconds.
    cache = tmp_path / "cache"
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        with hermetic.HermeticRun("interrupted", repo=repository, cache=cache):
            time.sleep(60)
    assert time.monotonic() - begin < 30
    assert not (tmp_path / "scratch").exists()
    assert not list(cache.glob("*.making")) and not list(cache.glob("journals/*"))


def test_an_interrupt_ends_waiting_for_another_who_makes_the_same(repository, tmp_path):
    cache = tmp_path / "cache"
    with hermetic.HermeticRun("first", repo=repository, cache=cache):
        pass
    # Somebody makes one of them anew, for as long as it takes.
    entry = next(iter(cache.glob("checkout-*.lock")))
    shutil.rmtree(str(entry)[:-len(".lock")])
    with open(entry, "rb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        release = threading.Timer(20, fcntl.flock, (lock, fcntl.LOCK_UN))
        release.start()
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            hermetic.HermeticRun("second", repo=repository, cache=cache).setup()
        assert time.monotonic() - begin < 15
        release.cancel()
        release.join()


def test_an_outcome_that_is_none_is_refused_in_words(task):
    good = {"ending": "exited", "exit_code": 0, "hermetic": True}
    with task() as run:
        run.run(["false"])
        for wrong in ({"ending": "over_limit"}, {"ending": "over_limit", "limit": {"which": 5}}, {"ending": 5},
                      {"ending": "nonsense"}, {"exit_code": "x"}, {"exit_code": None}, {"exit_code": 2**40},
                      {"hermetic": 1}):
            with pytest.raises(hermetic.InvalidSpecError, match="the outcome of a command"):
                run.note(hermetic.Result([], 0, None, None, {**good, **wrong}))
        assert run.manifest["failure"] == "command"
        run.note(hermetic.Result([], 0, None, None, good))
        assert run.manifest["failure"] == "none"


def test_a_task_that_is_left_behind_is_removed(task, tmp_path):
    run = task()
    run.setup()
    folder = run.scratch_base
    assert folder.is_dir()
    del run
    assert not folder.exists()


def test_an_exception_ends_what_runs_and_removes_the_task(task, marker):
    with pytest.raises(KeyError):
        with task() as run:
            run.start(["sleep", marker])
            folder = run.scratch_base
            raise KeyError
    assert not folder.exists()
