"""Rows of a snapshot of the zoo against the rows that its stream has left behind, in every format."""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from replicator.config.tables import TableFilter
from tests.golden.compare import HERE, Record, Report, Variation, load
from tests.golden.debezium_runs import NOT_READ, SNAPSHOT_TABLES
from tests.golden.recording import Recordings
from tests.golden.rules_debezium import SYSTEM, VARIATIONS
from tests.golden.snapshots import pipeline_records

Row = dict[str, Any]
_ALTERED = frozenset({"zoo.drop_recreate", "zoo.onl", "zoo.part", "zoo.t_tz", "zoo.tx_c_moved"})
"""Statements have changed their rows, or moved them."""
_BOOL = frozenset({"b", "b2"})
"""Columns of `zoo.t_int` that were declared BOOL: of them a server says TINYINT(1)."""


def changes(format_: str, records: Iterable[Record]) -> Iterator[tuple[str, Row | None, Row | None]]:
    """(table, row before, row after) of each change; of a row before what the format has of it."""
    for record in records:
        value = json.loads(record.value) if record.value else {}
        if format_ == "debezium" and "op" in value:
            yield f"{value['source']['db']}.{value['source']['table']}", value["before"], value["after"]
        elif format_ == "maxwell" and value.get("data"):
            gone = value["type"] == "delete"
            before = value["data"] | value.get("old", {}) if value["type"] in ("update", "delete") else None
            yield f"{value['database']}.{value['table']}", before, None if gone else value["data"]
        elif format_ == "canal" and value.get("data"):
            for number, row in enumerate(value["data"]):
                old = value["old"][number] if value["old"] else {}
                gone = value["type"] == "DELETE"
                before = row | old if value["type"] in ("UPDATE", "DELETE") else None
                yield f"{value['database']}.{value['table']}", before, None if gone else row


def tables(format_: str, records: Iterable[Record]) -> dict[str, list[Row]]:
    """What a consumer that applies the records holds."""
    found: dict[str, list[Row]] = {}
    for table, before, after in changes(format_, records):
        rows = found.setdefault(table, [])
        if before is not None and before in rows:
            rows.remove(before)
        if after is not None:
            rows.append(after)
    return found


@pytest.mark.parametrize("format_", ["debezium", "maxwell", "canal"])
def test_rows_have_the_values_of_the_stream(recordings: Recordings, format_: str) -> None:
    options = {"format": format_}
    stream = Variation("all", "t", "", "zoo.sql", options, leave_out=NOT_READ)
    whole = Variation("all, snapshot", "t", "", "zoo.sql", options, leave_out=NOT_READ, snapshot=("zoo*.*",))
    streamed = tables(format_, recordings.records(stream))
    selected = tables(format_, recordings.records(whole))
    assert len(selected) > 60 and {"zoo.d-b.t", "zoo.with.dot"} <= set(selected)
    for table in set(selected) - _ALTERED:
        theirs = [comparable(table, row) for row in streamed[table]]
        for row in selected[table]:
            theirs.remove(comparable(table, row))
        assert not theirs, table


def comparable(table: str, row: Row) -> Row:
    if table == "zoo.t_int":
        return {name: value for name, value in row.items() if name not in _BOOL}
    if table == "zoo.t_json":
        return row | {"j": document(row["j"])}
    return row


def document(value: Any) -> Any:
    """Without what the text of a document, which is all that can be selected, does not say: DECIMAL or DOUBLE, and the
    digits of times."""
    with contextlib.suppress(ValueError):
        value = json.loads(value) if isinstance(value, str) else value
    if isinstance(value, dict):
        return {name: document(each) for name, each in value.items()}
    if isinstance(value, list):
        return [document(each) for each in value]
    return re.sub(r"(:\d\d\.\d*?)0*$", r"\1", value).removesuffix(".") if isinstance(value, str) else value


def test_the_whole_pipeline_writes_the_snapshot_of_debezium(recordings: Recordings) -> None:
    """Markers, messages and their order are those of the real task. Its definitions are of its tables alone."""
    (variation,) = (each for each in VARIATIONS if each.snapshot)
    made = pipeline_records(recordings.after(variation), variation, [*SNAPSHOT_TABLES])

    chosen = TableFilter(SNAPSHOT_TABLES)

    def compared(record: Record) -> bool:
        source = json.loads(record.value or b"")["source"]
        if source["table"] is None:
            return source["db"] in ("", "zoo")
        return variation.only(record) and chosen.matches(source["db"], source["table"])

    theirs = filter(compared, load(HERE / "data" / "debezium" / variation.golden))
    report = Report(SYSTEM, snapshot=True).compare(theirs, made)
    assert not report.different, "\n".join(report.different[:20])
    assert report.equal > 200
    topics = [record.topic for record in made]
    assert topics == sorted(topics), "schema changes in front, then table after table"
