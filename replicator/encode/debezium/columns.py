"""Chooses the notation and the schema of a column, by type and options."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.config.debezium import DebeziumOptions
from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.table import Column

_CONNECT: Final = "org.apache.kafka.connect.data."
_TIME: Final = "io.debezium.time."
_DATA: Final = "io.debezium.data."


class Kind(msgspec.Struct, frozen=True):
    """
    Attributes:
        renderer: see `model.plan.Value`.
        type: Connect's schema type.
        name: of the logical type, "" without; its version is 1.
        more: further members of the schema, as JSON text that begins with a comma.
        fields: of a struct, or the items of an array: JSON text that begins with a comma.
    """

    renderer: str
    type: str
    name: str = ""
    more: str = ""
    fields: str = ""

    def schema(self, *, optional: bool, default: str | None = None) -> str:
        """The schema's members, without braces; a field's name can be added."""
        named = f',"name":{quote(self.name)},"version":1' if self.name else ""
        given = f',"default":{default}' if default is not None else ""
        flag = "true" if optional else "false"
        return f'"type":"{self.type}"{self.fields},"optional":{flag}{named}{self.more}{given}'


class _Times(msgspec.Struct, frozen=True):
    date: Kind
    time: Kind
    datetime: Kind
    precise: Kind
    """DATETIME with more than three digits."""


_DAYS: Final = Kind("date_days", "int32", f"{_TIME}Date")
_MICROS: Final = Kind("time_us", "int64", f"{_TIME}MicroTime")
_MILLISECONDS: Final = Kind("datetime_ms", "int64", f"{_TIME}Timestamp")
_MICROSECONDS: Final = Kind("datetime_us", "int64", f"{_TIME}MicroTimestamp")
_NANOSECONDS: Final = Kind("datetime_ns", "int64", f"{_TIME}NanoTimestamp")
_CONNECTED: Final = Kind("datetime_ms", "int64", f"{_CONNECT}Timestamp")
_ISO: Final = Kind("datetime_iso", "string", f"{_TIME}IsoTimestamp")

_TIMES: Final = {
    "adaptive_time_microseconds": _Times(_DAYS, _MICROS, _MILLISECONDS, _MICROSECONDS),
    "microseconds": _Times(_DAYS, _MICROS, _MICROSECONDS, _MICROSECONDS),
    "nanoseconds": _Times(_DAYS, Kind("time_ns", "int64", f"{_TIME}NanoTime"), _NANOSECONDS, _NANOSECONDS),
    "connect": _Times(
        Kind("date_days", "int32", f"{_CONNECT}Date"),
        Kind("time_ms", "int32", f"{_CONNECT}Time"),
        _CONNECTED,
        _CONNECTED,
    ),
    "isostring": _Times(
        Kind("date_iso", "string", f"{_TIME}IsoDate"), Kind("time_iso", "string", f"{_TIME}IsoTime"), _ISO, _ISO
    ),
}
_BINARY: Final = {
    "bytes": Kind("base64", "bytes"),
    "base64": Kind("base64", "string"),
    "base64-url-safe": Kind("base64_url", "string"),
    "hex": Kind("hex", "string"),
}
_PLAIN: Final = {
    types.YEAR: Kind("year", "int32", f"{_TIME}Year"),
    types.TIMESTAMP: Kind("timestamp_iso", "string", f"{_TIME}ZonedTimestamp"),
    types.TIMESTAMP2: Kind("timestamp_iso", "string", f"{_TIME}ZonedTimestamp"),
    types.JSON: Kind("json_string", "string", f"{_DATA}Json"),
    types.DOUBLE: Kind("float_java", "double"),
    types.VECTOR: Kind("vector", "array", f"{_DATA}FloatVector", fields=',"items":{"type":"float","optional":false}'),
}
_WKB: Final = '{"type":"bytes","optional":%s,"field":"wkb"},{"type":"int32","optional":true,"field":"srid"}'
_XY: Final = '{"type":"double","optional":false,"field":"x"},{"type":"double","optional":false,"field":"y"},'
_GEOMETRY: Final = Kind(
    "geometry", "struct", f"{_DATA}geometry.Geometry", ',"doc":"Geometry"', f',"fields":[{_WKB % "false"}]'
)
_POINT: Final = Kind(
    "geometry", "struct", f"{_DATA}geometry.Point", ',"doc":"Geometry (POINT)"', f',"fields":[{_XY}{_WKB % "true"}]'
)


def kind(column: Column, options: DebeziumOptions) -> Kind:
    """Types that are not known here are left to the renderer "text", which refuses them by name."""
    if column.type in types.INTEGERS:
        return _integer(column, options)
    times = _TIMES[options.time_precision_mode]
    if column.type in (types.DATE, types.NEWDATE):
        return _adjusted(times.date, options)
    if column.type in (types.TIME, types.TIME2):
        return times.time
    if column.type in (types.DATETIME, types.DATETIME2):
        return _adjusted(times.datetime if column.meta <= 3 else times.precise, options)
    if column.type in types.CHARACTERS or column.type in types.BLOBS or column.type in types.COMPRESSED:
        binary = column.collation == types.BINARY_COLLATION
        return _BINARY[options.binary_handling_mode] if binary else Kind("text", "string")
    return _PLAIN.get(column.type) or _made(column, options)


def _adjusted(kind: Kind, options: DebeziumOptions) -> Kind:
    if not options.enable_time_adjuster:
        return kind
    return msgspec.structs.replace(kind, renderer=f"{kind.renderer}_windowed")


def _integer(column: Column, options: DebeziumOptions) -> Kind:
    declared = column.declared
    if column.type == types.TINY and declared is not None and declared.type in ("BOOL", "BOOLEAN"):
        return Kind("bool", "boolean")
    if column.type == types.LONGLONG:
        if column.unsigned and options.bigint_unsigned_handling_mode == "precise":
            return Kind("unsigned_base64", "bytes", f"{_CONNECT}Decimal", ',"parameters":{"scale":"0"}')
        return Kind("int_java", "int64")
    wide = 2 * (types.TINY, types.SHORT, types.INT24, types.LONG).index(column.type) + column.unsigned
    return Kind("int_java", ("int16", "int16", "int16", "int32", "int32", "int32", "int32", "int64")[wide])


def _made(column: Column, options: DebeziumOptions) -> Kind:
    """Those whose schema says something of the column."""
    if column.type == types.NEWDECIMAL:
        return _decimal(column, options)
    if column.type == types.FLOAT:
        declared = column.declared
        return Kind("float_java", "double" if declared is not None and len(declared.arguments) == 2 else "float")
    if column.type == types.BIT:
        length = 8 * (column.meta >> 8) + (column.meta & 0xFF)
        if length == 1:
            return Kind("bit", "boolean")
        return Kind("bit", "bytes", f"{_DATA}Bits", f',"parameters":{{"length":"{length}"}}')
    if column.type in (types.ENUM, types.SET):
        name, renderer = ("Enum", "enum") if column.type == types.ENUM else ("EnumSet", "set")
        allowed = ",".join(member.replace(",", "\\,") for member in column.members)
        return Kind(renderer, "string", f"{_DATA}{name}", f',"parameters":{{"allowed":{quote(allowed)}}}')
    if column.type == types.GEOMETRY:
        return _POINT if column.geometry == 1 else _GEOMETRY
    return Kind("text", "string")


def _decimal(column: Column, options: DebeziumOptions) -> Kind:
    if options.decimal_handling_mode == "string":
        return Kind("decimal_string", "string")
    if options.decimal_handling_mode == "double":
        return Kind("decimal_double", "double")
    parameters = f'{{"scale":"{column.meta & 0xFF}","connect.decimal.precision":"{column.meta >> 8}"}}'
    return Kind("decimal_base64", "bytes", f"{_CONNECT}Decimal", f',"parameters":{parameters}')
