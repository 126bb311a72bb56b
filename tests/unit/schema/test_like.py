"""CREATE TABLE ... LIKE: the definition and the character set of the other table, also of another database."""

from __future__ import annotations

import pytest

from replicator.checkpoint.history import MemoryHistory
from replicator.config.tables import TableFilter
from replicator.model.position import Position
from replicator.model.table import Table
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History


def created(tables: list[str], *statements: str) -> Table | None:
    """The table of the last statement."""
    history = History(MemoryHistory(), mariadb=False, live=None, scope=tables, choose=TableFilter)
    catalog = SchemaCatalog(history, Position("b.000001", 4), TableFilter(tables), needed=False)
    for number, text in enumerate(statements, 1):
        made = catalog.statement("one", text, Position("b.000001", 100 * number), "")
    return made.changes[0].table


LATIN = ("CREATE DATABASE one CHARACTER SET latin1", "CREATE DATABASE two CHARACTER SET utf8mb4")
SOURCE = "CREATE TABLE one.t (id INT PRIMARY KEY, v VARCHAR(5), e ENUM('a\\\\b', 'q''t'))"


@pytest.mark.parametrize("name", ["one.l", "two.l"])
def test_the_character_set_is_that_of_the_other_table(name: str) -> None:
    table = created(["one.*", "two.*"], *LATIN, SOURCE, f"CREATE TABLE {name} LIKE one.t")
    assert table is not None
    assert (f"{table.database}.{table.name}", table.charset) == (name, "latin1")
    assert [column.declared.charset for column in table.columns if column.declared] == [None, "latin1", "latin1"]
    assert table.columns[2].members == ("a\\b", "q't")


def test_behind_a_conversion_it_is_the_new_one() -> None:
    convert = "ALTER TABLE one.t CONVERT TO CHARACTER SET utf8mb3"
    table = created(["one.*", "two.*"], *LATIN, SOURCE, convert, "CREATE TABLE two.l LIKE one.t")
    assert table is not None and table.charset == "utf8mb3"


def test_of_a_table_that_the_task_does_not_follow_nothing_is_known() -> None:
    assert created(["two.*"], *LATIN, SOURCE, "CREATE TABLE two.l LIKE one.t") is None
