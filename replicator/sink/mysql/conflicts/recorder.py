"""Counts conflicts and records them, with their rows as JSON, in the open transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.model.batch import Record
from replicator.model.conflicts import ConflictCounts, counted
from replicator.model.table import Column
from replicator.model.target_table import TargetTable
from replicator.sink.mysql import errors
from replicator.sink.mysql.conflicts.conflict_table import ConflictTable, Entry
from replicator.sink.mysql.conflicts.lookup import Lookup
from replicator.sink.mysql.conflicts.resolve import Conflict
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.image_values import values

ValueText: TypeAlias = Callable[[TargetTable, Column], Callable[[bytes], str]]
"""A column -> the function of its values' bytes that gives JSON text."""
_LONG: Final = 1 << 16
"""Bytes of a value from which on its length is recorded instead, except of dead letters."""
_TRIM_AFTER: Final = 100
"""Conflicts between two deletions of the oldest: the table has so many more than it keeps, at most."""


def hexadecimal(table: TargetTable, column: Column) -> Callable[[bytes], str]:
    """A `ValueText` that knows no types."""
    return lambda raw: f'"{raw.hex()}"'


class Met(msgspec.Struct, frozen=True):
    """A conflict, and the record of the change that met it."""

    lookup: Lookup
    record: Record
    conflict: Conflict


class Texts:
    """Rows as JSON objects; functions of columns are made once."""

    def __init__(self, text: ValueText) -> None:
        self._text = text
        self._known: dict[tuple[int, int], Callable[[bytes], str]] = {}

    def value(self, lookup: Lookup, index: int) -> Callable[[bytes], str]:
        """Raises DecodeError."""
        place = id(lookup.table), index
        if place not in self._known:
            self._known[place] = self._text(lookup.table, lookup.table.columns[index])
        return self._known[place]

    def row(self, lookup: Lookup, image: bytes | None, *, whole: bool) -> str | None:
        """`whole`: also values of more than `_LONG` bytes."""
        if image is None:
            return None
        found = values(image, lookup.layout)
        return self._object(lookup, range(len(found)), found, whole=whole)

    def key(self, lookup: Lookup, image: bytes) -> str:
        return self._object(lookup, lookup.layout.key, values(image, lookup.layout), whole=True)

    def _object(self, lookup: Lookup, columns: Iterable[int], found: Sequence[bytes | None], *, whole: bool) -> str:
        members = (
            f"{msgspec.json.encode(lookup.table.columns[index].name).decode()}: "
            + self._shown(lookup, index, found[index], whole=whole)
            for index in columns
        )
        return "{" + ", ".join(members) + "}"

    def _shown(self, lookup: Lookup, index: int, value: bytes | None, *, whole: bool) -> str:
        if value is None:
            return "null"
        if len(value) > _LONG and not whole:
            return f'"... {len(value)} bytes"'
        return self.value(lookup, index)(value)


class Recorder:
    """Of one session, in which no transaction follows one that was rolled back."""

    def __init__(self, target: Target, table: ConflictTable, texts: Texts) -> None:
        self._target, self._table, self._texts = target, table, texts
        self._noted: list[tuple[str, str]] = []
        self._since_trim = _TRIM_AFTER

    def record(self, met: Sequence[Met]) -> None:
        """Raises SinkError E3454, SinkUnavailable."""
        recorded = [self._entry(each) for each in met if each.conflict.rule.recorded]
        if not recorded:
            return
        for statement in self._table.inserts(recorded, self._target.room):
            outcome = self._target.execute(statement, 1)
            if outcome.error is not None:
                raise errors.of_transaction(outcome.error, self._target.session)
        self._noted += ((each.policy, each.kind) for each in recorded)
        self._since_trim += len(recorded)
        if self._since_trim >= _TRIM_AFTER:
            self._table.trim(self._target.session)
            self._since_trim = 0

    def taken(self) -> ConflictCounts:
        """Conflicts recorded since the last call."""
        noted, self._noted = self._noted, []
        return counted(noted)

    def _entry(self, met: Met) -> Entry:
        lookup, record, conflict = met.lookup, met.record, met.conflict
        image = conflict.expected if conflict.new is None else conflict.new
        assert image is not None, "a change has an image"  # noqa: S101
        whole = conflict.rule.policy == "dead_letter"
        return Entry(
            record[3].decode("ascii", "replace"),
            record[4],
            lookup.table.database,
            lookup.table.name,
            conflict.kind,
            conflict.rule.policy,
            conflict.decision,
            self._texts.key(lookup, image),
            self._texts.row(lookup, conflict.expected, whole=whole),
            self._texts.row(lookup, conflict.found, whole=whole),
            self._texts.row(lookup, conflict.new, whole=whole),
        )
