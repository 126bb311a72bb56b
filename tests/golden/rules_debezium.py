"""Every way in which our Debezium records differ from Debezium's, and why; and every captured variation.
docs/formats.md says the same to users."""

from __future__ import annotations

import re

from tests.golden.compare import Record, Rule, System
from tests.golden.debezium_differences import (
    as_long,
    as_single,
    bytes_of_text,
    c1_controls,
    columns,
    exact,
    four_decimals,
    only_ours,
    only_theirs,
    same_document,
    same_single,
    six_digits,
    zeros_cut,
)
from tests.golden.debezium_runs import VARIATIONS

__all__ = ["RULES", "SYSTEM", "VARIATIONS", "masked"]

_CHANGING = re.compile(
    r'"((?:__source_)?ts_ms|ts_us|ts_ns|pos|thread|server_id)":\d+'
    r'|"file":"binlog\.\d+"'
    r'|"(gtid|id)":"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+"'
)
"""What differs in every run. In the envelope alone: no table of the scripts has a column of such a name and value."""
_COLLECTION = re.compile(r"\{[^}]*\}")


def masked(text: str) -> str:
    """A key or a value, and its schemas, without what differs in every run. The images are not touched."""
    at = max(text.find(',"source":{"version"'), 0)
    return text[:at] + _CHANGING.sub(lambda match: match[0].partition(":")[0] + ":0", text[at:])


def _show(data: bytes) -> str:
    text = masked(data.decode())
    if text.startswith('{"status":"END"'):  # the collections stand in no order
        head, _, rest = text.partition('"data_collections":')
        collections, _, tail = rest.partition("]")
        parts = sorted(_COLLECTION.findall(collections))
        text = f'{head}"data_collections":[{",".join(parts)}]{tail}'
    return text


def _subject(record: Record) -> str:
    """`database.table`, as the topic spells it; "ddl" for schema changes."""
    return record.topic.partition(".")[2] or "ddl"


def _header(name: str, value: str) -> str:
    return "" if name == "__debezium.context.runId" else value


RULES = (
    Rule(
        "null-default",
        "NULL in a column with a DEFAULT",
        "The DEFAULT is written in place of NULL; `replace_null_with_default: false`: null.",
        "default",
        columns("zoo.t_default", "i"),
        exact({"7": "null"}),
    ),
    Rule(
        "two-digit-years",
        "years 1 to 99 in DATE and DATETIME",
        "They are moved to 2001-2069 and 1970-1999; `enable_time_adjuster: false`: as they are.",
        "default",
        columns("zoo.t_date", "d"),
        exact({"11323": "-719162"}),
    ),
    Rule(
        "bigint-long",
        "BIGINT UNSIGNED above 2^63-1",
        "Negative, as a Java long is; `bigint_unsigned_handling_mode: precise`: Base64 of the value.",
        "default",
        frozenset({"*.biu", "*.biz", "zoo.k_bigu.k", "zoo.t_default.bi", "zoo.d*.changed_c", "zoo.t_gipk.my_row_id"}),
        as_long,
    ),
    Rule(
        "truncate-lost",
        "TRUNCATE",
        "Not written; `skipped_operations: []`: `op: t`.",
        "default",
        frozenset({"zoo.dml2", "zoo.d_like", "zoo.d_again"}),
        only_ours('"op":"t"'),
        records=True,
    ),
    Rule(
        "context",
        "headers `__debezium.context.*`",
        "On every record; `extended_headers_enabled: false`: not.",
        "default",
        frozenset({"*.headers"}),
        lambda theirs, ours: "__debezium.context" in theirs and theirs.startswith(ours),
    ),
    Rule(
        "real",
        "REAL",
        "REAL is a DOUBLE in MySQL; Debezium squeezes it into 32 bits, up to Infinity.",
        "fault",
        columns("zoo.t_float", "r"),
        as_single,
    ),
    Rule(
        "real-schema",
        "REAL",
        "So the schema says double.",
        "fault",
        columns("zoo.t_float", "type"),
        exact({'"float"': '"double"'}),
    ),
    Rule(
        "float-digits",
        "FLOAT(M,D)",
        "FLOAT(M,D) is written with the shortest digits of its 32-bit number (1234.567), as FLOAT is; Debezium widens "
        "it to 64 bits (1234.5670166015625).",
        "fault",
        columns("zoo.t_float", "f73"),
        same_single,
    ),
    Rule(
        "java-digits",
        "FLOAT, VECTOR digits",
        "The digits are those of Java 19 and later, the fewest that read back as the same number; Java 17, under which "
        "Debezium wrote these, now and then prints one more.",
        "fault",
        columns("zoo.t_float", "f fu") | columns("zoov.vec", "v vd"),
        same_single,
    ),
    Rule(
        "time-24",
        "TIME 24:00:00 (`isostring`)",
        "24:00:00 is the end of a day; Debezium writes 00:00:00.",
        "fault",
        columns("zoo.t_time", "t"),
        exact({'"00:00:00Z"': '"24:00:00Z"'}),
    ),
    Rule(
        "time-stops",
        "TIME beyond a day, NOT NULL (`connect`, `isostring`)",
        "Debezium stops there; here such a TIME is written all the same.",
        "fault",
        frozenset({"zoo.k_temporal", "ddl"}),
        only_ours('"t":-45296780', '"t":"-12:34:56.78Z"', '"table":"k_temporal"'),
        records=True,
    ),
    Rule(
        "header-dates",
        "dates in the headers of key updates (`connect`)",
        "The headers are JSON, as the keys are; Debezium's are not where the key has a DATE or a TIME.",
        "fault",
        frozenset({"zoo.k_composite.headers"}),
        lambda theirs, ours: theirs.replace("2024-01-01", "19723") == ours,
    ),
    Rule(
        "key-moves",
        "updates of the key (`provide_transaction_metadata`)",
        "A row whose key changes is one event of its transaction; Debezium counts its delete and its insert.",
        "ours",
        frozenset({"transaction.event_count", "zoo.*.total_order", "zoo.*.data_collection_order"}),
        lambda theirs, ours: 0 < int(theirs) - int(ours) <= 2,
    ),
    Rule(
        "xa-rollback",
        "XA transactions",
        "Rows come when the transaction is committed, and never when it is rolled back; Debezium writes them at XA "
        "PREPARE and never takes them back.",
        "fault",
        frozenset({"zoo.xa_t"}),
        only_theirs('"v":"rolled back"'),
        records=True,
    ),
    Rule(
        "xa-thread",
        "source.thread, transaction of rows in XA transactions",
        "The session's number and the row's in its transaction, as in all others; Debezium writes null.",
        "fault",
        frozenset({"zoo.xa_t.thread", "zooc.c2.thread", "zoo.xa_t.transaction"}),
        lambda theirs, ours: theirs == "null" and ours != "null",
    ),
    Rule(
        "row-images",
        "row images MINIMAL and NOBLOB (`row_image: accept_partial`)",
        "Debezium stops at the first row that lacks a column; here its values are the placeholder.",
        "fault",
        frozenset({"zoom.*"}),
        only_ours(""),
        records=True,
    ),
    Rule(
        "partial-json",
        "partial JSON updates (`PARTIAL_JSON`)",
        "Debezium loses every update of such a session on a table with a JSON column.",
        "fault",
        frozenset({"zoopj.*"}),
        only_ours(""),
        records=True,
    ),
    Rule(
        "binary-text",
        "VARCHAR CHARACTER SET binary",
        "VARCHAR CHARACTER SET binary is VARBINARY to the server, which refuses no byte there: Base64. Debezium takes "
        "it for UTF-8 text.",
        "fault",
        columns("zoo.t_charset", "binc"),
        bytes_of_text,
    ),
    Rule(
        "binary-schema",
        "VARCHAR CHARACTER SET binary",
        "So the schema says bytes.",
        "fault",
        columns("zoo.t_charset", "type"),
        exact({'"string"': '"bytes"'}),
    ),
    Rule(
        "default-texts",
        "DEFAULT with a quote, of BINARY(n), of BIGINT UNSIGNED above 2^63-1",
        "A DEFAULT is the value that the server would store; Debezium keeps quotes doubled, leaves BINARY(n) without "
        "its zeros, and stops at 2^63-1.",
        "fault",
        columns("zoo.t_default", "default"),
        exact({"\"déf''ault\"": '"déf\'ault"', '"YWI="': '"YWIA"', "9223372036854775807": "-1"}),
    ),
    Rule(
        "ddl-start",
        "schema change of the start",
        "Debezium begins with a statement of its own, SET character_set_server.",
        "ours",
        frozenset({"ddl"}),
        only_theirs('"ddl":"SET character_set_server='),
        records=True,
    ),
    Rule(
        "ddl-row",
        "source.row of schema changes",
        "A statement is no row: 0; Debezium leaves the number of the row before it.",
        "fault",
        frozenset({"ddl.row"}),
        lambda theirs, ours: int(theirs) > 0 and ours == "0",
    ),
    Rule(
        "ddl-tables",
        "source.table of schema changes of several tables",
        "The tables in the order of the statement; Debezium's come in no order.",
        "ours",
        frozenset({"ddl.table"}),
        lambda theirs, ours: sorted(theirs[1:-1].split(",")) == sorted(ours[1:-1].split(",")),
    ),
    Rule(
        "ddl-twice",
        "tableChanges of a table that is renamed twice in a statement",
        "Each step has its table; Debezium's first one is empty.",
        "fault",
        frozenset({"ddl.tableChanges"}),
        lambda theirs, ours: theirs == "[]" and "swap_tmp" in ours,
    ),
    Rule(
        "ddl-comment",
        "ddl that ends in a comment",
        "The statement is whole; Debezium cuts ` */` off its end.",
        "fault",
        frozenset({"ddl.ddl"}),
        lambda theirs, ours: theirs[:-1] + ' */"' == ours,
    ),
    Rule(
        "ddl-char-0",
        "length of CHAR(0) in tableChanges",
        "0; Debezium writes 10.",
        "fault",
        frozenset({"ddl.length"}),
        exact({"10": "0"}),
    ),
    Rule(
        "snapshot-json",
        "JSON in rows of a snapshot",
        "The text that its streamed rows have; Debezium writes the server's, with blanks and exponents.",
        "fault",
        columns("zoo.t_json", "j") | columns("zoo.t_default_expr", "j"),
        same_document,
        snapshots=True,
    ),
    Rule(
        "snapshot-floats",
        "FLOAT in rows of a snapshot",
        "The number that is stored; Debezium has the six digits that the server prints.",
        "fault",
        columns("zoo.t_float", "f fu f24"),
        six_digits,
        snapshots=True,
    ),
    Rule(
        "snapshot-doubles",
        "DOUBLE(M,D) in rows of a snapshot",
        "The number that is stored; Debezium has it rounded to D digits, as the server prints it.",
        "fault",
        columns("zoo.t_float", "d104"),
        four_decimals,
        snapshots=True,
    ),
    Rule(
        "snapshot-fractions",
        "TIMESTAMP with digits in rows of a snapshot",
        "The column's digits, as in its streamed rows; Debezium leaves zeros at the end out.",
        "fault",
        columns("zoo.t_tz", "ts6"),
        zeros_cut,
        snapshots=True,
    ),
    Rule(
        "snapshot-year-0",
        "DATE of the year 0 in rows of a snapshot",
        "A date that is none, as in the stream; Debezium moves it to the year 2000.",
        "fault",
        columns("zoo.t_date", "d"),
        exact({"11083": "null"}),
        snapshots=True,
    ),
    Rule(
        "snapshot-escapes",
        "DEFAULT with a backslash in schema changes of a snapshot",
        "The text that the server has; Debezium repeats the spelling of SHOW CREATE TABLE.",
        "fault",
        frozenset({"ddl.defaultValueExpression"}),
        exact({'"ab\\\\0"': '"ab\\u0000"'}),
        snapshots=True,
    ),
    Rule(
        "latin1-controls",
        "latin1 bytes 81, 8D, 8F, 90, 9D",
        "The bytes 81, 8D, 8F, 90 and 9D of latin1 are the C1 controls, as the server converts them; Debezium writes "
        "U+FFFD.",
        "fault",
        columns("zoo.t_charset", "l1 l1c"),
        c1_controls,
    ),
    Rule(
        "rare-charsets",
        "swe7, hp8, koi8u, keybcs2, geostd8, armscii8",
        "swe7, hp8, koi8u, keybcs2, geostd8 and armscii8 as the server converts them; Debezium reads other code pages.",
        "fault",
        columns("zoo.t_charset_rare", "swe7 hp8 koi8u keybcs2 geostd8 armscii8"),
        exact(
            {'"}{|"': '"åäö"', '"Å·"': '"éñ"', '"╥жак"': '"Їжак"', '"çę"': '"čř"', '"À"': '"ა"', '"²"': '"Ա"'},
        ),
    ),
    Rule(
        "binary-length",
        "BINARY without length",
        "BINARY without a length is BINARY(1): a zero byte in it is kept. Debezium loses it.",
        "fault",
        columns("zoo.t_binary", "b1"),
        exact({'""': '"AA=="'}, {'""': '"00"'}),
    ),
    Rule(
        "enum-comma",
        "ENUM member with a comma",
        "An ENUM member with a comma is its text; Debezium puts a backslash in front of the comma.",
        "fault",
        columns("zoo.t_enum", "e"),
        exact({'"with\\\\,comma"': '"with,comma"'}),
    ),
    Rule(
        "year-zero",
        "YEAR 0000",
        "YEAR 0000 is 0; Debezium writes 1900, in snapshots 2000.",
        "fault",
        columns("zoo.t_date", "y y4"),
        exact({"1900": "0"}, {"2000": "0"}),
    ),
    Rule(
        "json-times",
        "negative time in JSON",
        "Negative times in JSON as the server prints them; Debezium garbles them.",
        "fault",
        columns("zoo.t_json", "j"),
        exact({'"\\"13:0-35:0-57.00000-1\\""': '"\\"-12:34:56.000001\\""'}),
    ),
    Rule(
        "json-opaque",
        "binary value in JSON",
        "Binary values in JSON keep the type in front that the server prints; Debezium writes bare Base64.",
        "fault",
        columns("zoo.t_json", "j"),
        lambda theirs, ours: "base64:type" in ours and ours.replace("base64:type15:", "") == theirs,
    ),
)

SYSTEM = System("debezium", _show, _subject, RULES, _header)
