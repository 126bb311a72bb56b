"""The captured runs of Debezium: which options each had, and what of it is compared."""

from __future__ import annotations

import json
from fnmatch import fnmatchcase
from functools import partial
from typing import Any

from tests.golden.compare import Record, Variation

NOT_READ = frozenset({"invalid_date", "name_auto"})


def _zoo(
    name: str,
    options: dict[str, Any] | None = None,
    tables: tuple[str, ...] = ("*.*",),
    golden: str = "",
    session: tuple[str, ...] = (),
    *,
    switched: bool = False,
) -> Variation:
    golden = golden or name
    return Variation(
        name,
        f"golden_dbz_z_{golden}",
        f"{golden}.jsonl.xz",
        "zoo.sql",
        _sink(options or {}),
        tables,
        leave_out=NOT_READ,
        session=session,
        only=_row_alone if switched else partial(_compared, tables),
        switched=switched,
    )


def _other(script: str, leave_out: frozenset[str] = frozenset(), source: dict[str, Any] | None = None) -> Variation:
    return Variation(
        script,
        f"golden_dbz_x_{script}_default",
        f"{script}.default.jsonl.xz",
        f"{script}.sql",
        _sink({}),
        leave_out=leave_out,
        source=source or {},
        only=partial(_compared, ("*.*",)),
    )


def _sink(options: dict[str, Any]) -> dict[str, Any]:
    return {"format": "debezium", "debezium": options}


def _compared(tables: tuple[str, ...], record: Record) -> bool:
    value = record.value or b""
    if record.topic.endswith(".transaction"):  # we write nothing of those without rows; BEGINs look all the same
        return b'"END"' in value and b'"event_count":0' not in value and b"zoo.xa_t" not in value
    if "." not in record.topic:
        return _replicated(tables, json.loads(value))
    return True


def _row_alone(record: Record) -> bool:
    return "." in record.topic and _compared(("*.*",), record)


def _of_snapshot(record: Record) -> bool:
    """Not the row that was inserted behind it."""
    return b'"snapshot":"false"' not in (record.value or b"")


def _replicated(tables: tuple[str, ...], change: dict[str, Any]) -> bool:
    """Whether a schema change is about tables that we replicate: Debezium writes those of all tables. Where these are
    not all, statements about several are left out."""
    payload = change.get("payload", change)
    table = payload["source"]["table"] or ""
    if tables == ("*.*",):
        return True
    several = payload["ddl"].startswith(("DROP TABLE", "RENAME TABLE"))
    name = f"{payload['source']['db']}.{table}"
    return not several and any(fnmatchcase(name, pattern) for pattern in tables)


_COMPRESSED = "SET SESSION binlog_transaction_compression = ON"
_TEMPORAL = ("zoo.t_date", "zoo.t_time", "zoo.t_datetime", "zoo.t_timestamp", "zoo.t_tz", "zoo.t_default",
             "zoo.k_temporal", "zoo.k_composite")  # fmt: skip
_BYTES = ("zoo.t_binary", "zoo.k_binary", "zoo.t_default", "zoo.t_bit", "zoo.t_charset", "zoo.t_geom")
_NUMBERS = ("zoo.t_decimal", "zoo.k_decimal", "zoo.t_default", "zoo.t_dec", "zoo.dml")
_SOME = ("zoo.tx_a", "zoo.dml*", "zoo.k_*", "zoo.d_*", "zoo.part", "zoo.t_json", "zoo.xa_t", "zoo_two.*")
_TRANSACTIONS = ("zoo.tx_*", "zoo.dml", "zoo.xa_t", "zoo.k_composite", "zoo.eng_*", "zoo_two.*")
_SWITCHED = {
    "replace_null_with_default": False,
    "enable_time_adjuster": False,
    "bigint_unsigned_handling_mode": "precise",
    "skipped_operations": [],
    "extended_headers_enabled": False,
}
SNAPSHOT_TABLES = ("zoo.t_*", "!zoo.t_decimal", "zoo.k_*", "zoo.dml", "zoo.dml2", "zoo.part", "zoo.tx_a", "zoo.zoo_end")
"""All that Debezium captured there: it can't read t_decimal in a snapshot."""
_UNWRAP = {"delete_tombstone_handling_mode": "rewrite", "add_fields": ["op", "table", "source.ts_ms"]}

VARIATIONS = (
    _zoo("default"),
    _zoo("default, compressed", golden="default", session=(_COMPRESSED,)),
    _zoo("default, switched off", _SWITCHED, golden="default", switched=True),
    _zoo("decimal_string", {"decimal_handling_mode": "string"}, _NUMBERS),
    _zoo("decimal_double", {"decimal_handling_mode": "double"}, _NUMBERS),
    _zoo("time_connect", {"time_precision_mode": "connect"}, _TEMPORAL),
    _zoo("time_isostring", {"time_precision_mode": "isostring"}, _TEMPORAL),
    _zoo("time_microseconds", {"time_precision_mode": "microseconds"}, _TEMPORAL),
    _zoo("time_nanoseconds", {"time_precision_mode": "nanoseconds"}, _TEMPORAL),
    _zoo(
        "bigint_unsigned_precise",
        {"bigint_unsigned_handling_mode": "precise"},
        ("zoo.t_int", "zoo.k_bigu", "zoo.t_default"),
    ),
    _zoo("binary_base64", {"binary_handling_mode": "base64"}, _BYTES),
    _zoo("binary_base64_url", {"binary_handling_mode": "base64-url-safe"}, _BYTES),
    _zoo("binary_hex", {"binary_handling_mode": "hex"}, _BYTES),
    _zoo("include_query", {"include_query": True}, _SOME),
    _zoo("skipped_none", {"skipped_operations": []}, _SOME),
    _zoo("tombstones_off", {"tombstones_on_delete": False}, _SOME),
    _zoo("unwrap_smt", {"unwrap": _UNWRAP}, _SOME),
    _zoo("schema_changes_off", {"include_schema_changes": False}, _TRANSACTIONS),
    _zoo("tx_metadata", {"provide_transaction_metadata": True}, _TRANSACTIONS),
    _zoo("schemas_first_table", {"schemas_enable": True}, ("zoo.t_int",)),
    _zoo("schemas_types", {"schemas_enable": True}, ("zoo.t_*", "zoo.k_*")),
    Variation(
        "snapshot_initial",
        "golden_dbz_zs_snapshot_initial",
        "snapshot_initial.jsonl.xz",
        "zoo.sql",
        _sink({}),
        leave_out=NOT_READ,
        snapshot=SNAPSHOT_TABLES,
        only=_of_snapshot,
    ),
    _other("compressed"),
    _other("partial_json"),
    _other("vector"),
    _other("minimal", source={"row_image": "accept_partial"}),
)
