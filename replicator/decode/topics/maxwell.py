"""Reads records in Maxwell's format: the inverse of `encode/maxwell.py`."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.values import Notation, is_binary
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.decoding import json_decoder
from replicator.mysql.table_shape import ColumnShape


class _Message(msgspec.Struct):
    type: str
    database: str = ""
    table: str = ""
    ts: int = 0
    data: dict[str, msgspec.Raw] | None = None
    old: dict[str, msgspec.Raw] | None = None


_DECODER: Final = json_decoder(_Message)
_KEY: Final = json_decoder(dict[str, msgspec.Raw] | list[Any] | None)  # type: ignore[arg-type]  # a union
_PK: Final = "pk."
_ROWS: Final = frozenset({"insert", "update", "delete", "bootstrap-insert"})
_SILENT: Final = frozenset(
    {
        "bootstrap-start", "bootstrap-complete", "heartbeat", "database-create", "database-alter", "database-drop",
        "table-create", "table-alter", "table-drop",
    }
)  # fmt: skip


def read(value: bytes) -> RowChange | None:
    """See `changes.Form`. `old` has only what an update has changed."""
    try:
        found = _DECODER.decode(value)
    except msgspec.MsgspecError as error:
        raise DecodeError(
            "E2348",
            f"a record is not in Maxwell's format: {error}",
            found=f"{len(value)} bytes",
            wanted="an object with type, database, table and data",
        ) from error
    if found.type in _SILENT:
        return None
    if found.type not in _ROWS:
        raise DecodeError("E2349", "a record of Maxwell is not of a row", found=f"type {found.type[:60]}")
    if found.data is None or not found.table or not found.database:
        raise DecodeError("E2348", f"a record of type {found.type} has no row", found=f"{len(value)} bytes")
    milliseconds = 1000 * found.ts
    if found.type == "delete":
        return RowChange(found.database, found.table, found.data, None, milliseconds)
    before = {**found.data, **found.old} if found.old else None
    return RowChange(found.database, found.table, before, found.data, milliseconds)


def key(raw: bytes | None) -> frozenset[str]:
    """See `changes.Form`: {"database", "table", "pk.COLUMN"}, or ["database", "table", [{"COLUMN"}]]."""
    try:
        found = _KEY.decode(raw or b"null")
    except msgspec.MsgspecError as error:
        raise DecodeError("E2348", f"a key is not in Maxwell's format: {error}") from error
    if isinstance(found, dict):
        return frozenset(name[len(_PK) :].lower() for name in found if name.startswith(_PK))
    parts = found[2] if isinstance(found, list) and len(found) == 3 else []
    return frozenset(name.lower() for part in parts if isinstance(part, dict) for name in part)


def notation(column: ColumnShape) -> Notation | None:
    """A `rows.NotationOf`. Geometry is text without its SRID."""
    if column.type in types.CHARACTERS or column.type in types.BLOBS:
        return "base64" if is_binary(column) else "text"
    return _NOTATIONS.get(column.type)


_NOTATIONS: Final[dict[int, Notation]] = {
    **dict.fromkeys(types.INTEGERS, "int"),
    types.NEWDECIMAL: "decimal_number",
    types.FLOAT: "float",
    types.DOUBLE: "float",
    types.YEAR: "year",
    types.BIT: "bit_int",
    types.DATE: "date_text",
    types.TIME2: "time_text",
    types.DATETIME2: "datetime_text",
    types.TIMESTAMP2: "timestamp_text",
    types.ENUM: "enum",
    types.SET: "set_array",
    types.JSON: "json",
    types.VECTOR: "vector",
}
