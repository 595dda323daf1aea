"""Spec: what a command may read, write, reach and know. What is not named is denied."""

from __future__ import annotations

import dataclasses
import datetime
import json
import os
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple, Union

from . import _native
from ._waiting import unseen

PathLike = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]

_TYPES = {None: 0, "directory": 1, "file": 2}
_PUBLISH = {None: 0, "replace": 0, "merge": 1, "in_place": 2}
_DURATIONS = {"cpu_time", "wall_time", "idle_time"}
_KINDS = (("inputs", 0), ("outputs", 1), ("temps", 2))


@dataclasses.dataclass(frozen=True)
class Tree:
    """A file or directory with all that is below it, but for what is excepted.

    `type` ("directory" or "file") says what to make of an output or temp that is not there yet, and
    `publish` ("replace", "merge", "in_place") what becomes of an output. With `at` the tree stands
    there inside, and what is excepted is named as it is there; a temp then starts as `path`.
    """

    path: PathLike
    except_: Sequence[PathLike] = ()
    type: Optional[str] = None
    publish: Optional[str] = None
    at: Optional[PathLike] = None


TreeLike = Union[PathLike, Tree, Mapping[str, Any]]


def _absolute(path: PathLike) -> bytes:
    """As on the command line: relative names, and ".." at the start, are of the current directory."""
    name = _native.checked(os.fsencode(path))
    if name.startswith(b"/") or not name:
        return name
    base = os.getcwdb()
    while name == b".." or name.startswith(b"../"):
        base, name = os.path.dirname(base), name[3:]
    return base + b"/" + name


def _tree(given: TreeLike) -> Tree:
    if isinstance(given, Tree):
        return given
    if isinstance(given, Mapping):
        unknown = set(given) - {"path", "except", "type", "publish", "at"}
        if unknown or "path" not in given:
            raise TypeError(f"a tree has path, at, except, type and publish, not {sorted(unknown) or 'nothing'}")
        return Tree(given["path"], given.get("except", ()), given.get("type"), given.get("publish"),
                    given.get("at"))
    return Tree(given)


def _one_of(values: Mapping[Optional[str], int], value: Optional[str], name: str) -> int:
    if value not in values:
        raise ValueError(f"{name} is one of {', '.join(sorted(key for key in values if key))}, not {value!r}")
    return values[value]


def _limit(name: str, value: Any) -> Any:
    """Times may be given as numbers of seconds, as everywhere in Python."""
    if name in _DURATIONS:
        if isinstance(value, datetime.timedelta):
            value = value.total_seconds()
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return f"{round(value * 1000)}ms"
    return value


def _list_of(value: Any, name: str) -> Any:
    if isinstance(value, (str, bytes, os.PathLike, Mapping, Tree)):
        raise TypeError(f"{name} is a list, not a single {type(value).__name__}")
    return value


@dataclasses.dataclass
class Spec:
    """What a command may use. Nothing is checked until it is built: by digest, plan() or a run.

    With `defaults` the toolchain and the directory can be read as well, as with `hermetic run` without
    a spec file.
    """

    command: Sequence[PathLike] = ()
    inputs: Sequence[TreeLike] = ()
    outputs: Sequence[TreeLike] = ()
    temps: Sequence[TreeLike] = ()
    network: Union[None, str, Sequence[str]] = None
    unix_sockets: Optional[Sequence[str]] = None
    env: Mapping[str, PathLike] = dataclasses.field(default_factory=dict)
    pass_env: Sequence[str] = ()
    limits: Union[None, str, Mapping[str, Any]] = None
    process: Optional[Mapping[str, Any]] = None
    directory: Optional[PathLike] = None
    identity: Optional[str] = None
    hostname: Optional[str] = None
    on_violation: Optional[str] = None
    strict_outputs: Optional[bool] = None
    allow_nested_namespaces: Optional[bool] = None
    own_uptime: Optional[bool] = None
    allow_unsandboxed: Optional[bool] = None
    give_up: Sequence[str] = ()
    defaults: bool = False
    # A directory that is the command's whole file system, or {"path": ..., "writable": True}.
    root: Union[None, PathLike, Mapping[str, Any]] = None
    # The whole environment of the command, in place of env and pass_env; for hermetic.subprocess.
    exact_env: Optional[Mapping[PathLike, PathLike]] = None
    _base: Optional[Tuple[str, ...]] = dataclasses.field(default=None, repr=False)
    _target: Optional[str] = dataclasses.field(default=None, repr=False)

    @classmethod
    def from_file(cls, path: PathLike, target: Optional[str] = None) -> "Spec":
        """A spec file; what is set on the result wins over what the file says. Fails if it cannot be read."""
        spec = cls(_base=("file", os.fsdecode(_absolute(path))), _target=target)
        unseen(spec._try)
        return spec

    @classmethod
    def from_yaml(cls, text: str, target: Optional[str] = None, *, file_name: str = "spec",
                  here: Optional[PathLike] = None) -> "Spec":
        """The same of a text, YAML or JSON. "$here" is the current directory unless `here` is given."""
        folder = os.fsdecode(_absolute(here) if here is not None else os.getcwdb())
        spec = cls(_base=("text", text, file_name, folder), _target=target)
        unseen(spec._try)
        return spec

    def replace(self, **changes: Any) -> "Spec":
        return dataclasses.replace(self, **changes)

    @property
    def digest(self) -> str:
        """SHA-256 of canonical(): the same for specs that say the same."""
        return self.build().ask("hermetic_spec_digest")

    def canonical(self) -> Dict[str, Any]:
        """The one form of all specs that say the same, as `hermetic` understands it."""
        return dict(json.loads(self.build().ask("hermetic_spec_canonical")))

    def plan(self, backend: Optional[str] = None) -> Dict[str, Any]:
        """Exactly what the command would see, and which promises hold here (plan.schema.json)."""
        name = None if backend is None else backend.encode()
        return dict(json.loads(self.build().ask("hermetic_plan_json", name)))

    def to_dict(self) -> Dict[str, Any]:
        """What a spec file would say; json.dumps() of it is one."""
        if self._base is not None or self.defaults or self.exact_env is not None:
            return self.canonical()
        said: Dict[str, Any] = {"version": 1, **self._settings()}
        if self.command:
            said["command"] = [os.fsdecode(word) for word in self.command]
        if self.directory is not None:
            said["directory"] = os.fsdecode(_absolute(self.directory))
        for name, kind in _KINDS:
            trees = [self._tree_as_dict(given, kind) for given in _list_of(getattr(self, name), name)]
            if trees:
                said[name] = trees
        if self.env or self.pass_env:
            said["environment"] = {"set": {name: os.fsdecode(value) for name, value in self.env.items()},
                                   "pass": list(self.pass_env)}
        return said

    @staticmethod
    def _tree_as_dict(given: TreeLike, kind: int) -> Any:
        tree = _tree(given)
        path = os.fsdecode(_absolute(tree.path))
        said: Dict[str, Any] = {"path": path}
        if tree.at is not None:
            said["at"] = os.fsdecode(tree.at)
            if kind == 2:
                said = {"at": said["at"], "over": path}
        if tree.except_:
            said["except"] = [os.fsdecode(_absolute(name)) for name in tree.except_]
        if tree.type is not None:
            said["type"] = tree.type
        if tree.publish is not None and kind == 1:
            said["publish"] = tree.publish
        return said if len(said) > 1 else path

    def _settings(self) -> Dict[str, Any]:
        """The keys of a spec file that are no paths, words or variables."""
        said: Dict[str, Any] = {}
        for name in ("network", "unix_sockets", "identity", "hostname", "on_violation", "strict_outputs",
                     "allow_nested_namespaces", "own_uptime", "allow_unsandboxed"):
            if getattr(self, name) is not None:
                value = getattr(self, name)
                said[name] = value if isinstance(value, (str, bool)) else list(value)
        if isinstance(self.root, Mapping):
            said["root"] = {**self.root, "path": os.fsdecode(_absolute(self.root["path"]))}
        elif self.root is not None:
            said["root"] = os.fsdecode(_absolute(self.root))
        if isinstance(self.limits, str):
            said["limits"] = self.limits
        elif self.limits:
            said["limits"] = {name: _limit(name, value) for name, value in self.limits.items()}
        if self.process:
            said["process"] = dict(self.process)
        if self.give_up:
            said["give_up"] = list(_list_of(self.give_up, "give_up"))
        return said

    def _new_draft(self) -> int:
        target = None if self._target is None else os.fsencode(self._target)
        if self._base is None:
            return int(_native.call("hermetic_draft_new"))
        if self._base[0] == "file":
            return int(_native.call("hermetic_draft_from_file", os.fsencode(self._base[1]), target))
        text, file_name, here = (part.encode("utf-8", "surrogateescape") for part in self._base[1:])
        return int(_native.call("hermetic_draft_from_text", text, len(text), file_name, here, target))

    def _try(self) -> None:
        _native.library().hermetic_draft_free(self._new_draft())

    def build(self) -> "BuiltSpec":
        """Looks every path up and checks that inputs, outputs and temps are disjoint."""
        return unseen(self._build)

    def _build(self) -> "BuiltSpec":
        draft = self._new_draft()
        try:
            self._fill(draft)
            return BuiltSpec(_native.call("hermetic_spec_build", draft))
        finally:
            _native.library().hermetic_draft_free(draft)

    def _fill(self, draft: int) -> None:
        settings = self._settings()
        if settings:
            text = json.dumps({"version": 1, **settings}).encode()
            _native.call("hermetic_draft_overlay_text", draft, text, len(text), b"Spec", b"/")
        if isinstance(self.command, (str, bytes)):
            raise TypeError("a command is a list of words, not a text; [\"sh\", \"-c\", text] runs a shell")
        if self.command:
            words = [_native.checked(os.fsencode(word)) for word in self.command]
            _native.call("hermetic_draft_set_command", draft, _native.texts(words))
        if self.directory is not None:
            _native.call("hermetic_draft_set_directory", draft, _absolute(self.directory))
        for name, kind in _KINDS:
            for number, given in enumerate(_list_of(getattr(self, name), name)):
                self._declare(draft, kind, _tree(given), f"{name}[{number}]")
        for variable, value in self.env.items():
            _native.call("hermetic_draft_set_variable", draft, _native.checked(os.fsencode(variable)),
                         _native.checked(os.fsencode(value)))
        for variable in _list_of(self.pass_env, "pass_env"):
            _native.call("hermetic_draft_pass_variable", draft, _native.checked(os.fsencode(variable)))
        if self.exact_env is not None:
            _native.call("hermetic_draft_set_exact_environment", draft, _native.texts(self._exact_words()))
        if self.defaults:
            folder = os.getcwdb() if self.directory is None else _absolute(self.directory)
            _native.call("hermetic_draft_add_defaults", draft, folder)

    def _exact_words(self) -> List[bytes]:
        assert self.exact_env is not None
        words = []
        for variable, value in self.exact_env.items():
            name = _native.checked(os.fsencode(variable))
            if b"=" in name:
                raise ValueError("illegal environment variable name")
            words.append(name + b"=" + _native.checked(os.fsencode(value)))
        return words

    @staticmethod
    def _declare(draft: int, kind: int, tree: Tree, origin: str) -> None:
        except_ = [_absolute(name) for name in _list_of(tree.except_, "except")]
        _native.call("hermetic_draft_declare", draft, kind, _absolute(tree.path),
                     _native.texts(except_) if except_ else None, _one_of(_TYPES, tree.type, "type"),
                     _one_of(_PUBLISH, tree.publish, "publish"), origin.encode())
        if tree.at is not None:
            _native.call("hermetic_draft_place", draft, _native.checked(os.fsencode(tree.at)))


class BuiltSpec:
    """A spec that was checked. Frees it when nobody needs it any more."""

    def __init__(self, handle: int) -> None:
        self.handle = handle
        _native.free_with(self, "hermetic_spec_free", handle)

    def ask(self, name: str, *arguments: Any) -> str:
        """Here, and not where the handle alone is known: it is freed with this object."""
        return _native.call_for_text(name, self.handle, *arguments)
