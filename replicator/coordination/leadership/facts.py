"""The facts that a Core keeps about its own part in a task."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.coordination.groups.candidacy import Candidacy
from replicator.coordination.leadership.actions import DrainReason
from replicator.coordination.leadership.grace import Memory
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import Config, Problem
from replicator.model.checkpoint import Checkpoint

Side: TypeAlias = Literal["source", "sink", "registry", "host"]
DRAIN_LIMIT, DRAIN_MOST = 20.0, 60.0
"""Seconds after which a draining worker is killed; its sink then drops what is open. The first without any progress of
its position, the second in all: what was sent and is acknowledged only after the kill is sent again (at_least_once)."""
STOP_LIMIT, STOP_MOST = 12.0, 45.0
"""The same when the process was asked to end. Whoever asked (systemd, Docker) must wait for longer than the second."""


class WorkerFacts(msgspec.Struct, frozen=True):
    """A worker that is there. `drain_until`: monotonic time after which it is killed; 0.0 while it is not draining.
    `drain_most`: up to which progress moves that. `outdated`: a new address has passed the checks, so another worker is
    to connect to it."""

    config: Config
    streaming: bool = False
    drain_reason: DrainReason | None = None
    drain_until: float = 0.0
    drain_most: float = 0.0
    outdated: bool = False


class Stuck(msgspec.Struct, frozen=True):
    """The worker runs and can't do its work. side: "source", "sink" or "registry" (of schemas), which it does not
    reach, or "host", which lacks something; since: monotonic s; code: of the error that it waits with."""

    side: Side
    since: float
    code: str = ""

    @property
    def until_progress(self) -> bool:
        """It ends with acknowledged progress, not with a stream that opens: that one opens each time."""
        return self.side in ("registry", "host")


class Failure(msgspec.Struct, frozen=True):
    """Why a task is FAILED, under which versions of its configuration and of the table orders, and since when
    (monotonic s). epoch: of the position at the sink, where an unknown term's is the reason (E3111). addresses: of the
    address book, as they were then."""

    error: Problem
    config_version: int
    since: float = 0.0
    orders_version: int = -1
    epoch: int = 0
    addresses: tuple[str, ...] = ()


class Fenced(msgspec.Struct, frozen=True):
    """What the sink reported to a worker of another term; `epoch`: of that term, 0: not known."""

    error: Problem
    epoch: int = 0


class CheckOrder(msgspec.Struct, frozen=True):
    """An ordered check: id of the command, and who gave it."""

    id: str
    by: str = ""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """Attributes:
    guid: our identity in this election; a new session brings a new one.
    czxid: of our election znode; the epoch once we lead. 0 while ABSENT.
    opened: we have opened a term under this node.
    opened_zxid: transaction that did so, 0 when its answer was lost.
    worker: None when there is none.
    checkpoint: the last that a worker of this term reported; None when none did.
    good: the last usable configuration seen, which goes on while a newer one can't be used.
    stuck: the worker does not reach its source or its sink, or its host lacks something.
    check: the last check of the task that was ordered while this Core led.
    restart_at: monotonic time before which a worker that died is not started again.
    fenced: the sink told the worker of a term that is not ours; whether our node stands is not looked at yet.
    fencings: monotonic times at which that was so while our node stood.
    above, previous: see `epochs`.
    candidacy: what the group of this Core says of the task.
    stopping: the process is to end.
    """

    guid: str
    state: State = State.ABSENT
    czxid: int = 0
    opened: bool = False
    opened_zxid: int = 0
    worker: WorkerFacts | None = None
    checkpoint: Checkpoint | None = None
    good: Config | None = None
    failure: Failure | None = None
    stuck: Stuck | None = None
    restart_at: float = 0.0
    check: CheckOrder | None = None
    fenced: Fenced | None = None
    fencings: tuple[float, ...] = ()
    above: int = 0
    previous: int = 0
    stopping: bool = False
    candidacy: Candidacy = Candidacy()
    memory: Memory = Memory()
