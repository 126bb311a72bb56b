"""Values of plan variables for the current event, and the expressions that print them."""

from __future__ import annotations

from typing import Final

from replicator.model.uuids import row_uuid


class Context:
    """The event at hand and its transaction. JSON text is latin-1 of UTF-8 bytes, "null" where there is nothing.

    Attributes:
        ts_us, now_ns, event_s: see `model.plan.Variable`.
        gtid, executed, tsid, query, file: JSON text.
        pos: of the row event's first byte.
        position: `model.batch.Record`'s.
        table_rows: rows of the event's table that the transaction had before this event.
        told: messages that are not of rows and that the transaction had before this event; they are numbered, too.
    """

    __slots__ = (
        "event_s",
        "executed",
        "file",
        "gtid",
        "now_ns",
        "pos",
        "position",
        "query",
        "server_id",
        "table_rows",
        "thread",
        "told",
        "ts_us",
        "tsid",
    )

    def __init__(self) -> None:
        self.ts_us = 0
        self.now_ns = 0
        self.event_s = 0
        self.gtid = "null"
        self.executed = "null"
        self.tsid = "null"
        self.query = "null"
        self.file = "null"
        self.pos = 0
        self.server_id = 0
        self.thread: int | str = "null"
        self.position = b""
        self.table_rows = 0
        self.told = 0

    def uuid(self, row: int) -> str:
        """JSON text."""
        return f'"{row_uuid(self.position, row)}"'


PER_EVENT: Final = {
    "ts_ms": "_c.ts_us // 1000",
    "ts_us": "_c.ts_us",
    "ts_ns": "_c.ts_us * 1000",
    "now_ms": "_c.now_ns // 1000000",
    "now_us": "_c.now_ns // 1000",
    "now_ns": "_c.now_ns",
    "event_s": "_c.event_s",
    "event_ms": "_c.event_s * 1000",
    "gtid": "_c.gtid",
    "executed": "_c.executed",
    "tsid": "_c.tsid",
    "file": "_c.file",
    "pos": "_c.pos",
    "position": "f'{_c.file[:-1]}:{_c.pos}\"'",
    "server_id": "_c.server_id",
    "thread": "_c.thread",
    "query": "_c.query",
}

PER_ROW: Final = {
    "row": "{row} - _first",
    "offset": "{row}",
    "order": "{row} + 1 - _c.told",
    "uuid": "_c.uuid({row})",
    "table_order": "_c.table_rows + 1 + {row} - _first",
}
"""{row}: the variable that has the index of the row in its transaction; `_first`: that of the event's first row."""
