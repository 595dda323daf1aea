"""run() and start(): a command in a sandbox, waited for or watched."""

from __future__ import annotations

import dataclasses
import os
import weakref
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._streams import PIPE, Decoding, Stream, Streams
from ._supervisor import Supervisor
from .errors import CommandFailed, TimeoutExpired
from .events import Event
from .spec import PathLike, Spec, TreeLike

Text = Union[str, bytes]


@dataclasses.dataclass
class Result:
    """How a command ended and what it left; `outcome` is what outcome.schema.json describes."""

    args: Sequence[PathLike]
    returncode: int  # as in subprocess: of a signal it is the negative number
    stdout: Any  # bytes, or str with text=True; None if it was not captured
    stderr: Any
    outcome: Dict[str, Any] = dataclasses.field(repr=False)

    @property
    def ending(self) -> str:
        """exited, signaled, timed_out, over_limit, violation or not_started."""
        return str(self.outcome["ending"])

    @property
    def hermetic(self) -> bool:
        """Every promise was kept by the kernel, and nothing was tried that is not allowed."""
        return bool(self.outcome["hermetic"])

    @property
    def violations(self) -> List[Dict[str, Any]]:
        return list(self.outcome["violations"])

    @property
    def usage(self) -> Dict[str, Any]:
        return dict(self.outcome["usage"])

    @property
    def outputs(self) -> List[Dict[str, Any]]:
        """What was published."""
        return list(self.outcome["outputs"])

    def check_returncode(self) -> None:
        if self.returncode:
            raise CommandFailed(self)


def returncode_of(outcome: Mapping[str, Any]) -> int:
    if outcome["signal"] is not None:
        return -int(outcome["signal"])
    return int(outcome["exit_code"])


class Run:
    """A command that runs. Leaving its `with` block, or losing the last reference to it, ends it."""

    def __init__(self, spec: Spec, streams: Streams, decoding: Decoding, options: Dict[str, Any],
                 listens: bool) -> None:
        self.args: Sequence[PathLike] = list(spec.command)
        self._decoding = decoding
        try:
            self._supervisor = Supervisor(spec.build(), options, streams, listens)
        except BaseException:
            streams.close()
            raise
        # Not at exit: that is done, and waited for, by the supervisor's module.
        weakref.finalize(self, self._supervisor.abandon).atexit = False
        self._supervisor.begin()

    def __enter__(self) -> "Run":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def events(self) -> Iterator[Event]:
        """What happens, as it happens, until the run has ended. Each event is given once."""
        while True:
            event = self._supervisor.next_event()
            if event is None:
                return
            yield event

    def wait(self, timeout: Optional[float] = None) -> Result:
        """Until it has ended. After `timeout` seconds it raises TimeoutExpired, and the run goes on."""
        if not self._supervisor.wait(timeout):
            assert timeout is not None
            raise TimeoutExpired(list(self.args), timeout)
        return self.result()

    def result(self) -> Result:
        """Of a run that has ended."""
        supervisor = self._supervisor
        if supervisor.failure is not None:
            raise supervisor.failure
        if not supervisor.done.is_set():
            raise ValueError("the run has not ended")
        return Result(self.args, returncode_of(supervisor.outcome), self._decoding.decode(supervisor.streams.output),
                      self._decoding.decode(supervisor.streams.error), supervisor.outcome)

    def captured(self) -> "tuple[Optional[bytes], Optional[bytes]]":
        """What the command has written so far, of streams that are captured."""
        return self._supervisor.streams.output, self._supervisor.streams.error

    @property
    def running(self) -> bool:
        return not self._supervisor.done.is_set()

    def send_signal(self, number: int) -> bool:
        """To the command. False if it has ended."""
        return self._supervisor.send_signal(number)

    def kill(self) -> None:
        """Ends every process of the run, at once."""
        self._supervisor.kill()

    def usage(self) -> Dict[str, Any]:
        """What the run has used so far."""
        return self._supervisor.usage()

    def close(self) -> None:
        """Ends it, if it has not ended, and waits for that."""
        self._supervisor.end()


def spec_for(command: Optional[Sequence[PathLike]], spec: Optional[Spec], *, inputs: Sequence[TreeLike] = (),
             outputs: Sequence[TreeLike] = (), temps: Sequence[TreeLike] = (),
             network: Union[None, str, Sequence[str]] = None,
             limits: Union[None, str, Mapping[str, Any]] = None, env: Optional[Mapping[str, PathLike]] = None,
             pass_env: Sequence[str] = (), cwd: Optional[PathLike] = None,
             root: Union[None, PathLike, Mapping[str, Any]] = None) -> Spec:
    """`spec`, or what `hermetic run` allows without a spec file; and over it what is said here."""
    base = Spec(defaults=True) if spec is None else spec
    changes: Dict[str, Any] = {}
    for name, value in (("inputs", inputs), ("outputs", outputs), ("temps", temps), ("pass_env", pass_env)):
        if isinstance(value, (str, bytes, os.PathLike)):
            raise TypeError(f"{name} is a list, not a single {type(value).__name__}")
        if value:
            changes[name] = [*getattr(base, name), *value]
    if isinstance(limits, Mapping) and isinstance(base.limits, Mapping):
        limits = {**base.limits, **limits}
    for name, single in (("command", command), ("network", network), ("limits", limits), ("directory", cwd),
                         ("root", root)):
        if single is not None:
            changes[name] = single
    if env is not None:
        changes["env"] = {**base.env, **env}
    return base.replace(**changes)


def start(command: Optional[Sequence[PathLike]] = None, *, spec: Optional[Spec] = None,
          input: Optional[Text] = None, stdin: Stream = None, stdout: Stream = None, stderr: Stream = None,
          capture_output: bool = False, text: Optional[bool] = None, encoding: Optional[str] = None,
          errors: Optional[str] = None, events: bool = True, observe_processes: bool = True,
          digest_outputs: bool = False, prove: bool = False, keep_failed: Optional[PathLike] = None,
          **allowed: Any) -> Run:
    """Starts a command; `allowed` is inputs, outputs, temps, root, network, limits, env, pass_env, cwd."""
    if input is not None and stdin is not None:
        raise ValueError("stdin and input arguments may not both be used.")
    if capture_output:
        if stdout is not None or stderr is not None:
            raise ValueError("stdout and stderr arguments may not be used with capture_output.")
        stdout = stderr = PIPE
    decoding = Decoding(text, encoding, errors)
    wanted = spec_for(command, spec, **allowed)
    options: Dict[str, Any] = {"digest_outputs": digest_outputs, "prove": prove,
                               "observe_processes": events and observe_processes}
    if keep_failed is not None:
        options["keep_failed"] = os.path.abspath(os.fsdecode(keep_failed))
    data = None if input is None else decoding.encode(input)
    return Run(wanted, Streams(stdin, stdout, stderr, data), decoding, options, events)


def finish(run: Run, timeout: Optional[float]) -> Result:
    """Waits; whatever else happens meanwhile, nothing of the run is left."""
    try:
        return run.wait(timeout)
    except TimeoutExpired as expired:
        run.close()
        output, error = run.captured()
        expired.output, expired.stderr = output or None, error or None
        raise
    finally:
        run.close()


def run(command: Optional[Sequence[PathLike]] = None, *, timeout: Optional[float] = None, check: bool = False,
        **options: Any) -> Result:
    """Runs a command in a sandbox and waits for it. Options are those of start().

    Without a spec the command can read the toolchain and the current directory, and nothing else.
    """
    options.setdefault("events", False)
    result = finish(start(command, **options), timeout)
    if check:
        result.check_returncode()
    return result
