"""Definitions that are read from the server when the stream is behind: where each holds, and what is refused."""

from __future__ import annotations

import re

import msgspec
import pytest

from replicator.config.tables import TableFilter
from replicator.errors import DecodeError, SourceUnavailable
from replicator.model import types
from replicator.model.position import Place, Position
from replicator.model.schema_history import TableText
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History
from replicator.schema.manual_definitions import manual_definition
from replicator.schema.position_coverage import in_another_log
from tests.support.schema_history import (
    LATER,
    UUID,
    DefinitionSource,
    Task,
    described,
    event,
    reading,
)


def test_definitions_read_later_hold_from_there_and_new_tables_are_followed() -> None:
    ahead = [
        (1, "CREATE TABLE u (y INT)"),
        (3, "ALTER TABLE u RENAME COLUMN y TO x"),
        (4, "ALTER TABLE t RENAME COLUMN v TO w"),
    ]
    task = Task(reading(5, *LATER), *ahead)
    task.say(*ahead[0])
    assert described(task.catalog, event(types.LONG, name="u")) == ["y"]
    task.say(*ahead[1])
    assert described(task.catalog, event(types.LONG, name="u")) == ["x"]
    task.say(*ahead[2])  # is in what was read
    assert described(task.catalog) == ["id", "w"]
    task.say(6, "ALTER TABLE t RENAME COLUMN w TO z")
    assert described(task.catalog) == ["id", "z"]
    assert described(task.at(7)) == ["id", "z"]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE t RENAME COLUMN v TO w",
        "ALTER TABLE t MODIFY w VARCHAR(5) CHARSET latin1",
        "ALTER TABLE t CHANGE id id INT UNSIGNED",
        "ALTER TABLE t ADD UNIQUE (id)",
        "ALTER TABLE t ALTER w SET DEFAULT 'x'",
        "RENAME TABLE t TO tmp, other TO t, tmp TO other",
        "RENAME TABLE d.other TO d.t",
        "ALTER TABLE other RENAME TO t",
        "DROP TABLE t",
        "DROP TABLE IF EXISTS nothing, t",
        "CREATE TABLE t (id INT, w VARCHAR(5))",
        "CREATE OR REPLACE TABLE t (id INT, w VARCHAR(5))",
        "CREATE TABLE t LIKE u",
        "DROP DATABASE d",
        "ALTER TABLE t FLIP COLUMN w",
        "ALTER TABLE d . t FLIP COLUMN w",
    ],
)
@pytest.mark.parametrize("gtids", [True, False])
def test_rows_before_a_change_are_refused_and_not_named_with_what_came_after(change: str, gtids: bool) -> None:
    task = Task(reading(5, *LATER), (3, change), gtids=gtids)
    with pytest.raises(DecodeError, match=rf"E2306.*b\.000001:300: {re.escape(change[:20])}.*--set-table"):
        described(task.catalog)
    if "DATABASE" not in change:
        assert described(task.catalog, event(types.LONG, name="u")) == ["x"]
    assert task.catalog.describe(event(types.LONG, types.VARCHAR, names=("id", "v")), named=True).columns[0].declared
    if change.startswith("ALTER"):
        task.say(3, change)
        assert described(task.catalog) == ["id", "w"]


@pytest.mark.parametrize(
    "statement",
    [
        "ALTER TABLE u RENAME COLUMN y TO x",
        "ALTER TABLE t ADD INDEX (w)",
        "CREATE INDEX i ON t (w)",
        "ALTER TABLE t ENGINE=InnoDB",
        "CREATE TABLE IF NOT EXISTS t (id INT, w VARCHAR(5))",
        "CREATE TABLE v LIKE t",
        "TRUNCATE TABLE t",
        "ANALYZE TABLE t",
        "CREATE TEMPORARY TABLE t (x INT)",
        "CREATE VIEW w AS SELECT * FROM t",
        "CREATE TABLE elsewhere.t (a INT)",
    ],
)
def test_what_leaves_a_table_as_it_is_separates_no_rows_from_it(statement: str) -> None:
    task = Task(reading(5, *LATER), (3, statement))
    assert described(task.catalog) == ["id", "w"]
    task.say(3, statement)
    assert described(task.catalog) == ["id", "w"]
    assert described(task.at(2)) == ["id", "w"]


def test_statements_behind_the_definitions_do_not_count() -> None:
    task = Task(reading(5, *LATER), (5, "ALTER TABLE t RENAME COLUMN w TO v"))
    assert described(task.catalog) == ["id", "w"]


def test_the_log_ahead_is_read_once_and_only_for_rows_without_names() -> None:
    task = Task(reading(5, *LATER), (3, "ALTER TABLE t RENAME COLUMN v TO w"))
    assert task.live is not None
    task.catalog.describe(event(types.LONG, types.VARCHAR, names=("id", "v")), named=True)
    assert task.live.looked == []
    for _ in range(3):
        with pytest.raises(DecodeError):
            described(task.catalog)
    assert described(task.catalog, event(types.LONG, name="u")) == ["x"]
    assert len(task.live.looked) == 1


def test_each_change_on_the_way_is_passed_before_the_definition_holds() -> None:
    swap = "RENAME TABLE t TO tmp, other TO t, tmp TO other"
    task = Task(reading(5, *LATER), (2, swap), (4, swap))
    for number in (2, 4):
        with pytest.raises(DecodeError, match=rf"E2306.*:{number}00"):
            described(task.catalog)
        task.say(number, swap)
    assert described(task.catalog) == ["id", "w"]
    assert described(task.at(5)) == ["id", "w"]
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(3))


def test_an_operator_tells_of_the_table_before_the_change() -> None:
    change = (3, "ALTER TABLE t RENAME COLUMN v TO w")
    task = Task(reading(5, *LATER), change)
    with pytest.raises(DecodeError, match="E2306"):
        described(task.catalog)
    statement = "CREATE TABLE d.t (id INT PRIMARY KEY, v VARCHAR(5))"
    task.store.append(manual_definition(History(task.store, mariadb=False), statement, task.position(1)))
    again = task.at(1)
    assert described(again) == ["id", "v"]
    task.say(*change, again)
    assert described(again) == ["id", "w"]
    assert described(task.at(4)) == ["id", "w"]
    assert described(task.at(6)) == ["id", "w"], "what was told of the past is not the present"


def test_definitions_are_read_again_when_a_statement_falls_into_the_reading() -> None:
    swap = "RENAME TABLE t TO tmp, other TO t, tmp TO other"
    torn = msgspec.structs.replace(reading(3, LATER[0]), end=reading(5).position)
    task = Task()
    task.store.records.clear()
    task.live = DefinitionSource(task, reading(5, "CREATE TABLE t (id INT, better VARCHAR(5))"), (4, swap))
    task.live.readings = [torn]
    assert described(task.at(5)) == ["id", "better"]
    task.store.records.clear()
    task.live.reading = torn
    with pytest.raises(SourceUnavailable, match="E2216"):
        task.at(5)
    task.store.records.clear()
    task.live.log = ((4, "CREATE TABLE brand_new (id INT)"),)
    assert described(task.at(5)) == ["id", "w"]


def test_without_a_source_to_ask_no_later_definition_is_used_for_rows() -> None:
    task = Task(reading(5, *LATER))
    task.live = None
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(1))


def test_tables_that_are_added_are_read_and_those_nobody_followed_are_read_again() -> None:
    task = Task(reading(2, LATER[0]))
    assert described(task.catalog) == ["id", "w"]
    task.tables = ["elsewhere.*"]  # statements of d pass unread from here on
    task.at(3)
    task.tables = ["d.*", "!d.not_ours"]
    assert task.live is not None
    task.live.reading = reading(9, "CREATE TABLE t (id INT, swapped VARCHAR(5))", LATER[1])
    assert described(task.at(8)) == ["id", "swapped"]
    assert described(task.at(8), event(types.LONG, name="u")) == ["x"]
    task.live.log = ((7, "RENAME TABLE t TO tmp, other TO t, tmp TO other"),)
    with pytest.raises(DecodeError, match=r"E2306.*:700"):
        described(task.at(6))
    assert described(task.at(9)) == ["id", "swapped"]


def test_a_table_that_was_followed_all_the_time_keeps_its_definition_when_others_are_added() -> None:
    task = Task(reading(1, LATER[0]))
    task.say(1, "ALTER TABLE t RENAME COLUMN w TO v")
    task.tables = ["d.*", "more.*"]
    assert task.live is not None
    later = reading(9, "CREATE TABLE t (id INT, z VARCHAR(5))", "CREATE TABLE more.u (x INT)")
    tables = (later.tables[0], TableText("more", "u", "CREATE TABLE u (x INT)"))
    task.live.reading = msgspec.structs.replace(later, tables=tables)
    rename = (5, "ALTER TABLE t RENAME COLUMN v TO z")
    task.live.log = (rename,)
    wider = task.at(3)
    assert described(wider) == ["id", "v"]
    assert wider.describe(msgspec.structs.replace(event(types.LONG, name="u"), database="more"), named=False).columns
    task.say(*rename, wider)
    assert described(wider) == ["id", "z"]
    assert described(task.at(9)) == described(task.at(6)) == ["id", "z"]
    assert described(task.at(4)) == ["id", "v"]


def test_beyond_a_position_that_an_operator_has_set_forward_definitions_are_read_again() -> None:
    task = Task(reading(1, LATER[0]))
    assert described(task.catalog) == ["id", "w"]
    assert task.live is not None
    task.live.reading = reading(9, "CREATE TABLE t (id INT, renamed VARCHAR(5))")
    history = History(task.store, mariadb=False, live=task.live, scope=task.tables, choose=TableFilter)
    seen = task.position(2)
    position = msgspec.structs.replace(task.position(8), unseen=Place(seen.file, seen.offset, seen.gtid))
    assert described(SchemaCatalog(history, position, TableFilter(task.tables))) == ["id", "w"], "nothing was missed"
    task.live.log = ((1, "DROP TABLE t"), (8, "DROP TABLE t"))
    assert described(SchemaCatalog(history, position, TableFilter(task.tables))) == ["id", "w"], "nor was this"
    task.live.log = ((4, "RENAME TABLE t TO x, other TO t, x TO other"),)
    assert described(SchemaCatalog(history, position, TableFilter(task.tables))) == ["id", "renamed"]
    assert described(task.at(9)) == ["id", "renamed"]


def test_a_restored_task_that_starts_where_it_stood_reads_no_log(monkeypatch: pytest.MonkeyPatch) -> None:
    task = Task(reading(1, LATER[0]))
    assert described(task.catalog) == ["id", "w"]
    assert task.live is not None
    task.live.log = ((3, "DROP TABLE t"),)
    history = History(task.store, mariadb=False, live=task.live, scope=task.tables, choose=TableFilter)
    at = task.position(4)
    position = msgspec.structs.replace(at, unseen=Place(at.file, at.offset, at.gtid, at.server))
    monkeypatch.setattr(task.live, "statements", lambda *of: pytest.fail("the log was read"))
    SchemaCatalog(history, position, TableFilter(task.tables))


@pytest.mark.parametrize(
    ("of_then", "of_now", "read_again"),
    [
        ("A@1000/90:1500", "A@1000/190:1600", False),
        ("A@1000/90:1500", "B@1000/190:1500", True),
        ("A@1000/90:1500", "A@2000/190:2500", True),  # the binlog was reset: a file of the same name
        ("", "A@1000/190:1600", False),
    ],
)
def test_in_another_servers_log_definitions_are_read_again(of_then: str, of_now: str, read_again: bool) -> None:
    """By files alone: places there say nothing of which statements are done."""
    task = Task(reading(1, LATER[0]), gtids=False)
    assert described(task.catalog) == ["id", "w"]
    assert task.live is not None
    task.live.reading = reading(9, "CREATE TABLE t (id INT, renamed VARCHAR(5))")
    history = History(task.store, mariadb=False, live=task.live, scope=task.tables, choose=TableFilter)
    seen = task.position(5)
    position = msgspec.structs.replace(
        task.position(2), server=of_now, unseen=Place(seen.file, seen.offset, server=of_then)
    )
    made = SchemaCatalog(history, position, TableFilter(task.tables))
    assert described(made) == ["id", "renamed" if read_again else "w"]


@pytest.mark.parametrize(
    ("one", "other", "another"),
    [
        (Place("b.000007", 4, server="A@700"), Position("b.000009", 4, server="A@900"), False),
        (Place("b.000009", 4, server="A@900"), Position("b.000007", 4, server="A@700"), False),
        (Place("b.000009", 4, server="A@900"), Position("b.000001", 4, server="A@950"), True),
        (Place("b.000001", 4, server="A@900"), Position("b.000009", 4, server="A@850"), True),
        (Place("b.000001", 4, "x:1", "A@900"), Position("b.000009", 4, "x:1", server="B@850"), False),
    ],
)
def test_places_of_two_logs(one: Place, other: Position, another: bool) -> None:
    assert in_another_log(one, other) == another


def test_a_server_that_gave_gtids_once_is_followed_by_files() -> None:
    """Its executed set stays as it is, whatever comes."""
    stale = f"{UUID}:1-30"
    later = reading(5, *LATER)
    later = msgspec.structs.replace(later, position=msgspec.structs.replace(later.position, gtid=stale))
    task = Task(later, (3, "ALTER TABLE t RENAME COLUMN v TO w"), gtids=False, stale=stale)
    with pytest.raises(DecodeError, match=r"E2306.*:300"):
        described(task.at(1))
    assert described(task.at(4)) == ["id", "w"]
