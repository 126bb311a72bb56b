"""How much of a source's log a task has still to deliver. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from replicator.errors import SourceError
from replicator.model.gtid import GtidSet, MariaDBPosition
from replicator.model.position import Position
from replicator.model.topic_offsets import distance


class Behind(msgspec.Struct, frozen=True):
    """
    Attributes:
        bytes: of the binlog; None: not known, or the source is topics.
        transactions: by GTID, also those of tables that the task does not replicate; records where the source is
            topics; None: not known.
    """

    bytes: int | None = None
    transactions: int | None = None


def behind(delivered: Position, end: Position, sizes: Mapping[str, int], *, same_server: bool = True) -> Behind:
    """The distance from `delivered` to the end of the source's log.

    Args:
        sizes: bytes of the log's files. Only needed where the positions are in two files.
        same_server: `delivered` names a file of the server whose log ends at `end`.
    """
    if delivered.topics and end.topics:
        found = distance(delivered.topics, end.topics)
        return Behind(None, found[1] if found is not None else None)
    if delivered.topics or end.topics or delivered.begin is not None:
        return Behind()
    return Behind(_bytes(delivered, end, sizes) if same_server else None, _transactions(delivered.gtid, end.gtid))


def nothing(place: Position) -> Behind:
    """A task that has delivered everything up to the end of the log, `place`."""
    return Behind(None if place.topics else 0, 0 if place.topics or place.gtid else None)


def _bytes(delivered: Position, end: Position, sizes: Mapping[str, int]) -> int | None:
    if delivered.file == end.file:
        return max(0, end.offset - delivered.offset)
    if delivered.log != end.log:
        return None
    first, last = delivered.order[0], end.order[0]
    if first > last:
        return 0  # the log has been rotated since its end was asked for
    whole = {Position(file, 0).order[0]: size for file, size in sizes.items() if Position(file, 0).log == end.log}
    between = [whole.get(number) for number in range(first, last)]
    if any(size is None for size in between):
        return None
    return max(0, sum(size or 0 for size in between) - delivered.offset) + end.offset


def _transactions(delivered: str, end: str) -> int | None:
    """MariaDB numbers the transactions of each domain, with gaps only where an operator has set a number."""
    if not delivered or not end or (":" in delivered) != (":" in end):
        return None
    try:
        if ":" in end:
            return GtidSet.parse(end).subtract(GtidSet.parse(delivered)).count()
        return MariaDBPosition.parse(delivered).distance(MariaDBPosition.parse(end))
    except SourceError:
        return None
