"""`replicator task schema` over a state file."""

from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner

from replicator.checkpoint.sqlite import SqliteStore
from replicator.cli.task.schema import command
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History


class Everything:
    def matches(self, database: str, table: str) -> bool:
        return True

    def touches(self, database: str) -> bool:
        return True


def test_tables_are_shown_and_told(tmp_path: Path) -> None:
    state, sql = tmp_path / "task.sqlite", tmp_path / "t.sql"
    store = SqliteStore(state, "task")
    start = Position("b.1", 4)
    catalog = SchemaCatalog(History(store.history, mariadb=False, read=None), start, Everything())
    catalog.statement("d", "CREATE TABLE t (id INT PRIMARY KEY, v INT)", Position("b.1", 100), "")
    catalog.statement("d", "ALTER TABLE t FLIP v", Position("b.1", 200), "")
    store.save(Checkpoint(Position("b.1", 300)))
    store.close()
    shown = CliRunner().invoke(command, ["task", "--state", str(state)], catch_exceptions=False)
    assert "not known" in shown.output
    sql.write_text("CREATE TABLE d.t (v INT, id INT PRIMARY KEY)")
    told = CliRunner().invoke(command, ["task", "--state", str(state), "--set-table", str(sql)], catch_exceptions=False)
    assert told.exit_code == 0
    assert "v, id" in told.output
    neither = CliRunner().invoke(command, ["task"])
    assert neither.exit_code == 2
