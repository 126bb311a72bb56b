"""Position changes that operators order: the new checkpoint, and what it repeats or skips. Pure."""

from __future__ import annotations

import time
from datetime import datetime
from typing import TypeAlias

import msgspec

from replicator.errors import ProcessError, SourceError
from replicator.model.checkpoint import Checkpoint
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.position import Begin, Place, Position
from replicator.model.topic_offsets import TopicOffsets, distance


class ToFile(msgspec.Struct, frozen=True):
    """A transaction's start by binlog file and byte offset."""

    file: str
    offset: int


class ToGtid(msgspec.Struct, frozen=True):
    """Executed GTID set: exactly these transactions count as delivered."""

    executed: str


class ToTopics(msgspec.Struct, frozen=True):
    """The next offset of each partition, of a task whose source is topics."""

    topics: tuple[TopicOffsets, ...]


class ToPoint(msgspec.Struct, frozen=True):
    """A point of the position history."""

    point: Checkpoint


class TransactionStart(msgspec.Struct, frozen=True):
    """The present position, with nothing delivered of the transaction there. It goes before whatever the sink holds."""


class ToEnd(msgspec.Struct, frozen=True):
    """An end of the source's log, which the source is asked for when the task continues."""

    begin: Begin


Target: TypeAlias = ToFile | ToGtid | ToTopics | ToPoint | ToEnd | TransactionStart


class PositionChange(msgspec.Struct, frozen=True):
    """What an order would do.

    Attributes:
        direction: "back", "forward", "nowhere", or "unknown" when the two can't be compared.
        repeats, skips: words for people, "" for nothing: which part of the source's log is sent again or never sent.
    """

    before: Checkpoint | None
    after: Checkpoint
    direction: str
    repeats: str = ""
    skips: str = ""

    @property
    def forgets_server(self) -> bool:
        """The position counts for whichever server the task reads from next."""
        return self.before is not None and self.before.position.server != self.after.position.server


def stood(checkpoint: Checkpoint | None) -> bytes:
    """The whole position as JSON: two that are shown alike may differ in what was executed before them."""
    return msgspec.json.encode(checkpoint.position if checkpoint else None)


def move(before: Checkpoint | None, target: Target, mariadb: bool, now_ms: int) -> PositionChange:
    """Raises SourceError E2209 for a GTID set that can't be read."""
    position = _position(before, target, mariadb)
    present = before.position if before else Position("", 4)
    position = msgspec.structs.replace(position, reset=present.reset + 1, snapshot=present.snapshot)
    if isinstance(target, TransactionStart):
        direction, repeats, skips = _begun_again(present)
    elif isinstance(target, ToEnd):
        direction, repeats, skips = _to_end(target.begin, before)
    else:
        direction, repeats, skips = _compared(present if before else None, position, mariadb)
    # What is passed unread may have changed tables, and so may have what another server did: the schema history looks.
    unseen = present.unseen or Place(present.file, present.offset, present.gtid, present.server)
    of_topics = present.topics or position.topics  # which have no schema history
    if (
        before is not None
        and not of_topics
        and (direction in ("forward", "unknown") or (present.server and isinstance(target, ToFile)))
    ):
        position = msgspec.structs.replace(position, unseen=unseen)
    counted = before or Checkpoint(position)
    after = msgspec.structs.replace(counted, position=position, time_ms=now_ms, source_ms=0, in_sink=None)
    return PositionChange(before, after, direction, repeats, skips)


def _position(before: Checkpoint | None, target: Target, mariadb: bool) -> Position:
    present = before.position if before else Position("", 4)
    match target:
        case ToFile(file, offset):
            return Position(file, offset)
        case ToTopics(topics):
            return Position.of_topics(topics)
        case ToEnd(begin):
            return Position("", 4, begin=begin)
        case ToPoint(point):
            return point.position.transaction_start
        case TransactionStart():
            return _transaction_start(before)
        case ToGtid(executed):
            return Position(present.file, 4, _normal(executed, mariadb))


def _transaction_start(before: Checkpoint | None) -> Position:
    if before is None:
        raise ProcessError(
            "E5007",
            "the task has no position yet",
            wanted="--file with --offset, --gtid or --at",
            fix="Give the whole position, as wanted.",
        )
    position, catch_up = before.position.transaction_start, before.position.catch_up
    if catch_up is None:
        return position
    catch_up = msgspec.structs.replace(catch_up, at=catch_up.at.transaction_start)
    return msgspec.structs.replace(position, catch_up=catch_up)


def _begun_again(present: Position) -> tuple[str, str, str]:
    """(direction, repeats, skips)"""
    inside = present.catch_up.at if present.catch_up is not None and present.catch_up.at.rows else present
    if not inside.rows:
        return "nowhere", "", ""
    return "back", f"{inside.rows} records of the transaction at {inside.transaction_start}", ""


def _to_end(begin: Begin, before: Checkpoint | None) -> tuple[str, str, str]:
    """(direction, repeats, skips). The beginning may be behind a position that the source has purged."""
    here = before.position if before is not None and before.position.begin is None else None
    if begin == "earliest":
        return "unknown", f"everything that the source still has{f' up to {here}' if here else ''}", ""
    return "forward", "", f"everything {f'from {here} ' if here else ''}until the task continues"


def _normal(text: str, mariadb: bool) -> str:
    normal = str(MariaDBPosition.parse(text) if mariadb else GtidSet.parse(text))
    if not normal:
        raise SourceError(
            "E2209",
            "the GTID set is empty",
            wanted="uuid:1-5,... or 0-1-100,...",
            fix="Give the GTID set of the source: SELECT @@GLOBAL.gtid_executed, or @@GLOBAL.gtid_binlog_pos of "
            "MariaDB.",
        )
    return normal


def _count(executed: GtidSet) -> int:
    total = 0
    for part in str(executed).split(","):
        for token in part.split(":")[1:]:
            first, _, last = token.partition("-")
            if first.isdigit():
                total += int(last or first) - int(first) + 1
    return total


def _compared(before: Position | None, after: Position, mariadb: bool) -> tuple[str, str, str]:
    """(direction, repeats, skips)"""
    if before is None:
        return "unknown", "", ""
    if before.topics or after.topics:
        return _compared_topics(before, after)
    if before.gtid and after.gtid:
        return _compared_mariadb(before, after) if mariadb else _compared_mysql(before, after)
    if not (before.file and after.file):
        return "unknown", "", ""
    if before.order == after.order:
        return "nowhere", "", ""
    if before.order > after.order:
        return "back", f"everything from {after} to {before}", ""
    return "forward", "", f"everything from {before} to {after}"


def _compared_topics(before: Position, after: Position) -> tuple[str, str, str]:
    found = distance(before.topics, after.topics) if before.topics and after.topics else None
    if found is None:
        return "unknown", "", ""
    repeats, skips = (f"{count} offset{'' if count == 1 else 's'}" if count else "" for count in found)
    if not repeats and not skips:
        return ("nowhere" if len(before.topics) == len(after.topics) else "unknown"), "", ""
    return ("unknown" if repeats and skips else "back" if repeats else "forward"), repeats, skips


def _compared_mysql(before: Position, after: Position) -> tuple[str, str, str]:
    ours, theirs = GtidSet.parse(before.gtid), GtidSet.parse(after.gtid)
    again, never = ours.subtract(theirs), theirs.subtract(ours)
    if not again and not never:
        return "nowhere", "", ""
    direction = "unknown" if again and never else "back" if again else "forward"
    return direction, _transactions(again), _transactions(never)


def _transactions(part: GtidSet) -> str:
    count = _count(part)
    text = str(part)
    shown = text if len(text) < 200 else text[:200] + "..."
    return f"{count} transaction{'' if count == 1 else 's'}: {shown}" if count else ""


def _compared_mariadb(before: Position, after: Position) -> tuple[str, str, str]:
    ours, theirs = MariaDBPosition.parse(before.gtid), MariaDBPosition.parse(after.gtid)
    if ours == theirs:
        return "nowhere", "", ""
    if theirs.subset(ours):
        return "back", f"everything after {after.gtid} up to {before.gtid}", ""
    if ours.subset(theirs):
        return "forward", "", f"everything after {before.gtid} up to {after.gtid}"
    return "unknown", f"everything after {after.gtid} that is not after {before.gtid}", "and the reverse"


def moment(text: str) -> int:
    """`2026-11-20 03:00[:00]`, local time, or with an offset as `2026-11-20T03:00:00+01:00`: ms since the epoch.

    Raises ProcessError E5007.
    """
    try:
        return int(datetime.fromisoformat(text.strip()).astimezone().timestamp() * 1000)
    except (ValueError, OverflowError, OSError):
        raise ProcessError(
            "E5007",
            f"{text[:60]!r} is not a time",
            wanted=f"for instance '{time.strftime('%Y-%m-%d %H:%M')}', in the Server's local time, or with an offset",
            fix="Give the time as wanted; `replicator task position history NAME` lists the times that are known.",
        ) from None
