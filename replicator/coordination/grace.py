"""How long a new leader waits: until the lease of the last term must be over.

The proof stands in DESIGN.md. In short, with T the session timeout of the last term's holder:

- A lease ends at most 2/3 T after a moment at which the holder's node existed.
- A session that the servers expired had been silent for T: its lease ended T/3 ago. No wait.
- A node that went while its session lived (deleted by hand) existed until then: wait 2/3 T from when it was missed.
- A term that released on purpose had stopped before. No wait.
"""

from __future__ import annotations

import msgspec

from replicator.coordination.view import TaskView
from replicator.model.checkpoint import Checkpoint

LEASE = 2 / 3
"""Of the session timeout."""


def margin(timeout: float) -> float:
    """For clocks that do not run alike, seconds."""
    return max(0.1, timeout / 20)


class Memory(msgspec.Struct, frozen=True):
    """What earlier views have taught.

    Attributes:
        missing_epoch, missing_since: the last term's node was first missed at that monotonic time.
        hidden: sessions that were seen standing without a machine node. That theirs is missing later proves nothing
            about the session: somebody deletes machine nodes by hand.
        uid, checkpoint: the furthest lastCommit seen, and of which incarnation of the task.
    """

    missing_epoch: int = 0
    missing_since: float = 0.0
    hidden: frozenset[int] = frozenset()
    uid: str = ""
    checkpoint: Checkpoint | None = None


def remember(memory: Memory, view: TaskView, now: float) -> Memory:
    """The memory after `view`, whose reading was finished at `now`."""
    return msgspec.structs.replace(
        memory,
        **_missing(memory, view, now),
        hidden=_hidden(memory, view),
        uid=view.uid or memory.uid,
        checkpoint=_furthest(memory, view),
    )


def _missing(memory: Memory, view: TaskView, now: float) -> dict[str, float]:
    record = view.commit.record
    if record is None or record.epoch == memory.missing_epoch:
        return {}
    if any(entry.czxid == record.epoch for entry in view.field.contenders):
        return {}
    return {"missing_epoch": record.epoch, "missing_since": now}


def _hidden(memory: Memory, view: TaskView) -> frozenset[int]:
    if view.machines is None:
        return memory.hidden
    concerns = {entry.owner for entry in view.field.contenders}
    if view.commit.record is not None:
        concerns.add(view.commit.record.session)
    return ((memory.hidden - view.machines) | view.hidden) & concerns


def _furthest(memory: Memory, view: TaskView) -> Checkpoint | None:
    seen = view.commit.checkpoint
    if view.uid and memory.uid and view.uid != memory.uid:
        return seen  # another incarnation of the name
    return seen or memory.checkpoint


def grace_until(memory: Memory, view: TaskView, now: float) -> float:
    """The monotonic time from which on no earlier term can emit any more; `now` when that is so already.

    `memory` includes `view`, and `view.own` is the first in line with a view that has read the machines.
    """
    record = view.commit.record
    if record is None or record.epoch == 0 or record.released:
        return now
    if record.session == view.session:
        return now  # an earlier term of this very session; its worker is dead before we stand again
    if record.session and record.session not in view.live | memory.hidden:
        return now
    timeout = record.timeout_s or view.timeout
    return memory.missing_since + LEASE * timeout + margin(timeout)
