"""Canal's protobuf records taken apart, so that they compare entry by entry and column by column."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from replicator.encode import canal_messages as proto
from tests.golden.compare import Record, System
from tests.golden.rules_canal import PROTOBUF_RULES, RULES

_XA_MS = 1700000024000
"""Section `xa`: where transactions begin and end there is told in another way, see docs/formats.md."""

EVENT_NAMES = {number: name for name, number in proto.ENUMS["EventType"].items()}
_BODIES = {1: proto.TransactionBegin, 2: proto.RowChange, 3: proto.TransactionEnd}


def entries(records: Iterable[Record]) -> list[Record]:
    """One record per entry, but for section `xa`."""
    return [
        Record(record.topic, None, raw)
        for record in records
        for raw in proto.Messages.FromString(proto.Packet.FromString(record.value).body).messages
        if proto.Entry.FromString(raw).header.executeTime != _XA_MS
    ]


def without_ddl_transactions(records: list[Record]) -> Iterator[Record]:
    """Without the begin and the end of transactions that have no rows, which Canal has no entries for."""
    kinds = [_kind(record) for record in records]
    needless: set[int] = set()
    for at, kind in enumerate(kinds):
        end = at + 1 + (kinds[at + 1 : at + 2] == ["DDL"])
        if kind == "BEGIN" and kinds[end : end + 1] == ["END"]:
            needless |= {at, end}
    return (record for at, record in enumerate(records) if at not in needless)


def _kind(record: Record) -> str:
    entry = proto.Entry.FromString(record.value)
    if entry.entryType != 2:
        return "BEGIN" if entry.entryType == 1 else "END"
    return "DDL" if proto.RowChange.FromString(entry.storeValue).isDdl else "ROWS"


def masked(raw: bytes) -> bytes:
    """An entry without what differs in every run and what ours do not have."""
    entry = proto.Entry.FromString(raw)
    for name in ("logfileName", "logfileOffset", "serverId", "eventLength"):
        entry.header.ClearField(name)
    if not str(entry.header.executeTime).startswith("17000"):
        entry.header.executeTime = 0
    body = _BODIES[entry.entryType].FromString(entry.storeValue)
    for name in ("tableId", "transactionId", "threadId"):
        if any(field.name == name for field in body.DESCRIPTOR.fields):
            body.ClearField(name)
    entry.storeValue = body.SerializeToString()
    return bytes(entry.SerializeToString())


def _show(raw: bytes) -> str:
    """As JSON, with a row's columns by name."""
    entry = proto.Entry.FromString(masked(raw))
    body = _BODIES[entry.entryType].FromString(entry.storeValue)
    header = {"database": "", "table": "", **_plain(entry.header)}
    shown = {"header": header, "entryType": entry.entryType}
    if entry.entryType == 2:
        shown["rows"] = [
            {"before": _columns(row.beforeColumns), "after": _columns(row.afterColumns)} for row in body.rowDatas
        ]
        body.ClearField("rowDatas")
    return json.dumps({**shown, **_plain(body)}, ensure_ascii=False, separators=(",", ":"))


def _plain(message: Any) -> dict[str, Any]:
    names = {"schemaName": "database", "tableName": "table", "eventType": "type"}
    found: dict[str, Any] = {
        names.get(field.name, field.name): [str(each) for each in value] if field.is_repeated else value
        for field, value in message.ListFields()
    }
    return {name: EVENT_NAMES[value] if name == "type" else value for name, value in found.items()}


def _columns(columns: Any) -> dict[str, Any]:
    assert [column.isNull for column in columns] == [not column.HasField("value") for column in columns]
    return {
        "values": {column.name: column.value if column.HasField("value") else None for column in columns},
        "sqlType": {column.name: column.sqlType for column in columns},
        "mysqlType": {column.name: column.mysqlType for column in columns},
        "index": [column.index for column in columns],
        "pkNames": [column.name for column in columns if column.isKey],
        "updated": [column.name for column in columns if column.updated],
    }


def _subject(record: Record) -> str:
    header = proto.Entry.FromString(record.value).header
    return f"{header.schemaName}.{header.tableName}"


PROTOBUF_SYSTEM = System("canal", _show, _subject, (*RULES, *PROTOBUF_RULES))
