"""Tasks: a command in a fresh worktree and a fresh environment, sealed, recorded, and gone.

    >>> with hermetic.HermeticRun(task_id="demo", seed=7, repo=".") as run:
    ...     result = run.run(["python", "-m", "unittest"], capture_output=True, text=True)
    >>> run.manifest["stable_hash"]
"""

from __future__ import annotations

import json
import os
import pathlib
from typing import Any, Dict, List, Mapping, Optional, Sequence

from . import _native
from ._asynchronous import AsyncRun
from ._run import Result, Run, finish
from ._streams import PIPE, Decoding, Stream, Streams
from .errors import InvalidSpecError
from .spec import BuiltSpec, PathLike


class _TaskSpec:
    """What Run takes: a command and what it is given."""

    def __init__(self, command: Sequence[PathLike], built: BuiltSpec) -> None:
        self.command = list(command)
        self._built = built

    def build(self) -> BuiltSpec:
        return self._built


class HermeticRun:
    """One task. Commands of it see what earlier ones have changed; leaving its `with` block removes it all.

    `spec` holds keys of a spec file (limits, environment, inputs, network…) for every command of the task.
    """

    def __init__(self, task_id: str, seed: Optional[int] = None, *, repo: PathLike = ".", sha: Optional[str] = None,
                 sparse: Sequence[str] = (),
                 base_sha: Optional[str] = None, lockfile: Optional[PathLike] = None,
                 wheels: Sequence[PathLike] = (), python: Optional[PathLike] = None,
                 node_lockfile: Optional[PathLike] = None, npm_cache: Optional[PathLike] = None,
                 config: Optional[PathLike] = None, scratch: PathLike = "scratch", cache: Optional[PathLike] = None,
                 snapshot: Optional[str] = None, spec: Optional[Mapping[str, Any]] = None) -> None:
        self.task_id = task_id
        self.seed = seed
        self._handle: Optional[int] = None
        self._owner = os.getpid()
        self._manifest: Dict[str, Any] = {}
        self._running: List[Run] = []
        paths = {"repo": repo, "lockfile": lockfile, "python": python, "node_lockfile": node_lockfile,
                 "npm_cache": npm_cache, "config": config, "scratch": scratch, "cache": cache}
        given = {
            "task_id": task_id, "seed": seed, "sha": sha if sha is not None else base_sha, "from": snapshot,
            "sparse": list(sparse) or None,
            "wheels": [_absolute(folder) for folder in wheels] or None,
            "spec": dict(spec) if spec else None,
            **{name: _absolute(path) for name, path in paths.items() if path is not None},
        }
        self._request = {name: value for name, value in given.items() if value is not None}

    def __enter__(self) -> "HermeticRun":
        self.setup()
        return self

    def __exit__(self, *_: Any) -> None:
        self.cleanup()

    def __del__(self) -> None:
        if self._handle is not None and self._owner == os.getpid():
            _native.library().hermetic_task_free(self._handle)

    def setup(self) -> None:
        """Makes the worktree and the environment, or finds them in the cache."""
        if self._handle is not None or self._manifest:
            raise ValueError("the task was set up already")
        self._handle = _native.call("hermetic_task_set_up", json.dumps(self._request).encode())

    def start(self, command: Sequence[PathLike], *, stdin: Stream = None, stdout: Stream = None, stderr: Stream = None,
              capture_output: bool = False, text: Optional[bool] = None, encoding: Optional[str] = None,
              errors: Optional[str] = None, events: bool = True, prove: bool = False) -> Run:
        """Starts a command in the worktree; see hermetic.start(). One at a time."""
        if capture_output:
            stdout = stderr = PIPE
        if any(run.running for run in self._running):
            raise ValueError("a command of the task is still running")
        words = [_native.checked(os.fsencode(word)) for word in command]
        if not words:
            raise InvalidSpecError("invalid", "no command", "name a program and its arguments", "", 0)
        built = BuiltSpec(_native.call("hermetic_task_spec", self._there(), _native.texts(words)))
        options = {"observe_processes": events, "prove": prove}
        run = Run(_TaskSpec(command, built), Streams(stdin, stdout, stderr, None),  # type: ignore[arg-type]
                  Decoding(text, encoding, errors), options, events)
        self._running = [run]
        return run

    def run(self, command: Sequence[PathLike], *, timeout: Optional[float] = None, check: bool = False,
            **options: Any) -> Result:
        """Runs a command in the worktree and waits for it."""
        options.setdefault("events", False)
        result = finish(self.start(command, **options), timeout)
        self.note(result)
        if check:
            result.check_returncode()
        return result

    async def run_async(self, command: Sequence[PathLike], *, timeout: Optional[float] = None, check: bool = False,
                        **options: Any) -> Result:
        """run() for asyncio. If it is cancelled, the command is ended first."""
        options.setdefault("events", False)
        run = AsyncRun(self.start(command, **options))
        try:
            result = await run.wait(timeout)
        finally:
            await run.close()
        self.note(result)
        if check:
            result.check_returncode()
        return result

    def note(self, result: Result) -> None:
        """Puts how a command has ended into the manifest; run() does it by itself."""
        _native.call("hermetic_task_note", self._there(), json.dumps(result.outcome).encode())

    @property
    def manifest(self) -> Dict[str, Any]:
        """What is known by now; after cleanup() all of it."""
        if self._handle is not None:
            self._manifest = json.loads(_native.call_for_text("hermetic_task_manifest", self._handle))
        return self._manifest

    def emit_manifest(self, path: PathLike) -> pathlib.Path:
        """Writes the manifest to a file."""
        target = pathlib.Path(os.fsdecode(path))
        target.write_text(json.dumps(self.manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return target

    @property
    def run_id(self) -> str:
        return str(self.manifest["run_id"])

    @property
    def scratch_base(self) -> pathlib.Path:
        """The folder of the run on this host, while it lasts."""
        return pathlib.Path(self.manifest["scratch_path"])

    @property
    def worktree_path(self) -> pathlib.Path:
        """Where the changes of the worktree are kept, in 'upper'. Commands see all of it as /task/worktree."""
        return pathlib.Path(self.manifest["worktree_path"])

    @property
    def venv_path(self) -> pathlib.Path:
        return pathlib.Path(self.manifest["venv_path"])

    @property
    def changes(self) -> List[Dict[str, Any]]:
        """What differs in the worktree from where it began."""
        return list(self.manifest["changes"])

    def keep_changes(self, directory: PathLike) -> None:
        """Keeps the changed files in a directory that is not there yet. Call it last."""
        _native.call("hermetic_task_keep_changes", self._there(), os.fsencode(_absolute(directory)))

    def freeze(self, name: str) -> None:
        """Freezes what was made so far, for the `snapshot` of other tasks, and ends this one."""
        self._manifest = self.manifest
        _native.call("hermetic_task_freeze", self._there(), name.encode())
        self._free()

    def cleanup(self) -> None:
        """Ends what runs and removes everything. May be called again."""
        if self._handle is None:
            return
        for run in self._running:
            run.close()
        try:
            _native.call("hermetic_task_clean_up", self._handle)
        finally:
            self._manifest = self.manifest
            self._free()

    def _free(self) -> None:
        handle, self._handle = self._handle, None
        _native.library().hermetic_task_free(handle)

    def _there(self) -> int:
        if self._handle is None:
            raise ValueError("the task is not set up, or was cleaned up")
        return self._handle


Task = HermeticRun


def _absolute(path: PathLike) -> str:
    return os.path.abspath(os.fsdecode(path))
