"""Columns of many types with values, as a binlog holds them and as Debezium's exact records give them."""

from __future__ import annotations

import base64
import datetime
import json
import struct
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from hypothesis import strategies as st

from tests.support.binlog_writer import BLOB, ENUM, LONG, LONGLONG, SET, SHORT, STRING, TINY, VARCHAR, Column
from tests.unit.decode import json_writer
from tests.unit.decode.decimal_writer import write_decimal

_EPOCH: Final = datetime.datetime(1970, 1, 1)
_MEMBERS: Final = ("a", "b,c", "ü", "")
_FLAGS: Final = ("r", "w", "x")
_TIME_BIAS: Final = 0x800000000000
_DATETIME_BIAS: Final = 0x8000000000


class Kind(NamedTuple):
    """
    sql: how CREATE TABLE declares it.
    values: what a column may hold, as `read` gives it back.
    write: a value as bytes of a row image; of VARCHAR the text, which the writer measures.
    read: a value of a record.
    """

    sql: str
    column: Callable[[str], Column]
    values: st.SearchStrategy[Any]
    write: Callable[[Any], Any]
    read: Callable[[Any], Any] = lambda found: found


def _integer(sql: str, kind: int, bits: int, width: int, *, unsigned: bool = False) -> Kind:
    low, high = (0, 2**bits - 1) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return Kind(
        sql + " UNSIGNED" * unsigned,
        lambda name: Column(name, kind, unsigned=unsigned),
        st.integers(low, high),
        (lambda value: value) if kind != 9 else lambda value: (value % 2**24).to_bytes(width, "little"),
        lambda found: found % 2**64 if unsigned and bits == 64 else found,
    )


def _plain(kind: int, meta: bytes = b"", members: tuple[str, ...] = ()) -> Callable[[str], Column]:
    return lambda name: Column(name, kind, meta=meta, members=members)


def _raw(text: str) -> bytes:
    return base64.b64decode(text, validate=True)


def _datetime(value: datetime.datetime) -> bytes:
    months = value.year * 13 + value.month
    packed = ((months << 5 | value.day) << 17) | value.hour << 12 | value.minute << 6 | value.second
    return (packed + _DATETIME_BIAS).to_bytes(5, "big") + value.microsecond.to_bytes(3, "big")


def _time(micros: int) -> bytes:
    seconds, fraction = divmod(abs(micros), 1_000_000)
    packed = ((seconds // 3600) << 12 | (seconds // 60 % 60) << 6 | seconds % 60) << 24 | fraction
    return (_TIME_BIAS + (packed if micros >= 0 else -packed)).to_bytes(6, "big")


def _timestamp(value: datetime.datetime) -> bytes:
    micros = (value - _EPOCH) // datetime.timedelta(microseconds=1)
    seconds, fraction = divmod(micros, 1_000_000)
    return seconds.to_bytes(4, "big") + fraction.to_bytes(3, "big")


def _date(value: datetime.date) -> bytes:
    return (value.year << 9 | value.month << 5 | value.day).to_bytes(3, "little")


def _micros(value: int) -> datetime.datetime:
    return _EPOCH + datetime.timedelta(microseconds=value)


def _blob(data: bytes) -> bytes:
    return struct.pack("<H", len(data)) + data


_texts: Final = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=40)
_moments: Final = st.datetimes(datetime.datetime(1000, 1, 1), datetime.datetime(9999, 12, 31))
_documents: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | _texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_texts, inner, max_size=4),
    max_leaves=8,
)
_LONGEST_TIME: Final = 3_020_399_000_000

KINDS: Final[dict[str, Kind]] = {
    "tiny": _integer("TINYINT", TINY, 8, 1),
    "tiny_u": _integer("TINYINT", TINY, 8, 1, unsigned=True),
    "small": _integer("SMALLINT", SHORT, 16, 2),
    "medium": _integer("MEDIUMINT", 9, 24, 3),
    "medium_u": _integer("MEDIUMINT", 9, 24, 3, unsigned=True),
    "int": _integer("INT", LONG, 32, 4),
    "int_u": _integer("INT", LONG, 32, 4, unsigned=True),
    "big": _integer("BIGINT", LONGLONG, 64, 8),
    "big_u": _integer("BIGINT", LONGLONG, 64, 8, unsigned=True),
    "double": Kind(
        "DOUBLE", _plain(5, b"\x08"), st.floats(allow_nan=False, allow_infinity=False), lambda v: struct.pack("<d", v)
    ),
    "decimal": Kind(
        "DECIMAL(20,5)",
        _plain(246, b"\x14\x05"),
        st.integers(-(10**20) + 1, 10**20 - 1),
        lambda value: write_decimal(value, 20, 5),
        lambda found: int.from_bytes(_raw(found), "big", signed=True),
    ),
    "varchar": Kind("VARCHAR(60)", lambda name: Column(name, VARCHAR, length=240), _texts, lambda value: value),
    "text": Kind("TEXT", _plain(BLOB, b"\x02"), _texts, lambda value: _blob(value.encode())),
    "date": Kind(
        "DATE",
        _plain(10),
        st.dates(datetime.date(1000, 1, 1)),
        _date,
        lambda days: _EPOCH.date() + datetime.timedelta(days=days),
    ),
    "time": Kind("TIME(6)", _plain(19, b"\x06"), st.integers(-_LONGEST_TIME, _LONGEST_TIME), _time),
    "datetime": Kind("DATETIME(6)", _plain(18, b"\x06"), _moments, _datetime, _micros),
    "timestamp": Kind(
        "TIMESTAMP(6) NULL",
        _plain(17, b"\x06"),
        st.datetimes(datetime.datetime(1970, 1, 1, 0, 0, 1), datetime.datetime(2038, 1, 19, 3, 14, 7)),
        _timestamp,
        lambda text: datetime.datetime.fromisoformat(text).replace(tzinfo=None),
    ),
    "year": Kind(
        "YEAR",
        lambda name: Column(name, 13, unsigned=True),  # as the servers say
        st.integers(1901, 2155),
        lambda value: bytes([value - 1900]),
    ),
    "bit": Kind(
        "BIT(12)",
        _plain(16, b"\x04\x01"),
        st.integers(0, 4095),
        lambda value: value.to_bytes(2, "big"),
        lambda found: int.from_bytes(_raw(found), "little"),
    ),
    "enum": Kind(
        "ENUM('a','b,c','ü','')",
        _plain(STRING, bytes([ENUM, 1]), _MEMBERS),
        st.sampled_from(_MEMBERS),
        lambda value: bytes([_MEMBERS.index(value) + 1]),
    ),
    "set": Kind(
        "SET('r','w','x')",
        _plain(STRING, bytes([SET, 1]), _FLAGS),
        st.frozensets(st.sampled_from(_FLAGS)),
        lambda value: bytes([sum(1 << _FLAGS.index(each) for each in value)]),
        lambda text: frozenset(filter(None, text.split(","))),
    ),
    "json": Kind(
        "JSON",
        _plain(245, b"\x04"),
        _documents,
        lambda value: (lambda body: struct.pack("<I", len(body)) + body)(json_writer.write(value)),
        json.loads,
    ),
}
