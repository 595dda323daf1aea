"""The C ABI by ctypes: finds libhermetic.so.0, and turns its errors into exceptions.

ctypes lets go of the interpreter's lock during a call and takes it again for a callback.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading
import weakref
from ctypes import POINTER, byref, c_char_p, c_int, c_size_t, c_void_p
from typing import Any, Callable, Dict, List, Optional, Sequence, Set, Tuple, Type

from .errors import (INTERNAL, INVALID, SYSTEM, UNSUPPORTED, HermeticError, InvalidSpecError,
                     SystemFailure, UnsupportedError)

ABI_VERSION = 0
_NAME = f"libhermetic.so.{ABI_VERSION}"

_KINDS = {1: INVALID, 2: UNSUPPORTED, 3: SYSTEM, 4: INTERNAL}
_CLASSES = {INVALID: InvalidSpecError, UNSUPPORTED: UnsupportedError, SYSTEM: SystemFailure}

EventCallback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p, c_size_t)
_TEXTS = POINTER(c_char_p)

# name: result, arguments. Those that fail take an error last; it is added here.
_FAILING: Dict[str, Tuple[Any, List[Any]]] = {
    "hermetic_draft_new": (c_void_p, []),
    "hermetic_draft_from_text": (c_void_p, [c_char_p, c_size_t, c_char_p, c_char_p, c_char_p]),
    "hermetic_draft_from_file": (c_void_p, [c_char_p, c_char_p]),
    "hermetic_draft_add_defaults": (c_int, [c_void_p, c_char_p]),
    "hermetic_draft_overlay_text": (c_int, [c_void_p, c_char_p, c_size_t, c_char_p, c_char_p]),
    "hermetic_draft_set_command": (c_int, [c_void_p, _TEXTS]),
    "hermetic_draft_set_directory": (c_int, [c_void_p, c_char_p]),
    "hermetic_draft_declare": (c_int, [c_void_p, c_int, c_char_p, _TEXTS, c_int, c_int, c_char_p]),
    "hermetic_draft_place": (c_int, [c_void_p, c_char_p]),
    "hermetic_draft_set_variable": (c_int, [c_void_p, c_char_p, c_char_p]),
    "hermetic_draft_pass_variable": (c_int, [c_void_p, c_char_p]),
    "hermetic_draft_set_exact_environment": (c_int, [c_void_p, _TEXTS]),
    "hermetic_spec_build": (c_void_p, [c_void_p]),
    "hermetic_spec_canonical": (c_void_p, [c_void_p]),
    "hermetic_spec_digest": (c_void_p, [c_void_p]),
    "hermetic_plan_json": (c_void_p, [c_void_p, c_char_p]),
    "hermetic_capabilities_json": (c_void_p, []),
    "hermetic_task_set_up": (c_void_p, [c_char_p]),
    "hermetic_task_new": (c_void_p, [c_char_p]),
    "hermetic_task_prepare": (c_int, [c_void_p]),
    "hermetic_task_stop": (c_int, [c_void_p]),
    "hermetic_task_spec": (c_void_p, [c_void_p, _TEXTS]),
    "hermetic_task_spec_of": (c_void_p, [c_void_p, c_void_p]),
    "hermetic_task_note": (c_int, [c_void_p, c_char_p]),
    "hermetic_task_manifest": (c_void_p, [c_void_p]),
    "hermetic_task_show_worktree": (c_int, [c_void_p]),
    "hermetic_task_show_environment": (c_int, [c_void_p, c_int]),
    "hermetic_task_keep_changes": (c_int, [c_void_p, c_char_p]),
    "hermetic_task_freeze": (c_int, [c_void_p, c_char_p]),
    "hermetic_task_clean_up": (c_int, [c_void_p]),
    "hermetic_run_start": (c_void_p, [c_void_p, c_char_p, EventCallback, c_void_p]),
    "hermetic_run_wait": (c_void_p, [c_void_p]),
    "hermetic_run_signal": (c_int, [c_void_p, c_int]),
    "hermetic_run_kill": (c_int, [c_void_p]),
    "hermetic_run_snapshot": (c_void_p, [c_void_p]),
}
_PLAIN: Dict[str, Tuple[Any, List[Any]]] = {
    "hermetic_version": (c_char_p, []),
    "hermetic_abi_version": (c_int, []),
    "hermetic_string_free": (None, [c_void_p]),
    "hermetic_error_kind": (c_int, [c_void_p]),
    "hermetic_error_message": (c_char_p, [c_void_p]),
    "hermetic_error_hint": (c_char_p, [c_void_p]),
    "hermetic_error_origin": (c_char_p, [c_void_p]),
    "hermetic_error_os_error": (c_int, [c_void_p]),
    "hermetic_error_free": (None, [c_void_p]),
    "hermetic_draft_free": (None, [c_void_p]),
    "hermetic_spec_free": (None, [c_void_p]),
    "hermetic_run_free": (None, [c_void_p]),
    "hermetic_task_free": (None, [c_void_p]),
}

_loaded: Optional[ctypes.CDLL] = None
_loading = threading.Lock()
_owners: "Set[weakref.ref[Any]]" = set()


def _places() -> List[str]:
    """HERMETIC_LIBRARY alone if it is set; else beside this file, as in the wheel, then the system's."""
    chosen = os.environ.get("HERMETIC_LIBRARY")
    if chosen:
        return [chosen]
    return [os.path.join(os.path.dirname(os.path.abspath(__file__)), _NAME), _NAME]


def _open() -> ctypes.CDLL:
    problems = []
    for place in _places():
        if os.sep in place and not os.path.exists(place):
            problems.append(f"{place}: no such file")
            continue
        try:
            found = ctypes.CDLL(place)
        except OSError as error:
            problems.append(str(error))
            continue
        for name, (result, arguments) in _PLAIN.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, arguments
        for name, (result, arguments) in _FAILING.items():
            function = getattr(found, name)
            function.restype, function.argtypes = result, [*arguments, POINTER(c_void_p)]
        return found
    raise ImportError(f"cannot load {_NAME} ({'; '.join(problems)}); set HERMETIC_LIBRARY to its path")


def library() -> ctypes.CDLL:
    global _loaded
    if _loaded is None:
        with _loading:
            if _loaded is None:
                found = _open()
                if found.hermetic_abi_version() != ABI_VERSION:
                    raise ImportError(f"{_NAME} has another ABI than {ABI_VERSION}")
                _loaded = found
    return _loaded


def version() -> str:
    return str(library().hermetic_version().decode())


def _text(value: Optional[bytes]) -> str:
    return (value or b"").decode("utf-8", "replace")


def _exception(error: c_void_p) -> HermeticError:
    native = library()
    kind = _KINDS.get(native.hermetic_error_kind(error), INTERNAL)
    found: Type[HermeticError] = _CLASSES.get(kind, HermeticError)
    try:
        return found(kind, _text(native.hermetic_error_message(error)), _text(native.hermetic_error_hint(error)),
                     _text(native.hermetic_error_origin(error)), native.hermetic_error_os_error(error))
    finally:
        native.hermetic_error_free(error)


def call(name: str, *arguments: Any) -> Any:
    """A function that can fail: its result, or its error as an exception."""
    error = c_void_p()
    result = getattr(library(), name)(*arguments, byref(error))
    if error.value is not None:
        raise _exception(error)
    return result


def call_for_text(name: str, *arguments: Any) -> str:
    pointer = call(name, *arguments)
    try:
        return ctypes.string_at(pointer).decode("utf-8", "replace")
    finally:
        library().hermetic_string_free(pointer)


def free_with(owner: Any, name: str, handle: int) -> None:
    """Calls the function of C with the handle when the owner is gone. weakref.finalize() is written in Python: an
    exception of a signal handler may come before what it is to call. This callback is C as a whole."""
    function = library()[name]  # an object of its own
    function.restype, function.argtypes = None, [c_void_p, ctypes.py_object]  # the second one is the reference
    for reference in list(_owners):
        if reference() is None:
            _owners.discard(reference)
    _owners.add(weakref.ref(owner, functools.partial(function, handle)))


def texts(values: Sequence[bytes]) -> Any:
    """A list for C, which ends with NULL."""
    array = (c_char_p * (len(values) + 1))()
    array[:-1] = list(values)
    return array


def checked(value: bytes) -> bytes:
    """C would cut it there."""
    if b"\0" in value:
        raise ValueError("embedded null byte")
    return value


def no_event_callback() -> Any:
    return EventCallback(0)


def event_callback(heard: Callable[[bytes], None]) -> Any:
    def receive(_: Any, text: int, size: int) -> None:
        heard(ctypes.string_at(text, size))

    return EventCallback(receive)
