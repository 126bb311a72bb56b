"""The role log: the periods in which each worker sent records, to prove that they never overlap.

With REPLICATOR_ROLE_LOG naming a folder, each worker keeps a file of one line of JSON there. `begin` and `end` are
seconds of the lease clock, which all processes of a host share: the moments before the first and before the last
step (write or commit) that the sink has acknowledged. What was begun and never acknowledged was not emitted: its sender
was fenced out, or a later term repeats it. The line is rewritten in place, so that it is true whenever the worker is
killed; a write to a file outlives its process.
"""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Final

from replicator.model import lease_clock
from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink

VARIABLE: Final = "REPLICATOR_ROLE_LOG"


class RoleLog:
    """Args:
    folder: it must exist.
    host: of the Core; with the pid it names the worker.
    """

    def __init__(self, folder: Path, task: str, host: str, epoch: int) -> None:
        self._facts = {"event": "role", "task": task, "host": host, "pid": os.getpid(), "epoch": epoch}
        path = folder / f"{task}-{host}-{epoch}-{os.getpid()}.jsonl"
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._begin: float | None = None

    def emitted(self, first: float, last: float) -> None:
        """Steps from `first` to `last` are acknowledged."""
        if self._begin is None:
            self._begin = first
        line = json.dumps({**self._facts, "begin": round(self._begin, 6), "end": round(last, 6)})
        os.pwrite(self._file, f"{line:<255}\n".encode(), 0)  # as long as ever, so that nothing of the old one is left


class WatchedSink:
    """`ports.Sink`: another sink, with a role log."""

    def __init__(self, sink: Sink, roles: RoleLog) -> None:
        self._sink = sink
        self.holds_rows = sink.holds_rows
        self._roles = roles
        self._first: float | None = None  # when the first step since the last commit was begun
        self._commits: deque[tuple[Position, float, float]] = deque()

    @property
    def dead_letters(self) -> int:
        return self._sink.dead_letters

    @property
    def conflicts(self) -> ConflictCounts:
        return self._sink.conflicts

    @property
    def waited_s(self) -> float:
        return self._sink.waited_s

    @property
    def unfinished(self) -> bool:
        return self._sink.unfinished

    @property
    def by_sql(self) -> bool:
        return self._sink.by_sql

    @property
    def holds_position(self) -> bool:
        return self._sink.holds_position

    @property
    def left(self) -> Position | None:
        return self._sink.left

    def open(self, term: Term) -> Position | None:
        self._first = None
        self._commits.clear()
        return self._sink.open(term)

    def write(self, batch: Batch) -> None:
        if self._first is None:
            self._first = lease_clock.now()
        self._ending()
        self._sink.write(batch)

    def commit(self, position: Position) -> None:
        now = lease_clock.now()
        first, self._first = self._first or now, None
        self._ending()
        self._commits.append((position, first, now))
        self._sink.commit(position)

    def _ending(self) -> None:
        """The call at hand may end the last commit: it is a step of now."""
        if self._sink.unfinished and self._commits:
            position, first, _ = self._commits.pop()
            self._commits.append((position, first, lease_clock.now()))

    def acknowledged(self) -> Position | None:
        self._ending()
        position = self._sink.acknowledged()
        done: tuple[float, float] | None = None
        while position is not None and self._commits and self._commits[0][0].order <= position.order:
            _, first, last = self._commits.popleft()
            done = (done[0] if done else first, last)
        if done is not None:
            self._roles.emitted(*done)
        return position

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._ending()
        self._sink.flush(timeout, progress)

    def close(self) -> None:
        self._sink.close()


def watched(sink: Sink, task: str, host: str, epoch: int) -> Sink:
    """`sink`, with a role log where one is wanted."""
    folder = os.environ.get(VARIABLE)
    return WatchedSink(sink, RoleLog(Path(folder), task, host, epoch)) if folder else sink
