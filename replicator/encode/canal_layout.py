"""What a record of Canal's protobuf is made of, for programs that write it without the protobuf library.

`canal_protobuf.py` makes the same bytes of the same members; tests compare both.
"""

from __future__ import annotations

import json
from functools import partial
from typing import Any, Final

from replicator.encode import canal_messages as proto
from replicator.encode.canal_rows import delimited
from replicator.model.encoding import Count, Message, Part, Rows, Variable
from replicator.model.table import Table

_VARINT, _DELIMITED = 0, 2
_QUOTE: Final = ord('"')
_GTID: Final = "curtGtid"
_COUNT: Final = "rowsCount"


def layout(table: Table, kind: int) -> tuple[Part, ...]:
    """kind: number of the event type."""
    header = (
        _fields(proto.Header(version=1)),
        _text("file", "logfileName"),
        _number("pos", "logfileOffset"),
        _number("server_id", "serverId"),
        _fields(proto.Header(serverenCode="UTF-8")),
        _number("ms", "executeTime"),
        _fields(
            proto.Header(
                sourceType=proto.ENUMS["Type"]["MYSQL"],
                schemaName=table.database,
                tableName=table.name,
                eventType=kind,
            )
        ),
        Message(_tag("Header", "props"), (_pair("gtid", _GTID),), optional=True),
        Message(_tag("Header", "props"), (_fields(proto.Pair(key=_COUNT)) + _tag("Pair", "value"), Count())),
        _text("executed", "gtid", optional=True),
    )
    change = _fields(proto.RowChange(eventType=kind, isDdl=False))
    entry = (
        Message(_tag("Entry", "header"), header),
        _fields(proto.Entry(entryType=proto.ENUMS["EntryType"]["ROWDATA"])),
        Message(_tag("Entry", "storeValue"), (change, Rows())),
    )
    batch = _variable("pos", _tag("Messages", "batch_id", _VARINT), text=False)
    messages = (batch, Message(_tag("Messages", "messages"), entry))
    kept = _fields(proto.Packet(type=proto.ENUMS["PacketType"]["MESSAGES"]))
    return kept, Message(_tag("Packet", "body"), messages)


def _fields(message: Any) -> bytes:
    return bytes(message.SerializeToString())


def _tag(message: str, field: str, wire: int = _DELIMITED) -> bytes:
    """Fields have numbers below 16, so that a byte is enough."""
    number: int = getattr(proto, message).DESCRIPTOR.fields_by_name[field].number
    return bytes([number << 3 | wire])


def _number(member: str, field: str) -> Variable:
    return _variable(member, _tag("Header", field, _VARINT), text=False)


def _text(member: str, field: str, *, optional: bool = False) -> Variable:
    return _variable(member, _tag("Header", field), text=True, optional=optional)


def _pair(member: str, key: str) -> Variable:
    """Key and value; neither without a value."""
    return _variable(member, _fields(proto.Pair(key=key)) + _tag("Pair", "value"), text=True, optional=True)


def _variable(member: str, tag: bytes, *, text: bool, optional: bool = False) -> Variable:
    write = partial(_written_text, tag, optional) if text else partial(_written_number, tag)
    return Variable(member, tag, text, optional, write)


def _written_text(tag: bytes, optional: bool, raw: bytes) -> bytes:
    if optional and raw in (b"null", b'""'):
        return b""
    plain = raw[0] == _QUOTE and b"\\" not in raw
    return delimited(tag, raw[1:-1] if plain else json.loads(raw).encode())


def _written_number(tag: bytes, raw: bytes) -> bytes:
    made, number = bytearray(tag), int(raw)
    while number > 0x7F:
        made.append(number & 0x7F | 0x80)
        number >>= 7
    made.append(number)
    return bytes(made)
