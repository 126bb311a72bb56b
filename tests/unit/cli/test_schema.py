"""`replicator task schema` over a state file and over the Server."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from replicator.checkpoint.sqlite import SqliteStore
from replicator.cli.task.schema import command
from replicator.coordination.records import CommitRecord, dump
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.schema.catalog import SchemaCatalog
from replicator.schema.history import History
from tests.support.api import World
from tests.unit.cli.conftest import Cli


class Everything:
    def matches(self, database: str, table: str) -> bool:
        return True

    def touches(self, database: str) -> bool:
        return True


def test_tables_are_shown_and_told(tmp_path: Path) -> None:
    state, sql = tmp_path / "task.sqlite", tmp_path / "t.sql"
    store = SqliteStore(state, "task")
    start = Position("b.1", 4)
    catalog = SchemaCatalog(History(store.history, mariadb=False), start, Everything())
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
    assert json.loads(CliRunner().invoke(command, ["task", "--state", str(state), "-o", "json"]).output)["items"][0][
        "primary_key"
    ] == ["id"]


def test_tables_of_a_task_on_the_bus(cli: Cli, world: World, file: Path, tmp_path: Path) -> None:
    cli("task", "apply", "-f", str(file))
    assert "knows no tables yet" in cli("task", "schema", "copy_hot_item").stderr
    sql = tmp_path / "t.sql"
    sql.write_text("CREATE TABLE shop.t (v INT, id INT PRIMARY KEY)")
    early = cli("task", "schema", "copy_hot_item", "--set-table", str(sql))
    assert early.exit_code == 4 and "has no position yet" in early.stderr
    record = CommitRecord(epoch=7, checkpoint=Checkpoint(Position("b.1", 300)), released=True)
    world.bus.coordinator.create(world.bus.layout.last_commit("copy_hot_item"), dump(record))
    told = cli("task", "schema", "copy_hot_item", "--set-table", str(sql), "--reason", "FLIP")
    assert (told.exit_code, told.stdout.split()) == (0, ["TABLE", "KEY", "COLUMNS", "shop.t", "id", "v,", "id"])
    assert "FLIP: CREATE TABLE" in cli("task", "history", "copy_hot_item").stdout
    world.core("host-a").stand("copy_hot_item", "running")
    assert cli("task", "schema", "copy_hot_item", "--set-table", str(sql)).exit_code == 4
    sql.write_text("DROP TABLE shop.t")
    assert cli("task", "schema", "copy_hot_item", "--set-table", str(tmp_path / "no.sql")).exit_code == 1
    assert cli("task", "schema", "nobody").exit_code == 3
