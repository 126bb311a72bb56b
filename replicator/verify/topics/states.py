"""State of each key that the records of topics leave behind. No server is involved."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import msgspec

from replicator.verify.compare import Row
from replicator.verify.topics.columns import Columns, Values
from replicator.verify.topics.spill import MOST_BYTES, Spill

_STATE: Final = struct.Struct("<BIHIQ16s")
_ROW, _ELSEWHERE = 1, 2
_NO_DIGEST: Final = bytes(16)


class Change(msgspec.Struct, frozen=True):
    """What a record says of a row.

    Attributes:
        before: of a row that is deleted, or had another key; it may have more or fewer columns than the key.
        after: None: the row is deleted.
    """

    database: str
    table: str
    before: Values | None
    after: Values | None


class Emptied(msgspec.Struct, frozen=True):
    """A record of TRUNCATE."""

    database: str
    table: str


class State(NamedTuple):
    """
    Attributes:
        present: the last record has a row; False: it deletes it.
        elsewhere: records of the key are in several partitions, whose order is not known.
        table, layout: see `Columns`.
        place, offset: of the last record; `place` is a number of a partition.
    """

    present: bool
    elsewhere: bool
    table: int
    layout: int
    place: int
    offset: int
    digest: bytes


def unpacked(raw: bytes) -> State:
    kind, table, layout, place, offset, digest = _STATE.unpack(raw)
    return State(bool(kind & _ROW), bool(kind & _ELSEWHERE), table, layout, place, offset, digest)


_PLACE: Final = slice(7, 11)


def merged(earlier: bytes, value: bytes) -> bytes:
    """The later one, with the mark of several partitions where the two are in different ones, or one has it."""
    if earlier[_PLACE] == value[_PLACE] and not earlier[0] & _ELSEWHERE:
        return value
    return bytes((value[0] | _ELSEWHERE,)) + value[1:]


class Watched(msgspec.Struct):
    """A row that is followed. `row`: None: there is none."""

    columns: Columns
    row: Row | None
    key: dict[str, str] = {}


class TopicStates:
    """
    Args:
        tables: (database, table), as records have them -> its columns.

    Attributes:
        watched: keys whose rows are followed by their values; the others by hashes.
        emptied: table -> place -> offset of its last TRUNCATE.
        unkeyed: records without the columns of the key, by table.
    """

    def __init__(self, tables: Mapping[tuple[str, str], Columns], most_bytes: int = MOST_BYTES) -> None:
        self._tables = tables
        self._spill = Spill(merged, most_bytes)
        self.watched: dict[bytes, Watched] = {}
        self.emptied: dict[int, dict[int, int]] = {}
        self.unkeyed: dict[int, int] = {}

    def apply(self, place: int, offset: int, changes: Sequence[Change | Emptied]) -> None:
        """Of one record. Raises OSError."""
        for change in changes:
            columns = self._tables.get((change.database, change.table))
            if columns is None:
                continue
            if isinstance(change, Emptied):
                self._empty(columns, place, offset)
            else:
                self._change(columns, change, place, offset)

    def part(self, number: int) -> dict[bytes, State]:
        found = {key: unpacked(raw) for key, raw in self._spill.part(number).items()}
        for key, state in found.items():
            if state.present and state.offset < self.emptied.get(state.table, {}).get(state.place, 0):
                found[key] = state._replace(present=False)
        return found

    @property
    def spilled(self) -> bool:
        return self._spill.spilled

    def close(self) -> None:
        self._spill.close()

    def _empty(self, columns: Columns, place: int, offset: int) -> None:
        self.emptied.setdefault(columns.number, {})[place] = offset
        for watched in self.watched.values():
            if watched.columns is columns:
                watched.row = None

    def _change(self, columns: Columns, change: Change, place: int, offset: int) -> None:
        before = columns.identity(change.before) if change.before is not None else None
        after = columns.identity(change.after) if change.after is not None else None
        if after is None and (before is None or change.after is not None):
            self.unkeyed[columns.number] = self.unkeyed.get(columns.number, 0) + 1
            return
        if before is not None and before != after:
            self._put(before, columns, 0, 0, place, offset, _NO_DIGEST)
            if before in self.watched:
                self.watched[before].row = None
        if after is not None and change.after is not None:
            layout = columns.layout(change.after)
            self._put(after, columns, _ROW, layout, place, offset, columns.digest(change.after, layout))
            if after in self.watched:
                self.watched[after].row = columns.row(change.after)

    def _put(
        self, key: bytes, columns: Columns, kind: int, layout: int, place: int, offset: int, digest: bytes
    ) -> None:
        self._spill.put(key, _STATE.pack(kind, columns.number, layout, place, offset, digest))
