"""Decides how a cut-over continues, from what is seen of its tasks. Pure.

First all tasks pause, each at a transaction boundary of its source. Of those that read the same source, the furthest
position is then the goal of the others: they run until there. So the goal needs no question to the source, and every
task can reach it. Tasks of other sources stay where they have paused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.coordination.cutovers.cutover_records import CutoverRecord, Party
from replicator.coordination.leadership.state import State
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.position_order import compared, reached

Order: TypeAlias = Literal["pause", "align", "resume", "release"]
"""What is written for a task: to be paused for this cut-over; paused only at its goal; to run; or to stay paused, and
belong to no cut-over."""
PAUSED: Final = State.PAUSED.value


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A task as it is now.

    Attributes:
        ours: its status is the one that this cut-over has written; `by`: who wrote another one.
        uid: "" for one that is gone.
        state: of `State`; error: code and text while it is FAILED.
        position: of its last commit.
        source: server and name of its source, where the position does not say of which server it is.
    """

    ours: bool
    uid: str
    state: str = ""
    by: str = ""
    error: str = ""
    position: Position | None = None
    source: str = ""


class Step(msgspec.Struct, frozen=True):
    """The record that is written, and the orders of tasks, in one transaction."""

    record: CutoverRecord
    orders: Mapping[str, Order]


def decide(record: CutoverRecord, seen: Mapping[str, Seen], now_ms: int) -> Step | None:
    """None: nothing is to be written now."""
    parties = tuple(_updated(party, seen.get(party.task)) for party in record.parties)
    present = msgspec.structs.replace(record, parties=parties)
    broken = [f"{party.task}: {party.problem}" for party in parties if party.problem]
    if broken:
        return _failed(present, seen, now_ms, "E5151", "; ".join(broken[:5]))
    if record.cancelled_by:
        return _failed(present, seen, now_ms, "E5151", f"it was cancelled by {record.cancelled_by}")
    if all(_stopped(party, seen[party.task]) for party in parties):
        return _all_paused(present, seen, now_ms)
    if now_ms >= record.deadline_ms:
        late = [f"{party.task} is {_where(party, seen[party.task])}" for party in parties]
        slow = [text for text, party in zip(late, parties, strict=True) if not _stopped(party, seen[party.task])]
        return _failed(present, seen, now_ms, "E5152", "; ".join(slow[:5]))
    return None


def _updated(party: Party, seen: Seen | None) -> Party:
    return msgspec.structs.replace(party, state=seen.state if seen else "", problem=_problem(party, seen))


def _problem(party: Party, seen: Seen | None) -> str:
    if seen is None or not seen.uid:
        return "it was deleted"
    if seen.uid != party.uid:
        return "it was deleted and created again"
    if not seen.ours:
        return f"it was ordered otherwise by {seen.by or 'an operator'}"
    if seen.state == State.FAILED.value:
        return seen.error  # its Core says within a second with which one
    if seen.state == State.UNCONFIGURED.value:
        return "it has no configuration that can be used"
    return ""


def _stopped(party: Party, seen: Seen) -> bool:
    """A task that was paused when it was ordered to continue is so until its Core has read that."""
    if seen.state != PAUSED or seen.position is None or not seen.position.boundary:
        return False
    return party.goal is None or reached(seen.position, party.goal)


def _where(party: Party, seen: Seen) -> str:
    at = f" at {seen.position}" if seen.position is not None else ""
    return f"{seen.state}{at}" + (f", not yet at {party.goal}" if party.goal is not None else "")


def _all_paused(record: CutoverRecord, seen: Mapping[str, Seen], now_ms: int) -> Step:
    """Nothing moves now: the positions are those of the last commits."""
    groups: dict[str, list[str]] = {}
    for party in record.parties:
        groups.setdefault(source_of(party.task, seen[party.task]), []).append(party.task)
    goals: dict[str, Position] = {}
    for tasks in groups.values():
        furthest = _furthest([position for task in tasks if (position := seen[task].position) is not None])
        if furthest is None:
            found = f"positions of {', '.join(tasks)} can't be compared"
            return _failed(record, seen, now_ms, "E5151", found)
        goals |= dict.fromkeys(tasks, furthest)
    sources = {task: source for source, tasks in groups.items() for task in tasks}
    behind = [party.task for party in record.parties if not reached(_at(seen, party.task), goals[party.task])]
    parties = tuple(
        msgspec.structs.replace(
            party,
            source=sources[party.task],
            goal=goals[party.task],
            reached=None if party.task in behind else seen[party.task].position,
        )
        for party in record.parties
    )
    if behind:
        aligning = msgspec.structs.replace(record, phase="aligning", parties=parties)
        return Step(aligning, dict.fromkeys(behind, "align"))
    done = msgspec.structs.replace(record, phase="reached", parties=parties, ended_ms=now_ms)
    order: Order = "resume" if record.resume else "release"
    return Step(done, {party.task: order for party in parties})


def _at(seen: Mapping[str, Seen], task: str) -> Position:
    position = seen[task].position
    assert position is not None  # noqa: S101 - all of them are paused at one
    return position


def _furthest(positions: Sequence[Position]) -> Position | None:
    """None where two of them can't be compared."""
    best = positions[0]
    for position in positions[1:]:
        relation = compared(msgspec.structs.replace(position, reset=0), msgspec.structs.replace(best, reset=0))
        if relation == "unknown":
            return None
        if relation == "ahead":
            best = position
    return best


def source_of(task: str, seen: Seen) -> str:
    """Positions are compared between tasks that read the binlog of one server."""
    position = seen.position
    if position is None or position.topics:
        return f"task {task}"
    return Origin.parse(position.server).server or seen.source or f"task {task}"


def _failed(record: CutoverRecord, seen: Mapping[str, Seen], now_ms: int, code: str, found: str) -> Step:
    """Tasks that somebody else has given another order keep that."""
    parties = tuple(
        msgspec.structs.replace(
            party, reached=each.position if (each := seen.get(party.task)) and each.state == PAUSED else None
        )
        for party in record.parties
    )
    ended = msgspec.structs.replace(
        record, phase="failed", parties=parties, ended_ms=now_ms, code=code, found=found[:1000]
    )
    order: Order = "release" if record.keep else "resume"
    ours = [party.task for party in parties if (each := seen.get(party.task)) and each.ours and each.uid == party.uid]
    return Step(ended, dict.fromkeys(ours, order))
