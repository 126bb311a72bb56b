"""Hand-made row events of any table, and the records that a task with transforms makes of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.config.load import parse_task
from replicator.config.task import TaskConfig
from replicator.decode.binlog import event_types
from replicator.decode.decoder import BinlogDecoder
from replicator.model import types
from replicator.model.batch import Record
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.position import Position
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Column, Table
from tests.unit.decode.binlog_writer import Log, lenenc, records, server_error, table_map

UTF8MB4 = 45
USERS = Table(
    "shop",
    "user",
    (
        Column(0, "id", types.LONG, nullable=False),
        Column(1, "email", types.VARCHAR, 400, collation=UTF8MB4),
        Column(2, "age", types.SHORT),
        Column(3, "city", types.VARCHAR, 400, collation=UTF8MB4),
    ),
    (0,),
)
ANN = (1, "ann@example.org", 41, "Oslo")
BOB = (2, "bob@example.org", None, None)


def task(format: str = "debezium", **transforms: Any) -> TaskConfig:  # noqa: A002
    """A task's configuration, read as its file would be."""
    source = {"type": "mysql", "user": "u", "password": "env:P", "tables": ["shop.*"]}
    return parse_task(
        {"name": "t", "source": source, "sink": {"type": "stdout", "format": format}, "transforms": transforms}
    )


def route(record: Record) -> bytes:
    """What chooses the record's partition. AssertionError where that is its key."""
    assert len(record) == 7
    return record[6]


class Script(Log):
    """Transactions over tables; values are what Python has for them."""

    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def change(self, table: Table, operation: str, *rows: Sequence[Any]) -> Script:
        """A transaction. Rows of an update come in pairs: before, after."""
        kinds = {"insert": event_types.WRITE_ROWS, "update": event_types.UPDATE_ROWS, "delete": event_types.DELETE_ROWS}
        self.number += 1
        self.gtid(self.number).query("BEGIN")
        self.add(event_types.TABLE_MAP, table_map(table) + b"\x02" + lenenc(len(collations(table))) + collations(table))
        body = b"".join(image(table, row) for row in rows)
        self.rows(kinds[operation], len(table.columns), body).xid()
        return self


def collations(table: Table) -> bytes:
    """The metadata field DEFAULT_CHARSET: the usual collation, then those of the columns that have another."""
    characters = [column for column in table.columns if column.type in types.CHARACTERS | types.BLOBS]
    others = [(place, column) for place, column in enumerate(characters) if column.collation not in (None, UTF8MB4)]
    return lenenc(UTF8MB4) + b"".join(lenenc(place) + lenenc(column.collation or 0) for place, column in others)


def image(table: Table, row: Sequence[Any]) -> bytes:
    nulls = sum(1 << index for index, value in enumerate(row) if value is None)
    parts = [nulls.to_bytes((len(row) + 7) // 8, "little")]
    for column, value in zip(table.columns, row, strict=True):
        if value is not None:
            parts.append(packed(column, value))
    return b"".join(parts)


def packed(column: Column, value: Any) -> bytes:
    """An int, a text or the bytes themselves, as a row image holds them."""
    size = fixed_size(column)
    if size is not None:
        return value if isinstance(value, bytes) else int(value).to_bytes(size, "little", signed=not column.unsigned)
    raw = value.encode() if isinstance(value, str) else value
    return len(raw).to_bytes(prefix_size(column), "little") + raw


def run(
    config: TaskConfig,
    script: Log,
    position: Position | None = None,
    *,
    snapshot: tuple[Marker, SnapshotMoment] | None = None,
) -> list[Record]:
    """What the task's decoder makes of the script, start to end. `snapshot`: its rows are those of a snapshot."""
    planners = Planners(config)
    decoder = BinlogDecoder(
        planners.stream if snapshot is None else planners.snapshot(*snapshot),
        narrator=planners.narrator,
        position=position or Position("binlog.000001", 4),
        flavor="mysql",
        framing="file",
        server_error=server_error,
        rendering=build_rendering(config),
        clock=lambda: 1_000_000_000,
    )
    return records([*decoder.feed(script.raw), *decoder.feed(b"")])  # the second call raises what the first met


def keys(made: Sequence[Record]) -> list[Any]:
    return [None if record[1] is None else json.loads(record[1]) for record in made]


def values(made: Sequence[Record]) -> list[Any]:
    return [None if record[2] is None else json.loads(record[2]) for record in made]


def images(made: Sequence[Record]) -> list[tuple[str, Any, Any]]:
    """(op, before, after) of Debezium's envelopes; tombstones left out."""
    return [(value["op"], value["before"], value["after"]) for value in values(made) if value is not None]
