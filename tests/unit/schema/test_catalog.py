"""What the schema history knows of a table at each position, and what stops a task."""

from __future__ import annotations

import msgspec
import pytest

from replicator.config.tables import TableFilter
from replicator.errors import DecodeError, ProcessError
from replicator.model import types
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord, ServerDefinitions
from replicator.model.table import Table
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History
from replicator.schema.manual_definitions import manual_definition
from replicator.schema.position_coverage import PositionCoverage
from tests.support.schema_history import (
    CREATE,
    ODD,
    ROW,
    Task,
    described,
    event,
)


def test_names_come_from_the_history() -> None:
    task = Task()
    change = task.say(1, CREATE).changes[0]
    assert change.table is not None
    found = task.catalog.describe(ROW, named=False)
    assert [column.name for column in found.columns] == ["id", "v"]
    assert found.primary_key == (0,)
    assert found.columns[1].declared == change.table.columns[1].declared
    assert found.charset == "utf8mb4"


@pytest.mark.parametrize("row", [event(types.LONG), event(types.LONG, types.LONG), event(types.LONG, name="unheard")])
def test_names_that_do_not_fit_the_event_stop_the_task(row: Table) -> None:
    task = Task()
    task.say(1, CREATE)
    with pytest.raises(DecodeError, match=r"E2306.*d\.(t|unheard).*--set-table"):
        task.catalog.describe(row, named=False)


def test_named_columns_are_declared_where_they_fit() -> None:
    task = Task()
    task.say(1, CREATE)
    found = task.catalog.describe(event(types.LONG, types.LONG, names=("id", "v")), named=True)
    assert found.columns[0].declared is not None
    assert found.columns[1].declared is None
    assert task.catalog.describe(event(types.LONG, name="unheard"), named=True).columns[0].declared is None


@pytest.mark.parametrize("gtids", [True, False])
def test_each_position_has_the_definition_of_then(gtids: bool) -> None:
    task = Task(gtids=gtids)
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t RENAME COLUMN v TO w")
    task.say(3, "DROP TABLE t")
    kept = list(task.store.records)
    assert [described(task.at(number)) for number in (2, 3)] == [["id", "v"], ["id", "w"]]
    again = task.at(2)
    assert task.say(2, "ALTER TABLE t RENAME COLUMN v TO w", again).changes[0].verb == "ALTER"
    assert described(again) == ["id", "w"]
    assert task.store.records == kept
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(4))


def test_a_statement_that_comes_by_twice_in_a_stream_counts_once() -> None:
    task = Task()
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t ADD c INT, DROP v")
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t ADD c INT, DROP v")
    assert described(task.catalog, event(types.LONG, types.LONG)) == ["id", "c"]
    assert len(task.store.records) == 3


def test_what_is_not_replicated_is_counted_and_passed() -> None:
    task = Task()
    task.say(1, "CREATE TABLE elsewhere.t (a INT)")
    task.say(2, "ALTER TABLE elsewhere.t FLIP a")
    task.say(3, "ALTER TABLE not_ours FLIP a")
    assert task.catalog.counters == {"ddl_ignored": 1, "ddl_not_understood": 2}
    assert len(task.store.records) == 1


def test_what_is_not_understood_makes_a_table_unknown_and_stops_where_names_are_needed() -> None:
    task = Task()
    task.say(1, CREATE)
    assert task.say(2, ODD).changes[0].table is None
    assert task.catalog.describe(event(types.LONG, names=("id",)), named=True).columns[0].declared is None
    with pytest.raises(DecodeError, match="E2306"):
        described(task.catalog)
    strict = Task(needed=True)
    strict.say(1, CREATE)
    with pytest.raises(DecodeError, match=r"E2309.*d\.t.*FLIP.*--set-table"):
        strict.say(2, ODD)
    assert len(strict.store.records) == 2


def test_an_operator_tells_what_a_statement_did() -> None:
    task = Task(needed=True)
    task.say(1, CREATE)
    with pytest.raises(DecodeError):
        task.say(2, ODD)
    text = "CREATE TABLE d.t (id INT PRIMARY KEY, flipped VARCHAR(5));"
    history = History(task.store, mariadb=False)
    history.append(manual_definition(history, text, task.position(2)))
    behind = task.at(2)
    task.say(2, ODD, behind)
    assert described(behind) == ["id", "flipped"]
    task.say(3, "ALTER TABLE t RENAME COLUMN flipped TO later", behind)
    assert described(task.at(4)) == ["id", "later"]
    for wrong in (ODD, "CREATE TABLE t (id INT)", "CREATE TABLE d.t (id INT SOMEHOW)"):
        with pytest.raises(ProcessError, match="E5014"):
            manual_definition(history, wrong, task.position(2))


def test_a_table_that_is_left_out_stops_nothing_and_comes_back_as_it_was_told() -> None:
    task = Task(needed=True)
    task.say(1, CREATE)
    with pytest.raises(DecodeError) as stopped:
        task.say(2, ODD)
    assert stopped.value.table == "d.t"
    task.say(2, ODD, task.at(2, "d.t"))
    after = task.at(3, "d.t")
    assert task.say(3, "CREATE TABLE u (id INT PRIMARY KEY)", after).changes, "the others are followed"
    with pytest.raises(DecodeError, match="E2306"):
        described(task.at(4))
    history = History(task.store, mariadb=False)
    statement = "CREATE TABLE d.t (id INT PRIMARY KEY, w VARCHAR(5))"
    task.store.append(manual_definition(history, statement, task.position(4), {"d.t": task.position(2)}))
    assert described(task.at(4)) == ["id", "w"]
    again = task.at(2)
    task.say(2, ODD, again)
    assert described(again) == ["id", "w"]


def test_two_tables_of_one_statement_are_not_left_out_for_it() -> None:
    task = Task(needed=True)
    task.say(1, CREATE)
    task.say(2, "CREATE TABLE u (id INT PRIMARY KEY)")
    with pytest.raises(DecodeError) as stopped:
        task.say(3, "RENAME TABLE t TO x FLIP, u TO y")
    assert stopped.value.table == ""


def test_mariadb_positions() -> None:
    covers = PositionCoverage(Position("b.1", 4, "0-1-10,1-1-5"), mariadb=True)
    found = [
        covers.covers_statement(SchemaRecord("ddl", Position("b.9", 9), gtid)) for gtid in ("0-2-10", "0-1-11", "2-1-1")
    ]
    assert found == [True, False, False]


def test_a_statement_that_was_skipped_counts() -> None:
    """It was read before its record was refused; the place stays that before it, and its GTID counts as executed."""
    task = Task()
    task.say(1, CREATE)
    task.say(2, "ALTER TABLE t RENAME COLUMN v TO w")
    place, executed = task.position(2), task.position(3).gtid
    skipped = msgspec.structs.replace(place, gtid=executed)
    history = History(task.store, mariadb=False, live=None, scope=task.tables, choose=TableFilter)
    assert described(SchemaCatalog(history, skipped, TableFilter(task.tables))) == ["id", "w"]


def test_statements_with_names_in_another_case_than_the_server_stores() -> None:
    """lower_case_table_names = 1: the log has the statement as it was written."""
    place = Position("b.000001", 100)
    task = Task(ServerDefinitions(place, (), {"": ("utf8mb4", "utf8mb4_bin")}, end=place, folded=True))
    (change,) = task.say(1, "CREATE TABLE D.T (id INT PRIMARY KEY, v INT)").changes
    assert (change.database, change.name) == ("d", "t")
    assert described(task.catalog, event(types.LONG, types.LONG)) == ["id", "v"]
    (renamed,) = task.say(2, "RENAME TABLE D.T TO D.Other").changes
    assert renamed.new_name == ("d", "other")
