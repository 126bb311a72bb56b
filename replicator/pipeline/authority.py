"""Chooses the position at which a session starts: that of the sink or that of lastCommit. Pure."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import CatchUp, Position
from replicator.model.position_order import compared

_FIX: Final = (
    "`replicator task position set NAME --transaction-start` continues at lastCommit's; the same with `--gtid SET`, or "
    "`--file` and `--offset`, of the sink's position continues there. Then `replicator task retry NAME`. With "
    "`replicator run`: a new --state, and `source.start` at the one that is right."
)


def authority(held: Position | None, known: Checkpoint, *, rows: bool = False) -> Position:
    """The sink's position while it is the one that holds it (`Checkpoint.in_sink`), and lastCommit's a copy that may be
    older, never later. lastCommit's where something has been delivered since that does not hold positions: another
    sink, or `at_least_once`; also where it is the earlier one, as from there on rows were sent again.

    Args:
        held: the sink's own; None where it holds none.
        known: lastCommit's, or what the last session has acknowledged.
        rows: the sink has its position where it has the rows (`Sink.holds_rows`). A position that is behind what was
            acknowledged is that of another server, or of a backup: the rows behind it are missing there, and are
            delivered again. What an operator sets is no longer in the sink (`in_sink` None).

    Raises SinkError E3114: neither is ahead, or the sink has lost what it had acknowledged; E3412: it has none.
    """
    if rows and known.in_sink:
        return _following(_with_its_rows(held, known), known)
    return _following(_authority(held, known), known)


def _following(chosen: Position, known: Checkpoint) -> Position:
    """The schema history of a restored task does not reach the sink's position."""
    unseen = known.position.unseen
    if unseen is None or chosen.unseen is not None or compared(chosen, known.position) == "same":
        return chosen
    return msgspec.structs.replace(chosen, unseen=unseen)


def _authority(held: Position | None, known: Checkpoint) -> Position:
    position = known.position
    if held is None:
        return position
    if position.begin is not None and held.reset >= position.reset:
        return held  # the source was asked, and what it said is durable at the sink
    if held.reset != position.reset:
        return held if held.reset > position.reset else _with_rows_read(position, held)
    if known.in_sink is False:
        return position
    relation = compared(held, position)
    if relation == "ahead":
        return held
    if relation == "same":
        return held if _further(held.catch_up, known) and _step(held) >= _step(position) else position
    if relation == "behind" and known.in_sink is None:
        return position
    raise _disagree(held, position, relation == "behind")


def _with_its_rows(held: Position | None, known: Checkpoint) -> Position:
    """One that is behind is made the later one by its number, so that lastCommit may go back to it."""
    position = known.position
    if held is None:
        raise SinkError(
            "E3412",
            "the target has no position of the task, which it had",
            found="no position at the target; it is another server, or the row in replicator_position was deleted",
            wanted=f"{_shown(position)}, as in lastCommit, or an earlier one",
            fix="If the target has all rows up to there: `replicator task position set NAME` with that position. "
            "Otherwise restore the target with its position, or copy the tables again.",
        )
    relation = compared(held, position)
    if held.reset == position.reset and relation != "behind":
        return _authority(held, known)
    if relation != "behind":
        return held
    return msgspec.structs.replace(held, reset=position.reset + 1)


def _further(held: CatchUp | None, known: Checkpoint) -> bool:
    """Whether the sink's catch-up is the later one, or the same, at one place of the stream. One that is over stands at
    the sink until the next commit: to take it once more changes nothing."""
    other = known.position.catch_up
    if held is None or other is None:
        return other is None
    if (held.table, held.time_ms) != (other.table, other.time_ms):
        over = [mark for mark in known.quarantined if mark.until is not None]
        return (held.table, held.time_ms) not in [(mark.table, mark.time_ms) for mark in over]
    if held.done or other.done:
        return held.done
    return compared(held.at, other.at) != "behind"


def _with_rows_read(position: Position, held: Position) -> Position:
    """`position`, which an operator has set by lastCommit's: the sink may have more of the same snapshot."""
    ours, its = position.snapshot, held.snapshot
    if ours is None or its is None or (ours.id, ours.begun_ms) != (its.id, its.begun_ms) or its.step <= ours.step:
        return position
    return msgspec.structs.replace(position, snapshot=its)


def _step(position: Position) -> int:
    return position.snapshot.step if position.snapshot is not None else -1


def _disagree(held: Position, known: Position, older: bool) -> SinkError:
    what = (
        "the sink has lost committed records: it was restored to an earlier state, or is another sink"
        if older
        else "the positions at the sink and in lastCommit can't be compared: neither includes the other"
    )
    return SinkError(
        "E3114",
        what,
        found=f"at the sink {_shown(held)}",
        wanted=f"at least {_shown(known)}, as in lastCommit",
        fix=_FIX,
    )


def _shown(position: Position) -> str:
    return f"{position}{', ' + position.gtid if position.gtid else ''}"


def left_by_another(position: Position) -> SinkError:
    """E3109: a task without a position would begin where another one's rows are left out."""
    where = f"source.start: {{gtid: '{position.gtid}'}}" if position.gtid else f"source.start: {position}"
    return SinkError(
        "E3109",
        "an earlier task of this name has left its position at the sink, and this task has none",
        found=f"{position}{', ' + position.gtid if position.gtid else ''}",
        wanted="a start position: source.start is latest",
        fix=f"{where} continues there. `replicator task position set NAME --latest` (or --earliest) begins at the end "
        "(or beginning) of the source's log; then `replicator task retry NAME`. `replicator task delete NAME --purge` "
        "deletes a task with its position.",
    )
