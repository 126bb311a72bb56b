"""Every way in which our Debezium records differ from Debezium's, and why. docs/formats.md is written from this."""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable

import msgspec


class Rule(msgspec.Struct, frozen=True):
    """A difference on purpose.

    Attributes:
        heading: its line in the table of docs/formats.md.
        columns: `table.column` of the zoo that show it.
        explains: (their text, our text) -> whether it is this difference and no other.
        ddl: it needs the column's declaration, which the binlog does not have.
    """

    name: str
    heading: str
    reason: str
    columns: frozenset[str]
    explains: Callable[[str, str], bool]
    ddl: bool = False


def _columns(table: str, names: str) -> frozenset[str]:
    return frozenset(f"{table}.{name}" for name in names.split())


def _single(text: str) -> bytes:
    return struct.pack("<f", float(text))


def _exact(pairs: dict[str, str]) -> Callable[[str, str], bool]:
    return lambda theirs, ours: pairs.get(theirs) == ours


def _bool(theirs: str, ours: str) -> bool:
    return theirs == ("false" if ours == "0" else "true") and ours.lstrip("-").isdigit()


def _as_single(theirs: str, ours: str) -> bool:
    value = float(ours)
    if abs(value) > 3.5e38:
        return theirs == '"Infinity"'
    return theirs != ours and _single(theirs) == _single(ours)


def _same_single(theirs: str, ours: str) -> bool:
    """The same 32-bit number, ours in no more digits."""
    return _single(theirs) == _single(ours) and len(ours) <= len(theirs)


def _same_singles(theirs: str, ours: str) -> bool:
    mine, yours = ours.strip("[]").split(","), theirs.strip("[]").split(",")
    return len(mine) == len(yours) and all(map(_same_single, yours, mine))


def _base64_of_text(theirs: str, ours: str) -> bool:
    return base64.b64decode(json.loads(ours)).decode() == json.loads(theirs)


def _c1_controls(theirs: str, ours: str) -> bool:
    mine = json.loads(ours)
    return json.loads(theirs) == "".join("\ufffd" if char in "\x81\x8d\x8f\x90\x9d" else char for char in mine)


RULES = (
    Rule(
        "bool",
        "BOOL, BOOLEAN",
        "BOOL and BOOLEAN are TINYINT(1) in the binlog, without the display width: a number, as Debezium writes "
        "columns that are declared TINYINT(1).",
        _columns("zoo.t_int", "b b2") | _columns("zoo.t_default", "b"),
        _bool,
        ddl=True,
    ),
    Rule(
        "null-default",
        "NULL in a column with a DEFAULT",
        "Debezium writes a column's DEFAULT in place of NULL. NULL is null here.",
        _columns("zoo.t_default", "i"),
        lambda theirs, ours: ours == "null",
        ddl=True,
    ),
    Rule(
        "real",
        "REAL",
        "REAL is a DOUBLE in MySQL; Debezium squeezes it into 32 bits, up to Infinity.",
        _columns("zoo.t_float", "r"),
        _as_single,
        ddl=True,
    ),
    Rule(
        "float-digits",
        "FLOAT(M,D)",
        "FLOAT(M,D) is written with the shortest digits of its 32-bit number (1234.567), as FLOAT is; Debezium widens "
        "it to 64 bits (1234.5670166015625).",
        _columns("zoo.t_float", "f73"),
        _same_single,
        ddl=True,
    ),
    Rule(
        "java-digits",
        "FLOAT, VECTOR digits",
        "The digits are those of Java 19 and later, the fewest that read back as the same number; Java 17, under which "
        "Debezium wrote these, now and then prints one more.",
        _columns("zoo.t_float", "f fu"),
        _same_single,
    ),
    Rule(
        "java-digits-vector",
        "FLOAT, VECTOR digits",
        "The same in a VECTOR.",
        _columns("zoov.vec", "v vd"),
        _same_singles,
    ),
    Rule(
        "binary-text",
        "VARCHAR CHARACTER SET binary",
        "VARCHAR CHARACTER SET binary is VARBINARY to the server, which refuses no byte there: Base64. Debezium takes "
        "it for UTF-8 text.",
        _columns("zoo.t_charset", "binc"),
        _base64_of_text,
        ddl=True,
    ),
    Rule(
        "latin1-controls",
        "latin1 bytes 81, 8D, 8F, 90, 9D",
        "The bytes 81, 8D, 8F, 90 and 9D of latin1 are the C1 controls, as the server converts them; Debezium writes "
        "U+FFFD.",
        _columns("zoo.t_charset", "l1 l1c"),
        _c1_controls,
    ),
    Rule(
        "rare-charsets",
        "swe7, hp8, koi8u, keybcs2, geostd8, armscii8",
        "swe7, hp8, koi8u, keybcs2, geostd8 and armscii8 as the server converts them; Debezium reads other code pages.",
        _columns("zoo.t_charset_rare", "swe7 hp8 koi8u keybcs2 geostd8 armscii8"),
        _exact(
            {'"}{|"': '"åäö"', '"Å·"': '"éñ"', '"╥жак"': '"Їжак"', '"çę"': '"čř"', '"À"': '"ა"', '"²"': '"Ա"'},
        ),
    ),
    Rule(
        "binary-length",
        "BINARY without length",
        "BINARY without a length is BINARY(1): a zero byte in it is kept. Debezium loses it.",
        _columns("zoo.t_binary", "b1"),
        _exact({'""': '"AA=="'}),
    ),
    Rule(
        "enum-comma",
        "ENUM member with a comma",
        "An ENUM member with a comma is its text; Debezium puts a backslash in front of the comma.",
        _columns("zoo.t_enum", "e"),
        _exact({'"with\\\\,comma"': '"with,comma"'}),
    ),
    Rule(
        "year-zero",
        "YEAR 0000",
        "YEAR 0000 is 0; Debezium writes 1900.",
        _columns("zoo.t_date", "y y4"),
        _exact({"1900": "0"}),
    ),
    Rule(
        "two-digit-years",
        "years 0001 to 0099 in DATE",
        "Years below 100 are what they are; Debezium moves them to 1970-2069.",
        _columns("zoo.t_date", "d"),
        _exact({"11323": "-719162"}),
    ),
    Rule(
        "zero-timestamp",
        "zero date or TIMESTAMP, NOT NULL, with a DEFAULT",
        "A zero date or TIMESTAMP in a NOT NULL column is the epoch; Debezium writes the DEFAULT, and the epoch "
        "where there is none.",
        _columns("zoo.t_timestamp", "tsnn"),
        _exact({'"2020-01-01T00:00:00Z"': '"1970-01-01T00:00:00Z"'}),
        ddl=True,
    ),
    Rule(
        "json-times",
        "negative time in JSON",
        "Negative times in JSON as the server prints them; Debezium garbles them.",
        _columns("zoo.t_json", "j"),
        _exact({'"\\"13:0-35:0-57.00000-1\\""': '"\\"-12:34:56.000001\\""'}),
    ),
    Rule(
        "json-opaque",
        "binary value in JSON",
        "Binary values in JSON keep the type in front that the server prints; Debezium writes bare Base64.",
        _columns("zoo.t_json", "j"),
        lambda theirs, ours: "base64:type" in ours and ours.replace("base64:type15:", "") == theirs,
    ),
)
