"""Tasks: fresh, sealed, recorded, gone."""

import asyncio
import json
import os
import subprocess

import pytest

import hermetic


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """One for all tests: making an environment takes seconds."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "repository"
    path.mkdir()

    def git(*words):
        subprocess.run(["git", "-c", "user.name=t", "-c", "user.email=t@localhost", *words], cwd=path, check=True,
                       stdout=subprocess.DEVNULL)

    git("init", "-q")
    (path / "kept.txt").write_text("kept\n")
    (path / "changed.txt").write_text("old\n")
    git("add", "-A")
    git("commit", "-qm", "one")
    return path


@pytest.fixture
def task(repository, cache):
    def make(task_id="demo", **options):
        return hermetic.HermeticRun(task_id, repo=repository, cache=cache, **options)

    return make


SEED_KEYS = {
    "task_id", "run_id", "seed", "repo_sha", "base_sha", "config_hash", "lockfile_sha", "venv_hash", "os_fingerprint",
    "hermetic", "scratch_path", "worktree_path", "venv_path", "model_shas", "tokenizer_shas", "quantization",
    "durations", "stable_hash",
}


def test_a_command_sees_a_fresh_worktree_and_leaves_nothing(task, repository, tmp_path):
    before = sorted(os.listdir(tmp_path))
    with task(seed=7) as run:
        assert run.scratch_base.is_dir() and run.worktree_path.is_dir() and run.venv_path.is_dir()
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
            path = run.emit_manifest(tmp_path / "manifest.json")
        manifest = json.loads(path.read_text())
        assert SEED_KEYS <= set(manifest)
        assert "unknown" not in json.dumps(manifest)
        assert manifest["hermetic"] and manifest["exit_code"] == 0
        hashes.add(manifest["stable_hash"])
    with task(seed=2) as run:
        run.run(["true"])
        hashes.add(run.manifest["stable_hash"])
    assert len(hashes) == 2


def test_how_the_last_command_ended_is_recorded(task):
    with task(spec={"limits": {"wall_time": "200ms"}}) as run:
        run.run(["sleep", "600"])
        assert run.manifest["failure"] == "timeout"
        run.run(["sh", "-c", "exit 3"])
        assert (run.manifest["failure"], run.manifest["exit_code"]) == ("command", 3)


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


def test_changes_can_be_kept(task, tmp_path):
    with task() as run:
        run.run(["sh", "-c", "echo new >changed.txt"], check=True)
        run.keep_changes(tmp_path / "kept")
    assert (tmp_path / "kept" / "changed.txt").read_text() == "new\n"
    assert os.listdir(tmp_path / "kept") == ["changed.txt"]


def test_what_cannot_be_meant_is_refused(task, cache, tmp_path):
    for options in ({"task_id": "../x"}, {"sha": "0" * 40}, {"spec": {"limits": {"memroy": "1G"}}}, {"snapshot": "no"}):
        with pytest.raises(hermetic.HermeticError):
            task(**options).setup()
    with pytest.raises(hermetic.InvalidSpecError):
        hermetic.HermeticRun("demo", repo=tmp_path, cache=cache).setup()
    assert not (tmp_path / "scratch").exists()


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
