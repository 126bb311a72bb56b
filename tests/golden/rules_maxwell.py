"""Every way in which our Maxwell records differ from Maxwell's, and why; and every captured variation.
docs/formats.md says the same to users."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from tests.golden.compare import Record, Rule, System, Variation
from tests.golden.maxwell_differences import (
    c1_controls,
    columns,
    enum_error,
    exact,
    gap,
    in_other_order,
    long_bits,
    long_time,
    lost,
    rolled_over,
    same_single,
    string,
    unique_key,
    zero_part,
    zeros_cut,
)

_UUID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
_CHANGING = re.compile(
    r'"(xid|server_id|thread_id|schema_id)":\d+'
    r'|"ts":(?!17000)\d+'
    r'|"(position)":"binlog\.\d+:\d+"'
    r'|"(gtid)":"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}:\d+"'
    r'|"(_uuid)":"' + _UUID.pattern + '"'
)


def show(data: bytes) -> str:
    """A key or a value without what differs in every run. The images are not touched."""
    text = data.decode()
    if _UUID.fullmatch(text):
        return '"uuid"'
    envelope, mark, rest = text.partition(',"data":{')
    if '"def":' in envelope and not mark:
        envelope = _same_order(envelope)
    return _CHANGING.sub(lambda match: match[0].partition(":")[0] + ":0", envelope) + mark + rest


def _same_order(text: str) -> str:
    """`columns` before `primary-key` in definitions: with Maxwell it is the one or the other for a whole run."""
    statement = json.loads(text)
    for name in ("old", "def"):
        if statement.get(name):
            statement[name]["primary-key"] = statement[name].pop("primary-key")
    return json.dumps(statement, ensure_ascii=False, separators=(",", ":"))


def subject(record: Record) -> str:
    message = json.loads(record.value or b"")
    return f"{message['database']}.{message.get('table', '')}"


RULES = (
    Rule(
        "times",
        "TIME below 0 or from 24:00:00",
        "TIME goes from -838:59:59 to 838:59:59. Maxwell takes it for a time of day: modulo 24 hours, negative ones "
        "garbled.",
        "fault",
        columns("zoo.t_time", "t*") | columns("zoo.t_default", "t") | columns("zoo.k_temporal", "t pk.t"),
        long_time,
    ),
    Rule(
        "bits",
        "BIT(32) to BIT(63)",
        "BIT is an unsigned number. Maxwell puts the bytes of 32 to 63 bits together wrongly.",
        "fault",
        columns("zoo.t_bit", "b*"),
        long_bits,
    ),
    Rule(
        "binary-zeros",
        "BINARY with zero bytes at its end",
        "BINARY(n) has n bytes. The binlog leaves zeros at the end out, and Maxwell does not add them again, in keys "
        "neither.",
        "fault",
        columns("zoo.t_binary", "b*") | columns("zoo.t_default", "bn") | columns("zoo.k_binary", "*"),
        zeros_cut,
    ),
    Rule(
        "zero-parts",
        "dates with a zero year, month or day",
        "2024-05-00 is a value of its own in MySQL. Maxwell writes 0000-00-00.",
        "fault",
        columns("zoo.t_date", "d") | columns("zoo.t_datetime", "dt*"),
        zero_part,
    ),
    Rule(
        "gregorian-gap",
        "1582-10-05 to 1582-10-14",
        "MySQL's calendar has these days. Maxwell, whose calendar has not, adds ten days.",
        "fault",
        columns("zoo.t_date", "d"),
        gap,
    ),
    Rule(
        "invalid-dates",
        "dates that no calendar has",
        "2023-02-30, stored under ALLOW_INVALID_DATES, is written as it is. Maxwell counts on into March.",
        "fault",
        columns("zoo.t_invalid_date", "d dt"),
        rolled_over,
    ),
    Rule(
        "year-zero",
        "YEAR 0000",
        "YEAR 0000 is 0; Maxwell writes 1900.",
        "fault",
        columns("zoo.t_date", "y y4"),
        exact({"1900": "0"}),
    ),
    Rule(
        "java-digits",
        "FLOAT digits",
        "The fewest digits that read back as the same number, as Java 19 and later print them; Java 17, under which "
        "Maxwell wrote these, now and then prints one more.",
        "fault",
        columns("zoo.t_float", "f fu"),
        same_single,
    ),
    Rule(
        "latin1-controls",
        "latin1 bytes 81, 8D, 8F, 90, 9D",
        "The bytes 81, 8D, 8F, 90 and 9D of latin1 are the C1 controls, as the server converts them; Maxwell writes "
        "U+FFFD.",
        "fault",
        columns("zoo.t_charset", "l1 l1c"),
        c1_controls,
    ),
    Rule(
        "enum-quote",
        "ENUM member with a quote",
        "An ENUM member with a quote is its text; Maxwell writes the quote twice, as it stands in the DDL.",
        "fault",
        columns("zoo.t_enum", "e enum-values"),
        exact({"\"quo''te\"": '"quo\'te"'}),
    ),
    Rule(
        "enum-error",
        "ENUM error value with `output_nulls: false`",
        "The error value of an ENUM is null, as Maxwell's is; `output_nulls: false` leaves out what is NULL in SQL "
        "alone.",
        "ours",
        columns("zoo.t_enum", "data"),
        enum_error,
    ),
    Rule(
        "json-times",
        "negative time in JSON",
        "Negative times in JSON as the server prints them; Maxwell garbles them.",
        "fault",
        columns("zoo.t_json", "j"),
        exact({'"13:0-35:0-57.00000-1"': '"-12:34:56.000001"'}),
    ),
    Rule(
        "json-opaque",
        "binary value in JSON",
        "Binary values in JSON keep the type in front that the server prints; Maxwell writes bare Base64.",
        "fault",
        columns("zoo.t_json", "j bin bit"),
        lambda theirs, ours: string(ours) == f"base64:type15:{string(theirs)}",
    ),
    Rule(
        "unique-key",
        "key of a table with a UNIQUE key and no primary key",
        "Where there is no primary key, the binlog names the first UNIQUE key of NOT NULL columns in its place: rows "
        "are keyed by it, and stay in order. Maxwell's keys are random there.",
        "ours",
        frozenset({"zoo.k_unique.*"}),
        unique_key,
    ),
    Rule(
        "ddl-zerofill",
        "`signed` of a ZEROFILL column",
        "ZEROFILL columns are UNSIGNED, whether that is written or not. Maxwell's definitions say what is written.",
        "fault",
        columns("zoo.t_int", "signed"),
        exact({"true": "false"}),
    ),
    Rule(
        "ddl-convert",
        "`charset` of a table behind CONVERT TO",
        "CONVERT TO CHARACTER SET changes the table's default, too. Maxwell's definition keeps the old one.",
        "fault",
        frozenset({"zoo.d_again.charset", "zoo_two.cross_db.charset"}),
        exact({'"utf8mb4"': '"utf8mb3"'}),
    ),
    Rule(
        "ddl-drop",
        "DROP TABLE IF EXISTS of a table that is not there",
        "There is a record of it: no record depends on whether a table is known. Maxwell has none.",
        "ours",
        frozenset({"zoo.never_was"}),
        lost,
        records=True,
    ),
    Rule(
        "ddl-offset",
        "`xoffset` behind CREATE TABLE ... SELECT",
        "The record of the CREATE TABLE is in the transaction of the rows, and counts. Maxwell begins behind it.",
        "ours",
        columns("zoo.ctas", "xoffset"),
        lambda theirs, ours: int(ours) == int(theirs) + 1,
    ),
    Rule(
        "partial-images",
        "order of `data` with row images MINIMAL and NOBLOB",
        "Columns that only the image before has stand in their place in `data`; Maxwell writes them behind the others.",
        "ours",
        columns("zoom.*", "data"),
        in_other_order,
    ),
    Rule(
        "compressed",
        "compressed transactions",
        "Compressed transactions are read. Maxwell 1.44 loses them.",
        "fault",
        frozenset({"zooc.*"}),
        lost,
        records=True,
    ),
    Rule(
        "partial-json",
        "partial JSON updates",
        "Partial JSON updates are made whole. Maxwell loses them.",
        "fault",
        frozenset({"zoopj.pj"}),
        lost,
        records=True,
    ),
    Rule(
        "not-flushed",
        "vectors",
        "Maxwell exits at a VECTOR column, and what it had read before is lost.",
        "fault",
        frozenset({"zoov.*"}),
        lost,
        records=True,
    ),
)
SYSTEM = System("maxwell", show, subject, RULES)

_EXITS = frozenset({"syntax_dec", "check_not_enforced", "charset_rare", "xa", "name_backtick"})
_LATER = ("!zoo.k_temporal", "!zoo.t_unicode_column", "!zoo.t_invalid_date", "!zoo.t_name_auto")
"""What comes behind the table at which Maxwell exits with `output_primary_keys`, of names like those before it."""
_SCRIPTS = ("compressed", "minimal", "partial_json", "vector")


def _full(task: str) -> dict[str, Any]:
    names = ("ddl", "binlog_position", "gtid_position", "primary_key_columns", "xoffset", "row_query")
    return {"ddl_kafka_topic": f"{task}_ddl", **{f"output_{name}": True for name in names}}


def _all(record: Record) -> bool:
    return True


def _rows(record: Record) -> bool:
    return b'"data":{' in (record.value or b"")


def _zoo(name: str, *tables: str, only: Callable[[Record], bool] = _all, **options: Any) -> Variation:
    sink = {"format": "maxwell", "maxwell": options}
    task = f"golden_mw_{'zf' if name == 'full_nopk' else 'z'}_{name}"
    return Variation(name, task, f"{name}.jsonl.xz", "zoo.sql", sink, tables or ("*.*",), _EXITS, only=only)


def _other(script: str, name: str, **options: Any) -> Variation:
    return Variation(
        f"{script}.{name}",
        f"golden_mw_x_{script}_{name}",
        f"{script}.{name}.jsonl.xz",
        f"{script}.sql",
        {"format": "maxwell", "maxwell": options},
        source={"row_image": "accept_partial"},
    )


VARIATIONS = (
    _zoo("default"),
    _zoo("commit_info_off", output_commit_info=False),
    _zoo("key_array", kafka_key_format="array"),
    _zoo("null_zerodates", output_null_zerodates=True),
    _zoo("nulls_off", output_nulls=False),
    _zoo("full_nopk", **_full("golden_mw_zf_full_nopk")),
    _zoo(
        "full",
        *("zoo.t_*", "zoo.k_*", "!zoo.k_enumset", *_LATER),
        only=_rows,
        output_primary_keys=True,
        **_full("golden_mw_z_full"),
    ),
    _zoo("full_ids", output_server_id=True, output_thread_id=True, output_schema_id=True, output_ddl=True),
    *(_other(script, "default") for script in _SCRIPTS),
    *(_other(script, "full", output_primary_keys=True, **_full(f"golden_mw_x_{script}_full")) for script in _SCRIPTS),
)
STATEMENT = _other("statement", "default")
EVERYTHING = Variation("everything", "maxwell_truth", "", "zoo.sql", {"format": "maxwell"})
