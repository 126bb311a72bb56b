"""The golden scripts on older and newer releases: each runs what it has of them, and a consumer of the records rebuilds
what the server then selects. By both decoders."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest

import replicator.assembly.pipeline
from dev.fetch.releases import OLDER
from dev.servers import Database
from replicator.decode.decoder import BinlogDecoder
from replicator.errors import DecodeError
from tests.golden.compare import HERE as GOLDEN
from tests.golden.compare import Record, load
from tests.golden.debezium_consumer import Consumer
from tests.golden.maxwell_consumer import same
from tests.golden.recording import everything
from tests.integration.test_releases import LOSSLESS, ZOO
from tests.servers import started
from tests.support.decoded import kinds
from tests.support.release_scripts import ABSENCES, SPELLINGS, Absence, Spelling
from tests.support.releases import Task, attempt, differences, server_of
from tests.support.script import statements

pytestmark = pytest.mark.servers

SCRIPTS = {"compressed": "zooc", "partial_json": "zoopj", "vector": "zoov"}
EVERY = (ZOO, *sorted(GOLDEN.glob("*.sql")))
COMPARED = {"compressed": 3, "partial_json": 3, "vector": 2}
"""How many rows are compared."""
COMPRESSED = {166, 167, 168}
"""MariaDB's events WRITE_ROWS_COMPRESSED_V1 to DELETE_ROWS_COMPRESSED_V1."""


@pytest.fixture(scope="module", params=OLDER, ids=lambda release: release.name)
def server(request: pytest.FixtureRequest) -> Iterator[Database]:
    """One at a time."""
    os.environ["RELEASE_PASSWORD"] = "replicator"
    made = started(server_of(request.param))
    try:
        yield made
    finally:
        made.close()


def ran(server: Database, script: str, **without: Any) -> None:
    wrong = attempt(server, statements(GOLDEN / f"{script}.sql", **without))
    assert not wrong, "\n".join(wrong)


def selected(server: Database, database: str) -> dict[str, list[dict[str, Any]]]:
    return {name: rows for name, rows in everything(server).items() if name.startswith(f"{database}.")}


def by_both(task: Task, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """What a task delivers; the same by either decoder."""
    found = load(task.lines())
    with monkeypatch.context() as patch:
        patch.setattr(replicator.assembly.pipeline, "decoder_class", lambda: BinlogDecoder)
        other = load(task.lines())
    assert [(each.topic, each.key) for each in found] == [(each.topic, each.key) for each in other]
    return found


@pytest.mark.parametrize("script", SCRIPTS)
def test_a_consumer_rebuilds_what_the_server_selects(
    server: Database, script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = Task(server, tmp_path, {"format": "debezium", "debezium": LOSSLESS})
    ran(server, script)
    consumer = Consumer()
    consumer.take(by_both(task, monkeypatch))
    wrong, compared = differences(consumer, selected(server, SCRIPTS[script]))
    assert not wrong, "\n".join(wrong)
    assert compared == (4 if (script, server.release.name) == ("vector", "mariadb-11.8") else COMPARED[script])


def test_rows_before_a_table_is_emptied(server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed events of many rows, XA, savepoints; the script has no trace of them at its end."""
    server.execute("DROP DATABASE IF EXISTS zooc")
    task = Task(server, tmp_path, {"format": "maxwell"})
    script = list(takewhile(lambda text: "TRUNCATE" not in text, statements(GOLDEN / "compressed.sql")))
    wrong = attempt(server, script)
    assert not wrong, "\n".join(wrong)
    if server.release.flavour == "mariadb":
        server.execute("SET GLOBAL log_bin_compress = OFF")
        assert kinds(server, task.start.file).keys() >= COMPRESSED
    truth = selected(server, "zooc")
    rows = laid_over(by_both(task, monkeypatch), truth)
    assert_same(rows, truth)
    assert len(rows["zooc.c2"]) == (6 if server.release.flavour == "mysql" else 56)


def test_rows_without_some_of_their_columns(server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(server, tmp_path, {"format": "maxwell"}, {"row_image": "accept_partial"})
    ran(server, "minimal")
    truth = selected(server, "zoom")
    records = by_both(task, monkeypatch)
    rows = laid_over(records, truth, {"zoom.m": {"a": 5, "v": "dflt"}})
    assert_same(rows, truth)
    assert sum(map(len, rows.values())) == 5
    widths = {
        len(message["data"])
        for message in (json.loads(each.value or b"") for each in records)
        if message["table"] == "m"
    }
    assert (len(widths) > 1) is (server.release.name != "mysql-5.5"), "where the release logs rows so"


Rows = dict[str, list[dict[str, Any]]]


def laid_over(records: Iterable[Record], truth: Rows, defaults: Mapping[str, dict[str, Any]] | None = None) -> Rows:
    """The tables of a consumer that lays each record of Maxwell's over the row that it has.

    Args:
        truth: names the tables, and by their rows the columns.
        defaults: of columns, where they are not NULL.
    """
    rows: Rows = {name: [] for name in truth}
    for record in records:
        message = json.loads(record.value or b"", parse_float=Decimal)
        table, data = f"{message['database']}.{message['table']}", message["data"]
        kept = dict.fromkeys(truth[table][0] if truth[table] else ()) | (defaults or {}).get(table, {})
        if message["type"] != "insert":
            kept = _row_before(rows[table], data | message.get("old", {}), json.loads(record.key or b""))
            rows[table].remove(kept)
        if message["type"] != "delete":
            rows[table].append(kept | data)
    return rows


def assert_same(rows: Rows, truth: Rows) -> None:
    for name, theirs in truth.items():
        left = list(theirs)
        for row in rows[name]:
            found = next((each for each in left if _same_row(row, each)), None)
            assert found is not None, (name, row, left[:3])
            left.remove(found)
        assert not left, (name, left)


def _row_before(rows: list[dict[str, Any]], before: dict[str, Any], key: dict[str, Any]) -> dict[str, Any]:
    """Of the row that a record changes; the record's key is that of the row after the change."""
    names = [name.removeprefix("pk.") for name in key if name.startswith("pk.")]
    if not names:
        return before
    return next(row for row in rows if all(row[name] == before[name] for name in names))


def _same_row(ours: dict[str, Any], theirs: dict[str, Any]) -> bool:
    return ours.keys() == theirs.keys() and all(same(ours[name], theirs[name]) for name in ours)


def test_changes_that_come_as_statements_stop_the_task(
    server: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is in front of them is delivered."""
    task = Task(server, tmp_path, {"format": "debezium"})
    ran(server, "statement")
    for decoder in (None, BinlogDecoder):
        with monkeypatch.context() as patch, pytest.raises(DecodeError) as raised:
            if decoder is not None:
                patch.setattr(replicator.assembly.pipeline, "decoder_class", lambda: BinlogDecoder)
            task.lines()
        assert raised.value.code == "E2303"
        assert "INSERT INTO s VALUES (2,'statement format')" in str(raised.value)
    rows = [record for record in load(tmp_path / "1.jsonl") if record.topic.endswith(".s")]
    assert [json.loads(record.value or b"")["after"] for record in rows] == [{"id": 1, "v": "row format"}]


@pytest.mark.parametrize("rule", [*ABSENCES, *SPELLINGS], ids=lambda rule: rule.pattern.pattern)
def test_every_rule_is_needed(rule: Absence | Spelling) -> None:
    """No server is asked."""
    texts = [text for script in EVERY for text in statements(script)]
    assert any(rule.pattern.search(text) for text in texts)
