"""What records of each format say of rows, for the verification of topics."""

from __future__ import annotations

import json
from typing import Any

import pytest

from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.row_states import Format, Truncated, reader, tombstone
from replicator.errors import DecodeError


def read(form: Format, value: Any) -> list[Any]:
    """Each change as (database, table, before, after)."""
    found = reader(form)(json.dumps(value).encode())
    return [
        each if isinstance(each, Truncated) else (each.database, each.table, _plain(each.before), _plain(each.after))
        for each in found
    ]


def _plain(row: Any) -> Any:
    return None if row is None else {name: json.loads(bytes(raw)) for name, raw in row.items()}


def envelope(op: str, before: Any = None, after: Any = None, **more: Any) -> dict[str, Any]:
    return {"before": before, "after": after, "source": {"db": "d", "table": "t", "ts_ms": 1}, "op": op, **more}


def test_debezium() -> None:
    old, new = {"id": 1, "v": 1}, {"id": 1, "v": 2}
    assert read("debezium", envelope("c", after=new)) == [("d", "t", None, new)]
    assert read("debezium", envelope("r", after=new)) == [("d", "t", None, new)]
    assert read("debezium", envelope("u", old, new)) == [("d", "t", old, new)]
    assert read("debezium", envelope("d", old)) == [("d", "t", old, None)]
    assert read("debezium", envelope("t")) == [Truncated("d", "t")]
    assert read("debezium", {"schema": {}, "payload": envelope("t")}) == [Truncated("d", "t")]
    assert read("debezium", {"schema": {}, "payload": envelope("d", old)}) == [("d", "t", old, None)]
    assert read("debezium", {"ts_ms": 5}) == []


def test_maxwell() -> None:
    row = {"database": "d", "table": "t", "ts": 1, "data": {"id": 2, "v": 1}}
    assert read("maxwell", {**row, "type": "bootstrap-insert"}) == [("d", "t", None, {"id": 2, "v": 1})]
    moved = {**row, "type": "update", "old": {"id": 1}}
    assert read("maxwell", moved) == [("d", "t", {"id": 1, "v": 1}, {"id": 2, "v": 1})]
    assert read("maxwell", {**row, "type": "delete"}) == [("d", "t", {"id": 2, "v": 1}, None)]
    assert read("maxwell", {"type": "table-truncate", "database": "d"}) == []


def test_canal() -> None:
    """A record has the rows of one event."""
    message = {"database": "d", "table": "t", "es": 1, "isDdl": False, "data": [{"id": "1"}, {"id": "2"}], "old": None}
    assert read("canal", {**message, "type": "INSERT"}) == [
        ("d", "t", None, {"id": "1"}), ("d", "t", None, {"id": "2"})
    ]  # fmt: skip
    changed = {**message, "type": "UPDATE", "old": [{}, {"id": "3"}]}
    assert read("canal", changed) == [("d", "t", None, {"id": "1"}), ("d", "t", {"id": "3"}, {"id": "2"})]
    assert read("canal", {**message, "type": "DELETE"})[1] == ("d", "t", {"id": "2"}, None)
    ddl = {"database": "d", "table": "t", "isDdl": True, "data": None}
    assert read("canal", {**ddl, "type": "TRUNCATE"}) == [Truncated("d", "t")]
    assert read("canal", {**ddl, "type": "ALTER"}) == read("canal", {"type": "XACOMMIT", "database": ""}) == []


@pytest.mark.parametrize("form", ["debezium", "maxwell", "canal"])
def test_other_records_are_refused(form: Format) -> None:
    for value in (b"[1]", b"no JSON", b'{"id":1}'):
        with pytest.raises(DecodeError) as raised:
            reader(form)(value)
        assert raised.value.code == "E2348"


def test_tombstones() -> None:
    (change,) = tombstone(b'{"id":1}', "d", "t")
    assert isinstance(change, RowChange) and change.after is None
    assert (_plain(change.before), change.table) == ({"id": 1}, "t")
    (wrapped,) = tombstone(b'{"schema":{},"payload":{"id":2}}', "d", "t")
    assert _plain(wrapped.before) == {"id": 2}
    assert tombstone(None, "d", "t") == tombstone(b"text", "d", "t") == ()
