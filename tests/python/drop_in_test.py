"""HermeticRun in the place of an evaluation project's own class: what such a project has tests for. The caller is in
its repository, gives a name and a seed, and uses what it finds at the paths with tools of its own."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

import hermetic
from hermetic import HermeticRun

HERE = pathlib.Path(__file__).parent

NEEDED = {
    "task_id", "run_id", "seed", "repo_sha", "base_sha", "config_hash", "lockfile_sha", "os_fingerprint", "hermetic",
    "scratch_path", "worktree_path", "venv_path", "venv_hash", "stable_hash", "durations", "model_shas",
    "tokenizer_shas", "quantization",
}
NOT_MEASURED = {
    "bytes_per_solve", "tokens_prefill", "tokens_decode", "e2e_latency_ms_p50", "e2e_latency_ms_p95",
    "message_path_ms_p95", "mcp_deref_ms_p95", "sae_accept_rate", "rollback_ms_p95", "pass_at_1",
}


def said_by(*words, **options):
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.fixture(autouse=True)
def project(repository, cache, monkeypatch):
    """Nothing but a working directory and a variable: the project knows nothing of us."""
    monkeypatch.chdir(repository)
    monkeypatch.setenv("HERMETIC_CACHE", str(cache))
    monkeypatch.setenv("HERMES_HERMETIC", "1")
    return repository


def test_the_interpreter_of_the_environment_has_no_network(repository):
    run = HermeticRun(task_id="network", seed=42, hermetic=True)
    reach = ("import socket\n"
             "for attempt in (lambda: socket.create_connection(('192.0.2.1', 80), 2),\n"
             "                lambda: socket.create_connection(('127.0.0.1', PORT), 2),\n"
             "                lambda: socket.getaddrinfo('name.invalid', 80)):\n"
             "    try:\n        attempt()\n    except OSError:\n        continue\n    raise SystemExit(7)\n")
    with run():
        python = run.venv_path / "bin" / "python"
        assert python.exists()
        with listening() as port:
            done = subprocess.run([str(python), "-c", reach.replace("PORT", str(port))], env=dict(os.environ),
                                  stderr=subprocess.PIPE, check=False)
            # The control: it is there for others.
            assert subprocess.run([sys.executable, "-c", reach.replace("PORT", str(port))], stderr=subprocess.DEVNULL,
                                  check=False).returncode == 7
    assert (done.returncode, done.stderr) == (0, b"")


def listening():
    import socket
    server = socket.create_server(("127.0.0.1", 0))

    class Listening:
        def __enter__(self):
            return server.getsockname()[1]

        def __exit__(self, *_):
            server.close()

    return Listening()


def test_the_worktree_is_a_clean_one_of_the_commit(project):
    sha = said_by("git", "rev-parse", "HEAD")
    run = HermeticRun(task_id="worktree", seed=123, base_sha=sha, hermetic=True)
    with run():
        assert said_by("git", "-C", str(run.worktree_path), "rev-parse", "HEAD") == sha
        assert said_by("git", "-C", str(run.worktree_path), "status", "--porcelain") == ""
        assert said_by("git", "-C", str(run.worktree_path), "rev-parse", "--abbrev-ref", "HEAD") == "HEAD"
        assert said_by("git", "-C", str(run.worktree_path), "rev-parse", "--show-toplevel") == str(run.worktree_path)
        assert (run.worktree_path / "kept.txt").read_text() == "kept\n"
    assert not run.worktree_path.exists()


def test_the_manifest_is_complete_and_its_hash_is_that_of_the_seed():
    manifests = []
    for seed in (999, 999, 7):
        run = HermeticRun(task_id="manifest", seed=seed, hermetic=True)
        with run():
            manifests.append(run.emit_manifest())
    for manifest in manifests:
        assert NEEDED <= set(manifest)
        assert manifest["hermetic"] is True and manifest["stable_hash"]
        assert "unknown" not in json.dumps(manifest)
        assert manifest["durations"]["setup_ms"] > 0
    assert manifests[0]["stable_hash"] == manifests[1]["stable_hash"] != manifests[2]["stable_hash"]
    assert len({manifest["run_id"] for manifest in manifests}) == 3


def test_nothing_is_left_at_the_paths_that_were_known_before(project):
    run = HermeticRun(task_id="cleanup", seed=456, hermetic=True)
    assert run.run_id and run.scratch_base == project / "scratch" / "cleanup" / run.run_id
    paths = [run.scratch_base, run.worktree_path, run.venv_path]
    assert not any(path.exists() for path in paths)
    left = pathlib.Path("/tmp") / f"hermes_{run.run_id}"
    with run():
        assert all(path.is_dir() for path in paths)  # asked for before the set-up
        left.touch()
    assert not any(path.exists() for path in [*paths, left])
    assert not (project / "scratch").exists()
    assert said_by("git", "worktree", "list", "--porcelain").count("worktree ") == 1
    run.cleanup()  # again


def test_what_is_temporary_goes_with_the_last_task_and_nothing_else_does():
    names = [pathlib.Path("/tmp") / f"hermes_{os.getpid()}_{number}" for number in range(3)]
    names[0].touch()  # before any
    first, second = HermeticRun(task_id="one"), HermeticRun(task_id="two")
    try:
        with first():
            with second():
                names[1].mkdir()
                (names[1] / "link").symlink_to(names[0])
                names[2].symlink_to("/etc/passwd")
            assert all(os.path.lexists(name) for name in names)  # the first may need them
        assert [os.path.lexists(name) for name in names] == [True, False, False]
    finally:
        names[0].unlink()


def selftest(*words):
    return subprocess.run([sys.executable, "-m", "hermetic", "selftest", *words], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)


def test_two_selftests_of_one_seed_are_the_same(project):
    manifests = []
    for name in ("one.json", "two.json"):
        done = selftest("--task-id", "MVP-0", "--seed", "123", "--emit", name)
        assert done.returncode == 0, done.stderr
        manifests.append(json.loads(pathlib.Path(name).read_text()))
        lines = done.stdout.splitlines()
        assert lines[0] == "Running hermetic selftest with task_id=MVP-0, seed=123"
        assert lines[1].startswith("Hermetic environment created at ")
        assert lines[2:6] == [f"Worktree SHA: {manifests[-1]['repo_sha']}",
                              "Network guard active: connections blocked", f"Manifest written to {name}",
                              "Cleanup successful: scratch directory removed"]
        assert lines[6] == f"Selftest complete. Stable hash: {manifests[-1]['stable_hash']}"
    for key in ("stable_hash", "task_id", "seed", "repo_sha", "base_sha", "config_hash", "venv_hash", "hermetic",
                "os_fingerprint"):
        assert manifests[0][key] == manifests[1][key], key
    assert manifests[0]["hermetic"] is True


def test_the_metrics_of_a_selftest_are_what_was_measured(project):
    done = selftest("--task-id", "metrics", "--seed", "42", "--emit", "metrics.json")
    assert done.returncode == 0, done.stderr
    metrics = json.loads(pathlib.Path("metrics.json").read_text())
    assert {key for key, value in metrics.items() if value is None} == NOT_MEASURED
    assert set(metrics) - NOT_MEASURED == {"sandbox_setup_ms_p50", "sandbox_cleanup_ms_p95",
                                           "network_guard_install_ms"}
    assert all(value > 0 for value in metrics.values() if value is not None)


def test_a_selftest_leaves_nothing_and_one_that_cannot_hold_fails(project, tmp_path, monkeypatch):
    assert selftest("--task-id", "left", "--seed", "789").returncode == 0
    assert not (project / "scratch").exists()
    assert said_by("git", "status", "--porcelain") == ""
    (tmp_path / "bare").mkdir()
    monkeypatch.chdir(tmp_path / "bare")
    done = selftest("--task-id", "none")
    assert done.returncode == 125 and "hermetic: the selftest failed: " in done.stderr
    assert "Selftest complete" not in done.stdout


def test_a_run_has_the_name_that_it_is_given_and_no_other_has_it(project):
    run = HermeticRun(task_id="named", run_id="r1", seed=1)
    with run() as entered:
        assert entered is run
        assert run.manifest["run_id"] == "r1" and run.scratch_base.name == "r1"
        with pytest.raises(hermetic.InvalidSpecError, match="there is a run 'r1' of the task 'named' already"):
            HermeticRun(task_id="named", run_id="r1").setup()
        assert run.run(["true"]).returncode == 0  # it is still there
        with HermeticRun(task_id="other", run_id="r1") as other:
            assert other.run(["true"]).returncode == 0
    with pytest.raises(hermetic.InvalidSpecError, match="cannot name a task"):
        HermeticRun(task_id="named", run_id="../r1").setup()


def test_what_is_not_to_be_hermetic_has_the_network_and_says_so(project):
    with listening() as port:
        connect = f"import socket; socket.create_connection(('127.0.0.1', {port}), 2)"
        run = HermeticRun(task_id="open", hermetic=False)
        with run():
            assert run.manifest["hermetic"] is False
            said_by(str(run.venv_path / "bin" / "python"), "-c", connect)
            assert run.run(["python", "-c", connect]).returncode == 0
        assert run.manifest["hermetic"] is False


def test_the_manifest_is_written_where_it_is_wanted_and_nowhere_else(project):
    with HermeticRun(task_id="written") as run:
        assert run.emit_manifest() == run.manifest
        assert not (project / "manifest.json").exists()
        assert json.loads(json.dumps(run.emit_manifest("m.json"))) == json.loads((project / "m.json").read_text())
