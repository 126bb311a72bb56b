"""Every way in which our Canal messages differ from Canal's, and why; and every captured variation.
docs/formats.md says the same to users."""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Callable
from decimal import Decimal

from tests.golden.compare import Record, Rule, System, Variation

_ENVELOPE = re.compile(r'"es":(\d+),"gtid":"([^"]*)","id":\d+,"isDdl":')
_TIME = re.compile(r'"ts":\d+,"type":("[A-Z]+")}$')


def show(data: bytes) -> str:
    """Without what differs in every run: `id`, `ts`, what is in `gtid`, and `es` where the script does not set it."""
    text = _TIME.sub(r'"ts":0,"type":\1}', data.decode())
    return _ENVELOPE.sub(_masked, text, count=1)


def _masked(match: re.Match[str]) -> str:
    es = match[1] if match[1].startswith("17000") else "now"
    return f'"es":"{es}","gtid":"{"set" if match[2] else ""}","id":0,"isDdl":'


def subject(record: Record) -> str:
    message = json.loads(record.value or b"")
    return f"{message['database']}.{message['table']}"


def _columns(table: str, names: str) -> frozenset[str]:
    return frozenset(f"{table}.{name}" for name in names.split())


def _exact(pairs: dict[str, str]) -> Callable[[str, str], bool]:
    return lambda theirs, ours: pairs.get(theirs) == ours


def _same_decimal(theirs: str, ours: str) -> bool:
    """The same number, ours with more zeros."""
    numbers = all(re.fullmatch(r'"-?\d+\.\d+"', text) for text in (theirs, ours))
    return numbers and Decimal(theirs[1:-1]) == Decimal(ours[1:-1]) and len(theirs) < len(ours)


def _same_single(theirs: str, ours: str) -> bool:
    one, other = float(json.loads(theirs)), float(json.loads(ours))
    return struct.pack("<f", one) == struct.pack("<f", other) and len(ours) <= len(theirs)


_WIDE = ("utf-16-be", "utf-16-le", "utf-32-be")
_READ_AS_UTF8 = {"}{|": "åäö", "\u0177": "éñ"}


def _garbled(theirs: str, ours: str) -> bool:
    """Theirs are the bytes of ours, taken for UTF-8."""
    one, other = json.loads(theirs), json.loads(ours)
    if "\ufffd" in one or _READ_AS_UTF8.get(one) == other:
        return one != other
    return one in [other.encode(codec).decode("utf-8", "replace") for codec in _WIDE]


def _zeros(theirs: str, ours: str) -> bool:
    one, other = json.loads(theirs), json.loads(ours)
    return one == other.rstrip("\0") and one != other


def _opaque(theirs: str, ours: str) -> bool:
    return "base64:type15:" in ours and "base64" not in theirs


def _sql_for_json(theirs: str, ours: str) -> bool:
    return theirs == '""' or theirs.startswith('"JSON_')


def _within(theirs: str, ours: str) -> bool:
    """Every member of theirs is in ours, values that are no SQL included."""
    one, other = json.loads(theirs) or {}, json.loads(ours)
    if isinstance(other, list):
        return set(one) <= set(other)
    return all(name in other and (other[name] == value or "JSON_" in str(value)) for name, value in one.items())


_UNDERSTOOD = {
    ('""', '"zoo"'),
    ('""', '"t_geom_srid"'),
    ('"QUERY"', '"CREATE"'),
    ('"int"', '"INT"'),
    ('"point"', '"POINT"'),
}

RULES = (
    Rule(
        "decimal-zeros",
        "DECIMAL",
        "All digits of the scale, as the server writes them; Canal drops those behind the last full group of nine when "
        "they are all zeros (`100.00` is `100.0`, `1.10` is not shortened).",
        "fault",
        _columns("zoo.t_decimal", "d10_2 d5u d30_30 d65_30 dz dnn") | {"zoo.dml.c", "zoo.t_default.d"},
        _same_decimal,
    ),
    Rule(
        "java-digits",
        "FLOAT digits",
        "The digits are those of Java 19 and later, the fewest that read back as the same number; Java 17, under which "
        "Canal wrote these, now and then prints one more.",
        "ours",
        _columns("zoo.t_float", "f fu"),
        _same_single,
    ),
    Rule(
        "charsets",
        "text in other character sets than UTF-8",
        "The text. Canal takes every byte for UTF-8.",
        "fault",
        frozenset(
            {"zoo.t_charset.*", "zoo.t_charset_rare.*", "zoo.t_latin1_default.*", "zoo.d.mid", "zoo_two.inherits.v"}
        ),
        _garbled,
    ),
    Rule(
        "binary-zeros",
        "BINARY(n)",
        "All n bytes. Canal loses zeros at the end.",
        "fault",
        _columns("zoo.t_binary", "b b1 b16") | {"zoo.t_default.bn", "zoo.k_binary.k"},
        _zeros,
    ),
    Rule(
        "json-date",
        "date in JSON",
        "A date, as the server prints it. Canal appends a time.",
        "fault",
        frozenset({"zoo.t_json.j"}),
        _exact(
            {
                '"\\"2024-01-02 00:00:00.000000\\""': '"\\"2024-01-02\\""',
                '"\\"0000-00-00 00:00:00\\""': '"\\"0000-00-00\\""',
            }
        ),
    ),
    Rule(
        "json-nul",
        "JSON string with \\u0000",
        "The whole string. Canal stops at the first NUL.",
        "fault",
        frozenset({"zoo.t_json.j"}),
        _exact({'"[\\"\\"]"': '"[\\"\\\\u0000\\\\u0001\\\\u0008\\\\u000c\\\\n\\\\r\\\\t\\\\\\"\\\\\\\\/\\"]"'}),
    ),
    Rule(
        "json-opaque",
        "binary value in JSON",
        "As the server prints it, with its type and Base64. Canal takes the bytes for text, up to the first NUL.",
        "fault",
        frozenset({"zoo.t_json.j"}),
        _opaque,
    ),
    Rule(
        "ddl-understood",
        "CREATE TABLE that Canal can't parse",
        "A CREATE record of the table, and types as declared. Canal writes QUERY without database and table for DDL "
        "that its parser refuses, and reads the types from SHOW CREATE TABLE; where that fails, too (INVISIBLE, NOT "
        "ENFORCED), it stops.",
        "fault",
        frozenset({"zoo.t_geom_srid.*"}),
        lambda theirs, ours: (theirs, ours) in _UNDERSTOOD,
    ),
    Rule(
        "float-53",
        "FLOAT(25) to FLOAT(53)",
        "`mysqlType` as declared; Canal makes `double(53)` of it.",
        "ours",
        frozenset({"zoo.t_float.f53"}),
        _exact({'"double(53)"': '"FLOAT(53)"'}),
    ),
    Rule(
        "database-name",
        "CREATE DATABASE, DROP DATABASE",
        "The name, as everywhere else. Canal leaves the backticks on.",
        "fault",
        frozenset({"*..database"}),
        lambda theirs, ours: json.loads(theirs) == f"`{json.loads(ours)}`",
    ),
    Rule(
        "unique-key",
        "tables without a primary key",
        "`pkNames` are the columns of the first UNIQUE key that are all NOT NULL, if there is one: the key that the "
        "binlog names. Canal has null.",
        "ours",
        frozenset({"zoo.k_unique.pkNames"}),
        _exact({"null": '["a"]', "[]": '["a"]'}),
    ),
    Rule(
        "add-check",
        "ALTER TABLE ADD CONSTRAINT CHECK",
        "An ALTER record like that of every ALTER TABLE. Canal writes none.",
        "fault",
        frozenset({"zoo.chk"}),
        lambda theirs, ours: not theirs and "ADD CONSTRAINT c2 CHECK" in ours,
        records=True,
    ),
    Rule(
        "xa-rollback",
        "XA",
        "Rows of an XA transaction come when it is committed, and never when it is rolled back. Canal writes them when "
        "it is prepared, and an XAROLLBACK record later.",
        "fault",
        frozenset({"zoo.xa_t"}),
        lambda theirs, ours: not ours and "rolled back" in theirs,
        records=True,
    ),
    Rule(
        "partial-json",
        "partial JSON updates (`PARTIAL_JSON`)",
        "The whole document, changed or not. Canal writes SQL text for one that changed, and an empty string for one "
        "that did not, which it counts as changed.",
        "fault",
        _columns("zoopj.pj", "j k"),
        _sql_for_json,
    ),
    Rule(
        "partial-json-old",
        "partial JSON updates (`PARTIAL_JSON`)",
        "The same in `old`.",
        "fault",
        frozenset({"zoopj.pj.old"}),
        lambda theirs, ours: theirs == "{}" or _within(ours, theirs),
    ),
    Rule(
        "partial-images",
        "row images MINIMAL and NOBLOB",
        "`data` of an update also has the columns that did not change, the key above all, as far as the binlog has "
        "them. Canal leaves the key out, and nobody can tell which row it was.",
        "fault",
        frozenset({"zoom.*.data", "zoom.*.pkNames", "zoopj.pj.data", "zoopj.pj.pkNames"}),
        _within,
    ),
    Rule(
        "partial-types",
        "row images MINIMAL and NOBLOB",
        "`mysqlType` and `sqlType` have every column of the table; Canal's those that are in the row.",
        "ours",
        frozenset({"zoom.*.mysqlType", "zoom.*.sqlType", "zoopj.pj.mysqlType", "zoopj.pj.sqlType"}),
        _within,
    ),
    Rule(
        "vector",
        "VECTOR",
        "JSON text of an array of numbers, `sqlType` 12. Canal stops at such a table.",
        "fault",
        frozenset({"zoov.*"}),
        lambda theirs, ours: not theirs,
        records=True,
    ),
)
PROTOBUF_RULES = (
    Rule(
        "session-database",
        "`ddlSchemaName` (protobuf)",
        "The name of the session's default database. Canal reads names that are not ASCII byte by byte there.",
        "fault",
        frozenset({"*.ddlSchemaName"}),
        lambda theirs, ours: json.loads(theirs) == json.loads(ours).encode().decode("latin-1"),
    ),
)
"""Of protobuf messages, besides `RULES`."""

SYSTEM = System("canal", show, subject, RULES)

_STUCK = frozenset({"invisible", "key_temporal", "name_unicode_column", "check_not_enforced", "name_backtick"})


def flat(name: str, script: str = "zoo", **options: bool) -> Variation:
    zoo = script == "zoo"
    return Variation(
        name if zoo else f"{script}.{name}",
        f"golden_canal_z_{name}" if zoo else f"golden_canal_x_{script}_{name}",
        f"{name if zoo else f'{script}.{name}'}.jsonl.xz",
        f"{script}.sql",
        {"format": "canal", "canal": options},
        leave_out=_STUCK if zoo else frozenset(),
        source={"row_image": "accept_partial"},
    )


VARIATIONS = tuple(
    variation
    for script in ("zoo", "compressed", "minimal", "partial_json", "vector")
    for variation in (flat("default", script), flat("gtid", script, gtidon=True))
)
STATEMENT = flat("default", "statement")
PROTOBUF = Variation(
    "protobuf",
    "golden_canal_zp_protobuf",
    "protobuf.jsonl.xz",
    "zoo.sql",
    {"format": "canal", "canal": {"flat_message": False}},
    leave_out=_STUCK,
)
EVERYTHING = Variation("everything", "canal_truth", "", "zoo.sql", {"format": "canal"})
