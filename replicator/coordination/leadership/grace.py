"""Grace period of a new leader: it waits until the lease of the last term must have ended.

The proof stands in DESIGN.md. In short, with T the session timeout of the last term's holder:

- A lease ends at most 2/3 T after a moment at which the holder's node existed.
- A session that the servers expired had been silent for T: its lease ended T/3 ago. No wait. That it ended is proven,
  not guessed: the servers remove its nodes under all parents in one transaction, people remove them one by one.
- Of a node that went in any other way we know only when it was missed: it existed until then. Wait 2/3 T from there.
- A term that released on purpose had stopped before. No wait.
"""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from replicator.coordination.leadership.election import Field
from replicator.coordination.leadership.view import TaskView
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
        field: the last one in which the last term's node stood; as long as it stands, the last one seen.
        ended: epoch of a term whose session has ended.
        own: epoch of the last term of ours, under whatever session.
        uid, checkpoint: the furthest lastCommit seen, and of which incarnation of the task.
    """

    missing_epoch: int = 0
    missing_since: float = 0.0
    field: Field = Field()
    ended: int = 0
    own: int = 0
    uid: str = ""
    checkpoint: Checkpoint | None = None


def remember(memory: Memory, view: TaskView, now: float, sessions: Collection[int] = ()) -> Memory:
    """The memory after `view`, whose reading was finished at `now`. `sessions`: those that are proven to have ended in
    another way (`groups.membership`)."""
    return msgspec.structs.replace(
        memory,
        **_missing(memory, view, now),
        field=_field(memory, view),
        ended=_ended(memory, view, sessions),
        own=_own(memory, view),
        uid=view.uid or memory.uid,
        checkpoint=_furthest(memory, view),
    )


def _missing(memory: Memory, view: TaskView, now: float) -> dict[str, float]:
    record = view.commit.record
    if record is None or record.epoch == memory.missing_epoch:
        return {}
    if view.field.standing(record.epoch):
        return {}
    return {"missing_epoch": record.epoch, "missing_since": now}


def _field(memory: Memory, view: TaskView) -> Field:
    record = view.commit.record
    if record is None or view.field.standing(record.epoch) or not memory.field.standing(record.epoch):
        return view.field
    return memory.field


def _ended(memory: Memory, view: TaskView, sessions: Collection[int]) -> int:
    """The proof: of the children of the election node only the last term's went since it was seen standing, and it went
    in the very transaction in which a machine node went. Only the end of its session does both."""
    record = view.commit.record
    if record is not None and record.session in sessions:
        return record.epoch
    before, after = memory.field.parent, view.field.parent
    if record is None or before is None or after is None:
        return memory.ended
    holder = memory.field.standing(record.epoch)
    gone = holder is not None and holder.name not in view.field.names
    alone = after.czxid == before.czxid and after.cversion == before.cversion + 1
    return record.epoch if gone and alone and after.pzxid == view.machines else memory.ended


def _own(memory: Memory, view: TaskView) -> int:
    record = view.commit.record
    ours = record is not None and view.own is not None and record.epoch == view.own.czxid
    return view.own.czxid if ours and view.own else memory.own


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
    if record.epoch == memory.own or record.session == view.session:
        return now  # an earlier term of this very process; its worker is dead before we stand again
    if record.epoch == memory.ended:
        return now
    timeout = record.timeout_s or view.timeout
    return memory.missing_since + LEASE * timeout + margin(timeout)
