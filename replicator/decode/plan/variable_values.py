"""Values of plan variables for the current event, and the expressions that print them."""

from __future__ import annotations

from typing import Final, Protocol


class Context(Protocol):
    """The current row event and its transaction, as generated functions see them: `TransactionState` has the
    attributes."""

    ts_us: int
    now_ns: int
    event_s: int
    gtid_json: str
    executed_json: str
    tsid_json: str
    query_json: str
    file_json: str
    pos: int
    server_id: int
    thread: int | str
    position: bytes
    table_rows: int
    messages: int
    row_flags: int

    def uuid(self, row: int) -> str:
        """JSON text."""
        ...


PER_EVENT: Final = {
    "ts_ms": "_c.ts_us // 1000",
    "ts_us": "_c.ts_us",
    "ts_ns": "_c.ts_us * 1000",
    "now_ms": "_c.now_ns // 1000000",
    "now_us": "_c.now_ns // 1000",
    "now_ns": "_c.now_ns",
    "event_s": "_c.event_s",
    "event_ms": "_c.event_s * 1000",
    "gtid": "_c.gtid_json",
    "executed": "_c.executed_json",
    "tsid": "_c.tsid_json",
    "file": "_c.file_json",
    "pos": "_c.pos",
    "position": "f'{_c.file_json[:-1]}:{_c.pos}\"'",
    "server_id": "_c.server_id",
    "thread": "_c.thread",
    "query": "_c.query_json",
    "unchecked": "('' if _c.row_flags & 0x12 else 'null')",  # see model.plan.Variable
}

PER_ROW: Final = {
    "row": "{row} - _first",
    "offset": "{row}",
    "order": "{row} + 1 - _c.messages",
    "uuid": "_c.uuid({row})",
    "table_order": "_c.table_rows + 1 + {row} - _first",
}
"""{row}: the variable that has the index of the row in its transaction; `_first`: that of the event's first row."""
