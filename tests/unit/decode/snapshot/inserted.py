"""Rows that recorded binlogs insert, as chunks of a snapshot and as transactions of a stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from replicator.decode.binlog import column_presence, event_types, table_map
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.position import Position
from replicator.model.snapshot import RowImages
from replicator.model.table import Table
from replicator.pipeline.ports import Chunk
from tests.unit.compiled import both as pair
from tests.unit.decode.binlog_writer import IDS, Log, row
from tests.unit.decode.binlog_writer import table_map as map_of

AT_S = 1000
"""Time of the events that `binlog_writer.Log` writes."""


class Inserted(NamedTuple):
    """Rows of one event: the body of their table map, the table, their images."""

    table_map: bytes
    table: Table
    images: RowImages

    def chunk(self) -> Chunk:
        return Chunk(self.table_map, self.images, Position("binlog.000001", 4), None, False, AT_S)

    def log(self) -> Log:
        """A transaction that inserts them."""
        header = column_presence.usual_header(self.table, "insert")
        flags = (1).to_bytes(2, "little")
        body = self.table_map[:6] + flags + b"\x02\x00" + header + self.images.data
        log = Log().add(event_types.ANONYMOUS_GTID, bytes(42) + (7_000_000).to_bytes(7, "little"))
        log.query("BEGIN").add(event_types.TABLE_MAP, self.table_map)
        return log.add(event_types.WRITE_ROWS, body).xid()


def ends(table: Table, data: bytes, at: int = 0) -> list[int]:
    """Where each of the row images ends that are in `data`, which have all columns."""
    found = []
    columns = table.columns
    while at < len(data):
        nulls = int.from_bytes(data[at : at + (len(columns) + 7) // 8], "little")
        at += (len(columns) + 7) // 8
        for column in columns:
            if nulls >> column.index & 1:
                continue
            size = fixed_size(column)
            if size is None:
                prefix = prefix_size(column)
                size = prefix + int.from_bytes(data[at : at + prefix], "little")
            at += size
        found.append(at)
    return found


def inserted(path: Path) -> Iterator[Inserted]:
    """Every event of the recording that inserts whole rows, into a table with names."""
    maps: dict[bytes, bytes] = {}
    events = pair.events(pair.read(path))
    checked = 4 * events[0][-5]  # the description's last byte
    for event in events:
        kind, body = event[4], event[19 : len(event) - checked]
        if kind == event_types.TABLE_MAP:
            maps[body[:6]] = body
        if kind in (event_types.WRITE_ROWS, event_types.WRITE_ROWS_V1):
            described = maps[body[:6]]
            table, named = _parsed(described, pair.flavor(path) == "mariadb")
            rows = body[8 + (int.from_bytes(body[8:10], "little") if kind == event_types.WRITE_ROWS else 0) :]
            size = len(column_presence.usual_header(table, "insert"))
            present = column_presence.parse(table, "insert", rows[:size], accept_partial=True)
            if named and present == column_presence.every_column(table, "insert"):
                data = rows[size:]
                yield Inserted(described, table, RowImages(data, ends(table, data)))


def _parsed(body: bytes, mariadb: bool) -> tuple[Table, bool]:
    found = table_map.parse(body[6:], mariadb=mariadb)
    return found.table, found.named


def of_ids(values: Iterable[int]) -> Inserted:
    """Rows of `binlog_writer.IDS`."""
    images = [row(value) for value in values]
    return Inserted(map_of(IDS), IDS, RowImages(b"".join(images), [5 * (index + 1) for index in range(len(images))]))
