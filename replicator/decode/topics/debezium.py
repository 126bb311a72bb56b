"""Reads records in Debezium's format: the inverse of `encode/debezium`."""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from replicator.config.kafka_source import RecordNotation
from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.rows import NotationOf, Values
from replicator.decode.topics.values import Notation, is_binary
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.decoding import from_json, json_decoder
from replicator.mysql.table_shape import ColumnShape


class _Source(msgspec.Struct):
    db: str
    table: str
    ts_ms: int = 0


class _Envelope(msgspec.Struct):
    op: Literal["c", "u", "d", "r"]
    source: _Source
    before: dict[str, msgspec.Raw] | None = None
    after: dict[str, msgspec.Raw] | None = None


class _Operation(msgspec.Struct):
    op: str


class _Wrapped(msgspec.Struct):
    payload: msgspec.Raw


_DECODER: Final = json_decoder(_Envelope)
_KEY: Final = json_decoder(dict[str, msgspec.Raw] | None)  # type: ignore[arg-type]  # a union
_SCHEMA: Final = b'{"schema":'
_SILENT: Final = (
    frozenset({"ddl", "databaseName"}),  # schema changes
    frozenset({"status", "id", "event_count"}),  # begin and end of transactions
    frozenset({"aggregate_type", "type"}),  # notifications of a snapshot
)
_HEARTBEAT: Final = {"ts_ms"}


def read(value: bytes) -> RowChange | None:
    """See `changes.Form`."""
    try:
        if value.startswith(_SCHEMA):
            value = bytes(from_json(value, _Wrapped).payload)
        found = _DECODER.decode(value)
    except msgspec.MsgspecError as error:
        _check_silent(value, error)
        return None
    row: Values | None = found.before if found.op == "d" else found.after
    if row is None:
        raise DecodeError("E2348", f"a record of operation {found.op} has no row", found=_shown(value))
    source = found.source
    if found.op == "d":
        return RowChange(source.db, source.table, row, None, source.ts_ms)
    return RowChange(source.db, source.table, found.before, row, source.ts_ms)


def key(raw: bytes | None) -> frozenset[str]:
    """See `changes.Form`."""
    try:
        if raw is not None and raw.startswith(_SCHEMA):
            raw = bytes(from_json(raw, _Wrapped).payload)
        return frozenset(name.lower() for name in _KEY.decode(raw or b"null") or ())
    except msgspec.MsgspecError as error:
        raise DecodeError("E2348", f"a key is not in Debezium's format: {error}") from error


def _check_silent(value: bytes, error: msgspec.MsgspecError) -> None:
    """Raises DecodeError E2348, E2349 for what is not one of the records that say nothing of a row."""
    try:
        members = from_json(value, dict[str, msgspec.Raw]).keys()
        operation = from_json(value, _Operation).op if "op" in members else ""
    except msgspec.MsgspecError:
        raise DecodeError("E2348", "a record is no JSON object", found=_shown(value)) from error
    if operation == "t":
        raise DecodeError("E2349", "a record is of TRUNCATE", found=_shown(value))
    if not operation and (members == _HEARTBEAT or any(known <= members for known in _SILENT)):
        return
    raise DecodeError(
        "E2348",
        f"a record is not in Debezium's format: {error}",
        found=_shown(value),
        wanted="the envelope with op, source, before and after",
    )


def _shown(value: bytes) -> str:
    """Its beginning, without the values of a row."""
    return f"{len(value)} bytes"


def notation_of(options: RecordNotation) -> NotationOf:
    bytes_as: Notation = {"bytes": "base64", "base64": "base64", "base64-url-safe": "base64_url", "hex": "hex"}[
        options.binary_handling_mode
    ]  # type: ignore[assignment]

    def notation(column: ColumnShape) -> Notation | None:
        if column.type in types.CHARACTERS or column.type in types.BLOBS:
            return bytes_as if is_binary(column) else "text"
        if column.type == types.LONGLONG and column.unsigned and options.bigint_unsigned_handling_mode == "precise":
            return "unsigned_base64"
        if column.type == types.NEWDECIMAL:
            return "decimal_text" if options.decimal_handling_mode == "string" else "decimal_base64"
        if column.type == types.DATETIME2:
            coarse = options.time_precision_mode == "adaptive_time_microseconds" and column.meta <= 3
            return "datetime_ms" if coarse else "datetime_us"
        return _NOTATIONS.get(column.type)

    return notation


_NOTATIONS: Final[dict[int, Notation]] = {
    **dict.fromkeys(types.INTEGERS, "int_java"),
    types.FLOAT: "float",
    types.DOUBLE: "float",
    types.YEAR: "year",
    types.BIT: "bit",
    types.DATE: "days",
    types.TIME2: "time_us",
    types.TIMESTAMP2: "timestamp_text",
    types.ENUM: "enum",
    types.SET: "set",
    types.JSON: "json_text",
    types.GEOMETRY: "geometry",
    types.VECTOR: "vector",
}
