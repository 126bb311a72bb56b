"""A contender for a task on this Core: its identity, its term, its workers, and the requests of the steps to it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import msgspec

from replicator.coordination.layout import Layout
from replicator.coordination.leadership.facts import Facts
from replicator.coordination.leadership.state import Event, State
from replicator.coordination.leadership.view import Config, Problem, TaskView
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import InstanceRecord
from replicator.model.checkpoint import Checkpoint


class Leading(msgspec.Struct, frozen=True):
    """The term that a worker is started in.

    Attributes:
        name, czxid: of our node.
        uid: of the task's incarnation.
        epoch: as the sink and its consumers see it; previous: of the term before, None: not known (`epochs`).
        above: as lastCommit has it.
    """

    name: str
    czxid: int
    uid: str
    epoch: int
    previous: int | None
    above: int


class Workers(Protocol):
    """The interface of a participant to the data path."""

    def start(self, term: Leading, config: Config, checkpoint: Checkpoint | None) -> None:
        """Starts a worker under a lease that is confirmed first. Raises NotConnected and LeadershipLost; nothing was
        started then."""
        ...

    def drain(self) -> None: ...

    def kill(self) -> None:
        """Returns when the worker is dead and its lease is over. Fine when there is none."""
        ...


class Identity(msgspec.Struct, frozen=True):
    """Of the process. `process`: uuid of this start; hosts are only labels."""

    host: str
    pid: int
    process: str


class Contender(Protocol):
    """What `steps.Steps` asks of the participant that it acts for (`participant.Participant`, which documents it)."""

    task: str
    identity: Identity
    facts: Facts
    view: TaskView | None
    coordinator: Coordinator
    layout: Layout
    workers: Workers
    clock: Callable[[], float]

    @property
    def state(self) -> State: ...

    @property
    def leads(self) -> bool: ...

    def watch_node(self, path: str) -> bool: ...

    def leading(self, name: str) -> Leading: ...

    def instance_record(self, state: State | None = None) -> InstanceRecord: ...

    def move(self, event: Event, **changes: Any) -> None: ...

    def on_progress(self, checkpoint: Checkpoint) -> None: ...

    def on_waiting(self, error: Problem) -> None: ...

    def on_died(self) -> None: ...

    def fail(self, error: Problem, epoch: int = 0) -> None: ...

    def reset(self) -> None: ...
