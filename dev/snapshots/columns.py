"""Kinds of columns of random tables: how SQL declares them, and values by number."""

from __future__ import annotations

import datetime
import json
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final, NamedTuple

_WORDS: Final = ("oak", "Elm", "ash ", "élan", "Straße", "", "zz'top", "a\\b", "naïve", "0")
_EPOCH: Final = datetime.datetime(1980, 1, 1)


class KeyColumn(NamedTuple):
    """A column of a key.

    Attributes:
        sql: type and collation.
        value: number -> value; different numbers give values that are different under the collation.
        other: value -> another text of the same key where the collation knows one, else the value.
        wider: a type with the same values in records, which ALTER may change `sql` to; "": none.
    """

    sql: str
    value: Callable[[int], Any]
    other: Callable[[Any], Any] = lambda value: value
    wider: str = ""


def _clock(milliseconds: int) -> str:
    seconds, rest = divmod(abs(milliseconds), 1000)
    sign = "-" if milliseconds < 0 else ""
    return f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{rest:03}"


def _text(number: int) -> str:
    return f"{_WORDS[number % len(_WORDS)]}{number}"


def _latin(number: int) -> str:
    return _text(number).encode("latin-1", "replace").decode("latin-1")


def _texts(length: int, charset: str, collation: str, *, sensitive: bool, kind: str = "VARCHAR") -> KeyColumn:
    value = _latin if charset == "latin1" else _text
    suffix = f"CHARACTER SET {charset} COLLATE {collation}"
    return KeyColumn(
        f"{kind}({length}) {suffix}",
        value,
        (lambda text: text) if sensitive else lambda text: text.lower() if text != text.lower() else text.upper(),
        f"VARCHAR({length + 20}) {suffix}" if kind == "VARCHAR" else "",
    )


def key_columns(*, mariadb: bool) -> list[KeyColumn]:
    return [
        KeyColumn("INT", lambda number: number * 7 - 20_000, wider="BIGINT"),
        KeyColumn("BIGINT UNSIGNED", lambda number: 2**64 - 1 - number * 13),
        KeyColumn("MEDIUMINT UNSIGNED", lambda number: 2**24 - 1 - number, wider="INT UNSIGNED"),
        _texts(40, "utf8mb4", "utf8mb4_general_ci" if mariadb else "utf8mb4_0900_ai_ci", sensitive=False),
        _texts(40, "utf8mb4", "utf8mb4_unicode_ci", sensitive=False),
        _texts(40, "utf8mb4", "utf8mb4_bin", sensitive=True),
        _texts(40, "latin1", "latin1_swedish_ci", sensitive=False),
        _texts(30, "utf8mb4", "utf8mb4_general_ci", sensitive=False, kind="CHAR"),
        KeyColumn("DECIMAL(18,5)", lambda number: Decimal(number) * Decimal("1.00007") - 500),
        KeyColumn("DATE", lambda number: str((_EPOCH + datetime.timedelta(days=number)).date())),
        KeyColumn("DATETIME(6)", lambda number: str(_EPOCH + datetime.timedelta(seconds=number * 37.000123))),
        KeyColumn("TIMESTAMP(3)", lambda number: str(_EPOCH + datetime.timedelta(seconds=number * 61.125))),
        KeyColumn("TIME(3)", lambda number: _clock(number * 500 - 3_000_000)),
        KeyColumn("BINARY(6)", lambda number: number.to_bytes(4, "little") + b"\0\0"),
        KeyColumn("VARBINARY(16)", lambda number: number.to_bytes(3, "big") + b"\0" * (number % 3)),
        KeyColumn("BIT(24)", lambda number: number),
    ]


class ValueColumn(NamedTuple):
    """A column beside the key. `wider`: what ALTER may make of its type."""

    sql: str
    value: Callable[[random.Random], Any]
    wider: str = ""


def value_columns(*, mariadb: bool) -> list[ValueColumn]:
    return [
        ValueColumn("INT UNSIGNED", lambda chance: chance.randrange(2**32), "BIGINT UNSIGNED"),
        ValueColumn("SMALLINT", lambda chance: chance.randrange(-(2**15), 2**15), "INT"),
        ValueColumn("VARCHAR(60)", lambda chance: _text(chance.randrange(10**6)), "VARCHAR(200)"),
        ValueColumn("VARCHAR(60) CHARACTER SET latin1", lambda chance: _latin(chance.randrange(10**6)), "TEXT"),
        ValueColumn("DECIMAL(12,4)", lambda chance: Decimal(chance.randrange(-(10**11), 10**11)) / 10**4),
        ValueColumn("DOUBLE", lambda chance: chance.uniform(-1e9, 1e9)),
        ValueColumn("FLOAT", lambda chance: chance.randrange(-(2**20), 2**20) / 8, "DOUBLE"),
        ValueColumn("DATETIME(6)", lambda chance: _EPOCH + datetime.timedelta(microseconds=chance.randrange(10**15))),
        ValueColumn("TIMESTAMP(3)", lambda chance: _EPOCH + datetime.timedelta(milliseconds=chance.randrange(10**12))),
        ValueColumn("TIME(2)", lambda chance: _clock(10 * chance.randrange(-(10**8), 10**8))),
        ValueColumn("DATE", lambda chance: (_EPOCH + datetime.timedelta(days=chance.randrange(10**4))).date()),
        ValueColumn("YEAR", lambda chance: chance.randrange(1901, 2155)),
        ValueColumn("BIT(12)", lambda chance: chance.randrange(2**12)),
        ValueColumn("ENUM('a','b','c')", lambda chance: chance.choice("abc"), "ENUM('a','b','c','d')"),
        ValueColumn("SET('r','w','x')", lambda chance: ",".join(flag for flag in "rwx" if chance.random() < 0.5)),
        ValueColumn("BINARY(5)", lambda chance: chance.randbytes(3), "BINARY(9)"),
        ValueColumn("BLOB", lambda chance: chance.randbytes(chance.randrange(30))),
        ValueColumn("TEXT", lambda chance: _text(chance.randrange(100)) * chance.choice((1, 1, 1, 300)), "MEDIUMTEXT"),
        ValueColumn("JSON", lambda chance: json.dumps({"n": chance.randrange(1000), "list": [None, True, "ü"]})),
    ]
