"""Tasks: a command in a fresh worktree and a fresh environment, sealed, recorded, and gone.

    >>> with hermetic.HermeticRun(task_id="demo", seed=7, repo=".") as run:
    ...     result = run.run(["python", "-m", "unittest"], capture_output=True, text=True)
    >>> run.manifest["stable_hash"]
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import secrets
import threading
import time
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from . import _native
from ._asynchronous import AsyncRun
from ._run import Result, Run, Text, finish
from ._streams import PIPE, Decoding, Stream, Streams
from ._task_handle import TaskHandle
from ._waiting import unseen
from .errors import InvalidSpecError, TimeoutExpired
from ._temporary import Temporary
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
    `hermetic=False` leaves the network of the host to commands and to the interpreter of `venv_path`, unless the
    spec says something else of it.
    """

    def __init__(self, task_id: str, run_id: Optional[str] = None, seed: Optional[int] = None,
                 base_sha: Optional[str] = None, hermetic: bool = True, *, repo: PathLike = ".",
                 sha: Optional[str] = None,
                 borrow: Union[PathLike, Sequence[PathLike]] = (), sparse: Union[str, Sequence[str]] = (),
                 lockfile: Optional[PathLike] = None,
                 wheels: Union[PathLike, Sequence[PathLike]] = (), index: Optional[str] = None,
                 python: Optional[PathLike] = None,
                 node_lockfile: Optional[PathLike] = None, npm_cache: Optional[PathLike] = None,
                 config: Optional[PathLike] = None, scratch: PathLike = "scratch", cache: Optional[PathLike] = None,
                 snapshot: Optional[str] = None, spec: Optional[Mapping[str, Any]] = None) -> None:
        self.task_id = task_id
        self.run_id = run_id or f"run_{time.time_ns() // 1_000_000}_{secrets.token_hex(3)}"
        self.seed = seed
        self.base_sha = base_sha
        self.hermetic = hermetic
        # Known before anything is there.
        self.scratch_base = pathlib.Path(_absolute(scratch), task_id, self.run_id)
        self._shown = {"worktree": False, "venv": False}  # asked for by the caller
        self._temporary: Optional[Temporary] = None
        self._handle: Optional[TaskHandle] = None
        self._manifest: Dict[str, Any] = {}
        self._running: List[Run] = []
        # The library's task is used by one thread at a time. The same one may take it again: cleanup() reads.
        self._lock = threading.RLock()
        paths = {"repo": repo, "lockfile": lockfile, "python": python, "node_lockfile": node_lockfile,
                 "npm_cache": npm_cache, "config": config, "scratch": scratch, "cache": cache}
        given = {
            "task_id": task_id, "run_id": self.run_id, "seed": seed, "sha": sha if sha is not None else base_sha,
            "base_sha": base_sha, "from": snapshot,
            "sparse": ([sparse] if isinstance(sparse, str) else list(sparse)) or None,
            "borrow": [_absolute(folder) for folder in _paths(borrow)] or None,
            "wheels": [_absolute(folder) for folder in _paths(wheels)] or None, "index": index,
            "spec": _spec_for_all(spec, hermetic),
            **{name: _absolute(path) for name, path in paths.items() if path is not None},
        }
        self._request = {name: value for name, value in given.items() if value is not None}

    def __enter__(self) -> "HermeticRun":
        self.setup()
        return self

    def __exit__(self, *_: Any) -> None:
        self.cleanup()

    def __call__(self) -> "HermeticRun":
        """For those who write `with run():`."""
        return self

    def setup(self) -> None:
        """Makes the worktree and the environment, or finds them in the cache."""
        with self._alone():
            if self._handle is not None or self._manifest:
                raise ValueError("the task was set up already")
            handle = TaskHandle(json.dumps(self._request).encode())
            handle.prepare()
            self._handle = handle
            self._temporary = Temporary()
            try:
                for name in [name for name, wanted in self._shown.items() if wanted]:
                    self._show(name)
            except BaseException:
                self.cleanup()
                raise

    def start(self, command: Sequence[PathLike], *, input: Optional[Text] = None, stdin: Stream = None,
              stdout: Stream = None, stderr: Stream = None, capture_output: bool = False,
              text: Optional[bool] = None, encoding: Optional[str] = None, errors: Optional[str] = None,
              env: Optional[Mapping[str, PathLike]] = None, cwd: Optional[PathLike] = None, events: bool = True,
              prove: bool = False) -> Run:
        """Starts a command; see hermetic.start(). One at a time. `env` is added to what the task has; a `cwd` that
        is relative begins in the worktree. What becomes of it is in the manifest."""
        if input is not None and stdin is not None:
            raise ValueError("stdin and input arguments may not both be used.")
        if capture_output:
            if stdout is not None or stderr is not None:
                raise ValueError("stdout and stderr arguments may not be used with capture_output.")
            stdout = stderr = PIPE
        words = [_native.checked(os.fsencode(word)) for word in command]
        if not words:
            raise InvalidSpecError("invalid", "no command", "name a program and its arguments", "", 0)
        options = {"observe_processes": events, "prove": prove}
        decoding = Decoding(text, encoding, errors)
        data = None if input is None else decoding.encode(input)
        with self._alone():
            if any(run.running for run in self._running):
                raise ValueError("a command of the task is still running")
            built = unseen(lambda: self._build(words, env or {}, cwd))
            run = Run(_TaskSpec(command, built), Streams(stdin, stdout, stderr, data),  # type: ignore[arg-type]
                      decoding, options, events)
            self._running = [run]
        return run

    def _build(self, words: List[bytes], env: Mapping[str, PathLike], cwd: Optional[PathLike]) -> BuiltSpec:
        task = self._there()
        draft = _native.call("hermetic_draft_new")
        try:
            _native.call("hermetic_draft_set_command", draft, _native.texts(words))
            for name, value in env.items():
                _native.call("hermetic_draft_set_variable", draft, _native.checked(os.fsencode(name)),
                             _native.checked(os.fsencode(value)))
            if cwd is not None:
                place = os.path.join(b"/task/worktree", os.fsencode(cwd))
                _native.call("hermetic_draft_set_directory", draft, _native.checked(place))
            return BuiltSpec(_native.call("hermetic_task_spec_of", task, draft))
        finally:
            _native.library().hermetic_draft_free(draft)

    def run(self, command: Sequence[PathLike], *, timeout: Optional[float] = None, check: bool = False,
            **options: Any) -> Result:
        """Runs a command in the worktree and waits for it. Options are those of start()."""
        options.setdefault("events", False)
        run = self.start(command, **options)
        try:
            result = finish(run, timeout)
        except TimeoutExpired:
            self._note_timeout(run)
            raise
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
        except TimeoutExpired as expired:
            await run.close()
            output, error = run.run.captured()
            expired.output, expired.stderr = output or None, error or None
            self._note_timeout(run.run)
            raise
        finally:
            await run.close()
        if check:
            result.check_returncode()
        return result

    def _note_timeout(self, run: Run) -> None:
        """To the kernel it was a signal like any other."""
        outcome = run.result().outcome
        self.note(dataclasses.replace(run.result(), outcome={**outcome, "ending": "timed_out", "exit_code": 124}))

    def note(self, result: Result) -> None:
        """Says in the manifest how the last command has ended, if that is not what its own outcome says."""
        with self._alone():
            _native.call("hermetic_task_note", self._there(), json.dumps(result.outcome).encode())

    @property
    def manifest(self) -> Dict[str, Any]:
        """What is known by now; after cleanup() all of it."""
        with self._alone():
            if self._handle is not None:
                self._manifest = json.loads(_native.call_for_text("hermetic_task_manifest", self._there()))
            if not self._manifest:
                self._there()
            return self._manifest

    def emit_manifest(self, path: Optional[PathLike] = None) -> Dict[str, Any]:
        """The manifest, which is also written to the file that is named."""
        manifest = self.manifest
        if path is not None:
            target = pathlib.Path(os.fsdecode(path))
            target.write_text(json.dumps(manifest, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return manifest

    @property
    def worktree_path(self) -> pathlib.Path:
        """The worktree as a directory of the host, for tools of the caller. It is made when it is first asked for,
        or by setup() if that was before; a task that does not ask is set up without it. Commands see its files as
        /task/worktree: from the next one on what the caller has changed, and the other way round. Its repository is
        the caller's alone."""
        return self._path_of("worktree")

    @property
    def venv_path(self) -> pathlib.Path:
        """The environment as a directory of the host, as it was before any command, in the same way. Its interpreter
        has no network unless `hermetic` is False; that is all it is kept from."""
        return self._path_of("venv")

    def _path_of(self, name: str) -> pathlib.Path:
        with self._alone():
            self._shown[name] = True
            if self._handle is not None and self._handle.is_ours:
                self._show(name)
        return self.scratch_base / name

    def _show(self, name: str) -> None:
        if name == "worktree":
            _native.call("hermetic_task_show_worktree", self._there())
        else:
            _native.call("hermetic_task_show_environment", self._there(), 0 if self.hermetic else 1)

    @property
    def changes(self) -> List[Dict[str, Any]]:
        """What differs in the worktree from where it began."""
        return list(self.manifest["changes"])

    def keep_changes(self, directory: PathLike) -> None:
        """Keeps the changed files in a directory that is not there yet. Call it last."""
        with self._alone():
            _native.call("hermetic_task_keep_changes", self._there(),
                         _native.checked(os.fsencode(_absolute(directory))))

    def freeze(self, name: str) -> None:
        """Freezes what was made so far, for the `snapshot` of other tasks, and ends this one."""
        with self._alone():
            self._manifest = self.manifest
            _native.call("hermetic_task_freeze", self._there(), _native.checked(name.encode()))
            self._free()

    def cleanup(self) -> None:
        """Ends what runs and removes everything. May be called again. In a child of the process that has set it
        up, does nothing: the task is the parent's."""
        if self._handle is None or not self._handle.is_ours:
            return
        with self._alone():
            if self._handle is None:  # another thread was quicker
                return
            for run in self._running:
                run.close()
            try:
                _native.call("hermetic_task_clean_up", self._there())
            finally:
                try:
                    self._manifest = self.manifest
                finally:
                    self._free()

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread at a time; others wait. Nobody waits for a command in here. In a child the lock may be that of
        a thread which is not there, and the library refuses the task."""
        if self._handle is not None and not self._handle.is_ours:
            yield
            return
        with self._lock:
            yield

    def _free(self) -> None:
        handle, self._handle = self._handle, None
        if handle is not None:
            handle.free()
        temporary, self._temporary = self._temporary, None
        if temporary is not None:
            temporary.remove()

    def _there(self) -> int:
        pointer = None if self._handle is None else self._handle.pointer
        if pointer is None:
            raise ValueError("the task is not set up, or was cleaned up; setup() or a 'with' block sets it up")
        return pointer


Task = HermeticRun


def _spec_for_all(spec: Optional[Mapping[str, Any]], hermetic: bool) -> Optional[Dict[str, Any]]:
    usual: Dict[str, Any] = {} if hermetic else {"network": "host"}
    return {**usual, **(spec or {})} or None


def _paths(given: Union[PathLike, Sequence[PathLike]]) -> Sequence[PathLike]:
    return [given] if isinstance(given, (str, bytes, os.PathLike)) else given


def _absolute(path: PathLike) -> str:
    return os.path.abspath(os.fsdecode(path))
