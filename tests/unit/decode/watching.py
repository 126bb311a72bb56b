"""Watchers of tests, and what they should have been told."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from replicator.decode.decoder import BinlogDecoder
from replicator.errors import ReplicatorError
from replicator.model import types
from replicator.model.plan import Image, RecordPlan, TablePlan, Text, Value
from replicator.model.table import Table
from tests.unit.compiled import both as pair


class Notes:
    """Remembers what it is told. `keys`: by table, in order."""

    def __init__(self, tables: Mapping[str, tuple[str, ...]]) -> None:
        self.tables = tables
        self.keys: dict[str, list[bytes]] = defaultdict(list)
        self.lates: list[bool] = []
        self.altered_tables: list[str | None] = []
        self.names: list[tuple[str, str]] = []
        self.moves: list[list[str]] = []

    def changed(self, table: str, keys: Sequence[bytes]) -> None:
        self.keys[table] += keys

    def late(self, *, begins: bool) -> None:
        self.lates.append(begins)

    def altered(self, table: str | None) -> None:
        self.altered_tables.append(table)

    def renamed(self, old: str, new: str) -> None:
        self.names.append((old, new))

    def moved(self, tables: Sequence[str]) -> None:
        self.moves.append(list(tables))

    @property
    def sets(self) -> dict[str, set[bytes]]:
        return {table: set(keys) for table, keys in self.keys.items() if keys}


def every_key(table: Table) -> TablePlan:
    """Prints the raw bytes of all columns but JSON, of each image that there is."""

    def record(image: Image) -> RecordPlan:
        steps: list[Any] = []
        usual = [column for column in table.columns if column.type != types.JSON]
        for column in usual or table.columns:
            steps += [Value(column.index, image, "raw"), Text(",")]
        return RecordPlan(tuple(steps), None)

    before, after = record("before"), record("after")
    return TablePlan(table.qualified, (after,), (before, after), (before,))


def changed_rows(decoder: BinlogDecoder, raw: bytes) -> dict[str, set[bytes]]:
    """All columns of the rows of a stream, by table. The decoder plans with `every_key`."""
    found: dict[str, set[bytes]] = defaultdict(set)
    try:
        for batch in fed(decoder, [raw]):
            for topic, key, *_ in batch.records:
                found[topic].add(key or b"")
    except ReplicatorError:
        pass
    return found


def fed(decoder: BinlogDecoder, pieces: Sequence[bytes]) -> list[Any]:
    batches = []
    for piece in pieces:
        batches += decoder.feed(piece)
        while decoder.more:
            batches += decoder.feed(b"")
    return batches


def stream(raw: bytes, framing: pair.Framing) -> bytes:
    return raw if framing == "file" else pair.as_packets(raw)
