"""Starts worker processes and holds the agent's end of them. (Interface; the body follows.)"""

from __future__ import annotations

from multiprocessing.connection import Connection

from core.protocol import FromWorker, ToWorker, WorkerSpec


class Worker:
    """A running worker process, seen from the agent. Methods are thread-safe."""

    spec: WorkerSpec
    pid: int
    connection: Connection
    """For `multiprocessing.connection.wait`; read it through `receive` only."""

    def extend(self, deadline: float) -> None:
        """Sets the end of the lease (monotonic seconds) in shared memory. 0.0 ends it: the worker emits nothing more."""
        raise NotImplementedError

    def send(self, message: ToWorker) -> None:
        """Never blocks for long, never raises: a dead worker shows in `receive`."""
        raise NotImplementedError

    def receive(self) -> list[FromWorker] | None:
        """Messages that have arrived, without waiting; None when the worker is gone and all was read."""
        raise NotImplementedError

    @property
    def alive(self) -> bool:
        raise NotImplementedError

    def kill(self) -> None:
        """SIGKILL and reap; returns within a second. Also fine when it is dead already."""
        raise NotImplementedError


class Launcher:
    """A template process that has imported the data path; workers are forked from it in some ten milliseconds."""

    def start(self, spec: WorkerSpec, deadline: float) -> Worker:
        raise NotImplementedError

    def close(self) -> None:
        """Kills every worker that is still there and the template."""
        raise NotImplementedError
