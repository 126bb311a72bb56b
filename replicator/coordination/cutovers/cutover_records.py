"""What is recorded of a cut-over."""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import msgspec

from replicator.coordination.records import Record
from replicator.model.position import Position

Phase: TypeAlias = Literal["stopping", "aligning", "reached", "failed"]
"""stopping: all tasks pause, each at its next transaction boundary; aligning: those that are behind the others of their
source run until there; reached: all have stopped at their goals; failed: not all have, and those that were stopped go
on."""
OVER: Final = ("reached", "failed")


class Party(msgspec.Struct, frozen=True, kw_only=True):
    """A task of a cut-over.

    Attributes:
        uid: of its incarnation.
        source: tasks with the same one stop at the same position; "" before their positions are known.
        goal: where it is to stop; None while that is not known.
        reached: where it has stopped; None: it has not.
        state: as it was seen last, of `State`; problem: why it can't stop there, "" for none.
    """

    task: str
    uid: str
    source: str = ""
    goal: Position | None = None
    reached: Position | None = None
    state: str = ""
    problem: str = ""


class CutoverRecord(Record):
    """/cutovers/ID.

    Attributes:
        by, reason, began_ms, ended_ms: who has ordered it, why, and when; ms since the epoch, 0: not ended.
        deadline_ms: until when all tasks have to have stopped.
        resume: the tasks continue as soon as all have stopped; else they stay paused.
        keep: tasks that have stopped stay paused when it fails.
        cancelled_by: who has cancelled it, "": it was not.
        found: why it has failed; code: E5151 or E5152.
    """

    by: str
    began_ms: int
    deadline_ms: int
    parties: tuple[Party, ...]
    reason: str = ""
    phase: Phase = "stopping"
    resume: bool = False
    keep: bool = False
    ended_ms: int = 0
    cancelled_by: str = ""
    code: str = ""
    found: str = ""
