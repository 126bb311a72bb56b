"""Starts worker processes and holds the agent's end of their sockets.

Workers are forked from a template process (multiprocessing's forkserver, `template.py`) that has imported the data path
once, so that a take-over does not pay for imports and a hundred idle workers share their memory. The end of the lease
lies in a shared page: extending it is one store, and a worker whose agent is frozen or gone sees it run out by itself.
"""

from __future__ import annotations

import contextlib
import logging
import math
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from core import channel
from core.channel import AgentEnd
from core.parent_death import end_with_the_template
from core.protocol import FromWorker, Lease, RelaySpec, ToWorker, WorkerSpec
from core.socket_folder import socket_folder
from replicator.assembly.expiry_checks import ExpiryReport, check_expiry
from replicator.config import sealed
from replicator.config.load import parse_task
from replicator.errors import ReplicatorError
from replicator.model.finding import Finding
from replicator.model.nightly import Outcome, Stage
from replicator.model.position import Position
from replicator.net import connections

_REAP_SECONDS = 1.0
_LOOK_SECONDS = 60.0
_CHECK_SECONDS = 120.0
_GRACE_SECONDS = 600.0
"""For a verification that does not look at the clock: it waits for a server."""
PRELOADED = ["core.template"]


class Worker:
    """A running worker process, seen from the agent. Methods are thread-safe.

    Attributes:
        pid: of the process.
    """

    def __init__(self, spec: WorkerSpec, process: BaseProcess, way: AgentEnd, lease: Lease, beat: Any) -> None:
        self.spec = spec
        self.pid: int = process.pid or 0
        self._way = way
        self._process = process
        self._lease = lease
        self._beat = beat

    def fileno(self) -> int:
        return self._way.fileno()

    def when_stalled(self, call: Callable[[], None]) -> None:
        self._way.stalled = call

    @property
    def waits(self) -> bool:
        return self._way.waits

    def flush(self) -> None:
        self._way.flush()

    def extend(self, deadline: float, wall_deadline: float = math.inf) -> None:
        """Sets the end of the lease (seconds of the lease clock, and of the wall clock) in shared memory. 0.0: the
        worker emits nothing more."""
        self._lease.wall_deadline.value = wall_deadline
        self._lease.deadline.value = deadline

    def send(self, message: ToWorker) -> None:
        """Never blocks and never raises: a dead worker shows in `receive`, a frozen one in its beat."""
        self._way.send(message)

    def receive(self) -> list[FromWorker] | None:
        """Messages that have arrived, without waiting; None when the worker is gone and all was read."""
        return self._way.receive()

    @property
    def beat(self) -> float:
        """Changes several times a second while the process runs."""
        return float(self._beat.value)

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    @property
    def exitcode(self) -> int | None:
        return self._process.exitcode

    def kill(self) -> None:
        """Ends the lease, sends SIGKILL and reaps; returns within a second. Also fine when it is dead already."""
        self.extend(0.0)
        with contextlib.suppress(OSError, ValueError):
            self._process.kill()
            self._process.join(_REAP_SECONDS)
        self.hang_up()

    def hang_up(self) -> None:
        """Closes our end of the pipe: a worker that runs ends at once."""
        self._way.close()


class Relay:
    """A process that reads a dump connection for several tasks."""

    def __init__(self, process: BaseProcess) -> None:
        self._process = process
        self.pid: int = process.pid or 0

    @property
    def alive(self) -> bool:
        return self._process.is_alive()

    def kill(self) -> None:
        _end(self._process)


class VerificationProcess:
    """A verification at work. Not thread-safe.

    Args:
        outgoing: the allowed outgoing addresses that it was given.
        seconds: after which it is killed.
    """

    def __init__(
        self, process: BaseProcess, ours: Connection, outgoing: tuple[str, ...] | None, seconds: float
    ) -> None:
        self._process, self._ours, self._outgoing = process, ours, outgoing
        self._end = time.monotonic() + seconds
        self.pid: int = process.pid or 0

    def poll(self, position: Position | None) -> Outcome | None:
        """What it found; None while it goes on. `position`: of the task now, which it may ask for."""
        if connections.cluster_list() != self._outgoing:
            return self._ended("interrupted", "the allowed outgoing addresses were changed")
        try:
            while self._ours.poll():
                said = self._ours.recv()
                if isinstance(said, Outcome):
                    self.kill()
                    return said
                self._ours.send(position)
        except (EOFError, OSError):
            return self._ended("failed", f"its process ended, exit status {self._process.exitcode}")
        if time.monotonic() >= self._end:
            return self._ended("incomplete", "it did not end after verify.max_hours")
        return None

    def kill(self) -> None:
        _end(self._process)
        self._ours.close()

    def _ended(self, stage: Stage, note: str) -> Outcome:
        self.kill()
        return Outcome(stage=stage, note=note)


class Launcher:
    """Makes workers. One per Core process."""

    def __init__(self, log_style: str | None = None) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(PRELOADED)
        self._log_style = log_style
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._relays: list[Relay] = []
        self._starting = threading.Lock()
        self._asking: list[BaseProcess] = []

    def warm(self) -> None:
        """Starts the template now, so that the first take-over does not wait for its imports.

        Raises:
            ProcessError: E5018, there is no folder for the template's socket.
        """
        with socket_folder():
            process = self._context.Process(target=_nothing, daemon=True)
            process.start()
        process.join()

    def start(self, spec: WorkerSpec, deadline: float) -> Worker:
        """deadline: end of the lease on the lease clock, seconds."""
        ours, theirs = channel.pair()
        shared = Lease(self._context.RawValue("d", deadline), self._context.RawValue("d", math.inf))
        beat = self._context.RawValue("d", 0.0)
        process = self._context.Process(
            target=_work, args=(theirs, shared, beat, spec, self._log_style), name=f"worker {spec.task}", daemon=True
        )
        try:
            with self._starting:  # several tasks may be taken over at once
                process.start()
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        worker = Worker(spec, process, channel.AgentEnd(ours), shared, beat)
        with self._lock:
            self._workers = [known for known in self._workers if known.alive] + [worker]
        return worker

    def look(self, config: Mapping[str, Any], installation: str) -> ExpiryReport | None:
        """`check_expiry` in a process of its own; None when it does not answer in time."""
        found = self._asked("expiry", _look, (dict(config), installation, connections.cluster_list()), _LOOK_SECONDS)
        return found if isinstance(found, ExpiryReport) else None

    def check(self, config: Mapping[str, Any], installation: str, position: Position | None) -> list[Finding] | None:
        """`check_task` likewise."""
        given = dict(config), installation, connections.cluster_list(), position
        found = self._asked("check", _check, given, _CHECK_SECONDS)
        return found if isinstance(found, list) else None

    def _asked(self, name: str, target: Callable[..., None], given: tuple[Any, ...], seconds: float) -> object:
        """What a process sends that is made for it; None when it does not in time."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=target, args=(theirs, *given), name=name, daemon=True)
        with self._starting:
            process.start()
        theirs.close()
        with self._lock:
            self._asking.append(process)
        try:
            return ours.recv() if ours.poll(seconds) else None
        except EOFError:
            return None
        finally:
            ours.close()
            _end(process)
            with self._lock:
                self._asking = [one for one in self._asking if one is not process]

    def verify(
        self, config: Mapping[str, Any], installation: str, uid: str, last: Mapping[str, int]
    ) -> VerificationProcess:
        """`verify_task` in a process that goes on by itself."""
        outgoing = connections.cluster_list()
        ours, theirs = self._context.Pipe()
        given = dict(config), installation, outgoing, uid, dict(last)
        process = self._context.Process(target=_verify, args=(theirs, *given), name="verify", daemon=True)
        with self._starting:
            process.start()
        theirs.close()
        with self._lock:
            self._asking = [one for one in self._asking if one.is_alive()] + [process]
        hours = parse_task(dict(config)).verify.max_hours
        return VerificationProcess(process, ours, outgoing, hours * 3600 + _GRACE_SECONDS)

    def relay(self, spec: RelaySpec) -> Relay:
        """The process that reads a dump connection for several tasks. It ends by itself, and with the template."""
        process = self._context.Process(target=_relay, args=(spec, self._log_style), name="relay", daemon=True)
        with self._starting:
            process.start()
        relay = Relay(process)
        with self._lock:
            self._relays = [known for known in self._relays if known.alive] + [relay]
        return relay

    def close(self) -> None:
        """Kills every process that is still there."""
        with self._lock:
            asking = list(self._asking)
        for process in asking:
            _end(process)
        with self._lock:
            workers, self._workers = self._workers, []
            relays, self._relays = self._relays, []
        for worker in workers:
            worker.kill()
        for relay in relays:
            relay.kill()


def _end(process: BaseProcess) -> None:
    with contextlib.suppress(OSError, ValueError):
        process.kill()
        process.join(_REAP_SECONDS)


def _work(*given: Any) -> None:
    from core.worker import main  # the data path is loaded by the template, and not by the Core

    end_with_the_template()
    main(*given)


def _look(connection: Connection, config: dict[str, Any], installation: str, outgoing: tuple[str, ...] | None) -> None:
    with _aside(connection, config, installation, outgoing), contextlib.suppress(ReplicatorError, OSError):
        connection.send(check_expiry(parse_task(config)))


def _check(
    connection: Connection,
    config: dict[str, Any],
    installation: str,
    outgoing: tuple[str, ...] | None,
    position: Position | None,
) -> None:
    from replicator.assembly.task_checks import check_task  # once a day

    with _aside(connection, config, installation, outgoing), contextlib.suppress(OSError):
        try:
            found = check_task(parse_task(config), place=position)
        except ReplicatorError as error:
            found = [Finding.of_error("check.finished", error)]
        connection.send(found)


def _verify(
    connection: Connection,
    config: dict[str, Any],
    installation: str,
    outgoing: tuple[str, ...] | None,
    uid: str,
    last: dict[str, int],
) -> None:
    from replicator.assembly.nightly import verify_task  # once a day

    def ask() -> Position | None:
        connection.send(None)
        found = connection.recv()
        return found if isinstance(found, Position) else None

    with _aside(connection, config, installation, outgoing), contextlib.suppress(OSError, EOFError):
        connection.send(verify_task(parse_task(config), uid, last, ask))


@contextlib.contextmanager
def _aside(
    connection: Connection, config: dict[str, Any], installation: str, outgoing: tuple[str, ...] | None
) -> Iterator[None]:
    """In a process that looks at the servers of a task next to its worker."""
    end_with_the_template()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole process group; the agent ends us
    os.nice(10)
    logging.disable()  # the worker, which has a log, meets the same servers
    with connection:
        connections.set_cluster_list(outgoing)
        sealed.bind(config, installation)
        yield


def _relay(spec: RelaySpec, log_style: str | None) -> None:
    from core.relay import main  # the data path, as for a worker

    end_with_the_template()
    main(spec, log_style)


def _nothing() -> None:
    """The target of the process that makes the template start."""
