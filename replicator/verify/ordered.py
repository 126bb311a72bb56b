"""Compares two tables chunk by chunk, by a key that orders both alike."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Set
from typing import Final

import msgspec

from replicator.model.snapshot import OpenTable
from replicator.mysql import chunk_query
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.table_key import Bound
from replicator.verify.compare import Comparison, Difference, KeyValue, Row
from replicator.verify.recheck import ROUNDS, Recheck
from replicator.verify.replication import Waiter
from replicator.verify.server_checksums import checksum
from replicator.verify.side import Selected, Side, TableAltered, literals
from replicator.verify.table_pair import ReadTable, TablePair

BATCH: Final = 5_000
"""Rows that differ, with which a recheck begins."""
_KEYS: Final = 500
"""Keys of one SELECT."""
_MOST_ROUNDS: Final = 2 * ROUNDS
_PAUSES_S: Final = (0.0, 0.1, 0.3, 0.6, 1.0)
"""Before the rounds of a recheck; the last one before each further round."""


class Chunk(msgspec.Struct):
    """Rows behind one key up to another. `end`: None at the end of the table."""

    rows: int
    differences: list[Difference]
    end: Bound | None


class _Part(msgspec.Struct):
    packets: list[bytes]
    selected: Selected

    @property
    def rows(self) -> list[Row]:
        return [self.selected.parse(packet) for packet in self.packets]

    def without(self, packets: Set[bytes]) -> _Part:
        return _Part([packet for packet in self.packets if packet not in packets], self.selected)

    @property
    def last(self) -> Bound:
        return self.selected.bound(self.packets[-1])


class OrderedTables:
    """Raises TableAltered: one of the tables has another definition; errors of either side."""

    def __init__(self, source: Side, target: Side, pair: TablePair, waiter: Waiter) -> None:
        if pair.source.key is None or pair.target.key is None:
            raise ValueError("tables without a common key have no chunks")
        self._source, self._target, self._pair, self._waiter = source, target, pair, waiter
        self.comparison = Comparison(pair.source.key.columns, pair.documents)
        self._types: tuple[int, ...] | None = None

    def chunk(self, done: Bound | None, count: int) -> Chunk:
        """The next `count` rows behind `done`. Both servers read at the same time."""
        if self._pair.shared:
            return self._by_keys(done, count)
        if self._pair.where:
            return self._filtered(done, count)
        asked = self._ask(self._source, self._pair.source, done, None, count)
        theirs = self._ask(self._target, self._pair.target, done, None, count)
        source, target = _Part(_all(asked), asked), _Part(_all(theirs), theirs)
        self._check(asked)
        full_source, full_target = len(source.packets) == count, len(target.packets) == count
        if source.packets == target.packets and asked.types == theirs.types:
            return Chunk(len(source.packets), [], source.last if full_source else None)
        if not full_source and not full_target:
            return self._compared(source, target, None)
        if full_source and full_target and source.last == target.last:
            return self._compared(source, target, source.last)
        return self._aligned(done, source if full_source else None, target, count)

    def _aligned(self, done: Bound | None, source: _Part | None, target: _Part, count: int) -> Chunk:
        """The two sides end at different keys, and only the servers can tell which of them is the first. `source`:
        None: it has ended."""
        if source is not None:
            most = 4 * count
            target = self._part(self._target, self._pair.target, done, source.last, most)
            if len(target.packets) < most:
                return self._compared(source, target, source.last)
        end = target.last
        rows = self._part(self._source, self._pair.source, done, end, None)
        return self._compared(rows, target, end)

    def _filtered(self, done: Bound | None, count: int) -> Chunk:
        """The end is found without the condition: it may be true for few rows, and the source must not look for
        `count` of them."""
        end, most = self._source.cut(self._pair.source, done, count), 4 * count
        target = self._part(self._target, self._pair.target, done, end, most)
        if len(target.packets) == most:
            end = target.last
        return self._compared(self._part(self._source, self._pair.source, done, end, None), target, end)

    def _by_keys(self, done: Bound | None, count: int) -> Chunk:
        """The target is asked for the keys that the source has: between them are rows of any number of other tables."""
        end = self._source.cut(self._pair.source, done, count)
        part = self._part(self._source, self._pair.source, done, end, None)
        rows = part.rows
        theirs = self._rows(self._target, self._pair.target, [self.comparison.key(row) for row in rows], "")
        return Chunk(len(rows), self.comparison.differences(rows, list(theirs.values())), end)

    def checked(self, done: Bound | None, count: int) -> Chunk | None:
        """As `chunk`, by checksums that the servers compute; None: they differ, so that the rows have to be read."""
        end = self._source.cut(self._pair.source, done, count)
        mine = checksum(self._source, self._pair, self._pair.source, done, end, self._pair.where)
        its = checksum(self._target, self._pair, self._pair.target, done, end, self._pair.target_where)
        return Chunk(mine.rows, [], end) if mine.proves(its) else None

    def settle(self, suspects: list[Difference], sleep: Callable[[float], None] = time.sleep) -> Recheck:
        """Reads rows that differed again until it is known which of them differ for good."""
        recheck = Recheck(self.comparison, suspects)
        for number in range(_MOST_ROUNDS):
            if not recheck.keys:
                break
            sleep(_PAUSES_S[min(number, len(_PAUSES_S) - 1)])
            keys = recheck.keys
            before = self._waiter.end()
            mine = self._rows(self._source, self._pair.source, keys, self._pair.where)
            self._waiter.wait(self._waiter.end())
            its = self._rows(self._target, self._pair.target, keys, self._pair.target_where)
            if self._pair.shared:  # what the source does not have may be a row of another table
                its = {key: row for key, row in its.items() if key in mine}
            recheck.round(mine, its, unchanged=self._waiter.end() == before)
        return recheck

    def _rows(self, side: Side, table: ReadTable, keys: list[KeyValue], where: str) -> Mapping[KeyValue, Row]:
        found: dict[KeyValue, Row] = {}
        wanted = set(keys)
        for at in range(0, len(keys), _KEYS):
            sql = f"{table.shape.select} WHERE ({any_of(table, keys[at : at + _KEYS])})"
            selected = side.read(table, sql + (f" AND ({where})" if where else ""), self._pair.integers)
            for packet in _all(selected):
                row = selected.parse(packet)
                key = self.comparison.key(row)
                if key in wanted:  # a collation finds other keys equal, too
                    found[key] = row
        return found

    def _ask(self, side: Side, table: ReadTable, done: Bound | None, end: Bound | None, count: int | None) -> Selected:
        where = self._pair.where if side is self._source else self._pair.target_where
        sql = chunk_query.of(table, OpenTable("", done=done), end, count or 1 << 40, where)
        return side.read(table, sql, self._pair.integers)

    def _part(self, side: Side, table: ReadTable, done: Bound | None, end: Bound | None, count: int | None) -> _Part:
        selected = self._ask(side, table, done, end, count)
        if side is self._source:
            self._check(selected)
        return _Part(_all(selected), selected)

    def _compared(self, source: _Part, target: _Part, end: Bound | None) -> Chunk:
        count = len(source.packets)
        if source.selected.types == target.selected.types:  # then only rows that are not sent alike are taken apart
            equal = set(source.packets).intersection(target.packets)
            source, target = source.without(equal), target.without(equal)
        return Chunk(count, self.comparison.differences(source.rows, target.rows), end)

    def _check(self, selected: Selected) -> None:
        if self._types is not None and selected.types != self._types:
            raise TableAltered("a column has another type")
        self._types = selected.types


def _all(selected: Selected) -> list[bytes]:
    return [packet for some in selected.packets() for packet in some]


def any_of(table: ReadTable, keys: Iterable[KeyValue]) -> str:
    """An SQL condition."""
    if table.key is None:
        raise ValueError("the table has no key")
    names = [quote_identifier(table.shape.columns[index].name) for index in table.key.columns]
    bounds = [literals(table, key) for key in keys]
    if len(names) == 1:
        return f"{names[0]} IN ({', '.join(bound[0] for bound in bounds)})"
    return " OR ".join(
        "(" + " AND ".join(f"{name} = {value}" for name, value in zip(names, bound, strict=True)) + ")"
        for bound in bounds
    )
