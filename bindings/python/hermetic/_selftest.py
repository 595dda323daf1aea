"""python -m hermetic selftest: one task from set-up to clean-up, with what a reader can check on the way."""

from __future__ import annotations

import argparse
import json
import pathlib
import subprocess
import sys
from typing import Any, Dict, List

from .errors import CommandFailed, HermeticError
from .task import HermeticRun

# A file of this name gets the metrics, any other the manifest.
METRICS = "metrics.json"

# What only a caller who runs models can measure.
OF_OTHERS = ("bytes_per_solve", "tokens_prefill", "tokens_decode", "e2e_latency_ms_p50", "e2e_latency_ms_p95",
             "message_path_ms_p95", "mcp_deref_ms_p95", "sae_accept_rate", "rollback_ms_p95", "pass_at_1")

PROBE = """
import socket
for attempt in (lambda: socket.create_connection(("127.0.0.1", 9), 2),
                lambda: socket.getaddrinfo("hermetic.invalid", 80)):
    try:
        attempt()
    except ConnectionRefusedError:
        raise SystemExit("there is a network")
    except OSError:
        continue
    raise SystemExit("there is a network")
"""


class NotAsPromised(Exception):
    pass


def metrics_of(manifest: Dict[str, Any]) -> Dict[str, Any]:
    durations = manifest["durations"]
    return {**dict.fromkeys(OF_OTHERS), "sandbox_setup_ms_p50": durations["setup_ms"],
            "sandbox_cleanup_ms_p95": durations["cleanup_ms"], "network_guard_install_ms": durations["guard_ms"]}


def write(path: pathlib.Path, content: Dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")


def check_worktree(run: HermeticRun) -> None:
    done = subprocess.run(["git", "-C", str(run.worktree_path), "rev-parse", "HEAD"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, check=False)
    sha = done.stdout.strip()
    print(f"Worktree SHA: {sha}")
    if sha != run.manifest["repo_sha"]:
        raise NotAsPromised(f"the worktree is not at {run.manifest['repo_sha']}: {done.stderr.strip()}")


def check_network(run: HermeticRun) -> None:
    """Commands of the task: tried from inside before one is started, which it is not if anything gets out. The
    caller's interpreter: tried by a program."""
    proved = run.run(["true"], prove=True, check=True)
    probes = {probe["probe"] for probe in proved.outcome["probes"] if probe["result"] == "held"}
    if not {"tcp", "udp", "dns"} <= probes:
        raise NotAsPromised("the network was not tried from inside")
    done = subprocess.run([str(run.venv_path / "bin" / "python"), "-c", PROBE], stderr=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode != 0:
        raise NotAsPromised(f"the interpreter of the environment: {done.stderr.strip()}")
    print("Network guard active: connections blocked")


def one_run(run: HermeticRun, emit: str) -> None:
    with run():
        print(f"Hermetic environment created at {run.scratch_base}")
        check_worktree(run)
        check_network(run)
        if emit and emit != METRICS:
            run.emit_manifest(emit)
            print(f"Manifest written to {emit}")
    if run.scratch_base.exists():
        raise NotAsPromised(f"'{run.scratch_base}' is left")
    print("Cleanup successful: scratch directory removed")
    if emit == METRICS:
        write(pathlib.Path(emit), metrics_of(run.manifest))
        print(f"Metrics written to {emit}")


def selftest(words: List[str]) -> int:
    parser = argparse.ArgumentParser(prog="hermetic selftest", description="Runs a task of the repository here, and "
                                     "fails unless it is what it promises to be.")
    parser.add_argument("--task-id", default="selftest", help="what the task is called")
    parser.add_argument("--seed", type=int, default=123, help="for PYTHONHASHSEED and HERMETIC_SEED")
    parser.add_argument("--emit", default="", help=f"where the manifest is written; '{METRICS}': the metrics")
    given = parser.parse_args(words)
    print(f"Running hermetic selftest with task_id={given.task_id}, seed={given.seed}")
    run = HermeticRun(task_id=given.task_id, seed=given.seed)
    try:
        one_run(run, given.emit)
    except (NotAsPromised, CommandFailed, HermeticError, OSError) as error:
        print(f"hermetic: the selftest failed: {error}", file=sys.stderr)
        return 125
    print(f"Selftest complete. Stable hash: {run.manifest['stable_hash']}")
    return 0
