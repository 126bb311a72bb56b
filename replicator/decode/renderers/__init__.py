"""Renderers: one per type and notation, by name. See DESIGN.md.

int                 integers of every size and sign
int_java            the same, BIGINT UNSIGNED as Java's signed long
year                YEAR as a number, 0000 as 0
bit                 BIT(1): true/false; BIT(n): Base64, lowest byte first
decimal_base64      DECIMAL: Base64 of the unscaled two's complement
float_java          FLOAT, DOUBLE: Java's text
text                characters of any character set
base64              BINARY, VARBINARY, BLOBs
enum, set           their members' texts
json_string         binary JSON as a string of JSON text
date_days           DATE: days since the epoch
time_us             TIME: microseconds
datetime_ms, _us    DATETIME: milli- or microseconds since the epoch
timestamp_iso       TIMESTAMP: ISO 8601, UTC
geometry            {"wkb","srid"}, POINT with "x","y"
vector              array of numbers
decimal_java        DECIMAL: number as Java's BigDecimal prints it, 0E-7 below 1E-6
bit_int             BIT: unsigned number
enum_or_null        ENUM: the member's text, null for index 0
set_array           SET: array of the members' texts, in definition order
json                binary JSON as JSON, compact
temporal            DATE, TIME, DATETIME, TIMESTAMP: strings as the server prints them, TIMESTAMP in UTC
temporal_or_null    the same; null where the year, the month or the day is zero
wkt                 geometry: string of well-known text
canal               any type as a string, see canal.py
bool                TINYINT: true/false
unsigned_base64     BIGINT UNSIGNED: Base64 of its two's complement
decimal_string      DECIMAL: string with all digits
decimal_double      DECIMAL: the nearest double, Java's text
base64_url, hex     BINARY, VARBINARY, BLOBs: URL-safe Base64, hexadecimal
date_iso            DATE: "2024-02-29Z"
time_ms, _ns, _iso  TIME of day: milliseconds, "12:34:56.789Z"; nanoseconds of any
datetime_ns, _iso   DATETIME: nanoseconds since the epoch, ISO 8601
*_windowed          date_* and datetime_*: years 1 to 99 are in 1970-2069
constant:, mask:    see `masks.py`
NAME:TEXT           date_*, datetime_*, timestamp_iso: TEXT for what is no date
raw                 any type: the bytes of the row image, hexadecimal
canal_sql_type      `java.sql.Types` of an UNSIGNED integer by its value, of SET, of JSON
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from replicator.decode.renderers import (
    canal,
    debezium,
    debezium_temporal,
    masks,
    maxwell,
    numbers,
    spatial,
    temporal,
    text,
)
from replicator.decode.renderers.contract import Rendering
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column, Table

__all__ = ["RENDERERS", "rendering"]

FALLIBLE: Final = {**temporal.FALLIBLE, **debezium_temporal.FALLIBLE}

RENDERERS: Final[dict[str, tuple[Callable[[Column, Table], Rendering], frozenset[int]]]] = {
    **numbers.RENDERERS,
    **text.RENDERERS,
    **temporal.RENDERERS,
    **spatial.RENDERERS,
    **debezium.RENDERERS,
    **debezium_temporal.RENDERERS,
    **dict(FALLIBLE),
    **canal.RENDERERS,
    **maxwell.RENDERERS,
}
"""name -> (builder, type bytes that it can render)."""

NO_KEYS: Final[Mapping[str, bytes]] = {}


def rendering(name: str, column: Column, table: Table, keys: Mapping[str, bytes] = NO_KEYS) -> Rendering:
    """How `column` of `table` becomes text in the notation `name`. `keys`: of masks, by reference.

    Raises:
        DecodeError: E2301, the column's type can't be read or not in this notation; E2306, the table map lacks what
            the notation needs; E2307, the character set is not known; E2310, a mask is not for such columns.
    """
    if masks.is_mask(name):
        return masks.mask(name, column, table, rendering, keys)
    where = f"{table.qualified}.{column.name}"
    name, takes, invalid = name.partition(":")
    builder, accepted = RENDERERS[name]
    if column.type not in accepted:
        raise DecodeError(
            "E2301",
            f"column {where} can't be represented as '{name}'",
            found=f"type {types.NAMES.get(column.type, 'unknown')} ({column.type})",
            wanted=", ".join(sorted(types.NAMES[code] for code in accepted)),
            fix="Exclude the column with `transforms.columns`, or set another encoding of its type (`replicator docs "
            "formats`).",
        )
    return FALLIBLE[name][0](column, table, invalid) if takes else builder(column, table)
