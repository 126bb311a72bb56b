"""`replicator task schema`: the schema history, where it is kept."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import click

from replicator.checkpoint.sqlite import SqliteStore
from replicator.cli.task.options import name_argument
from replicator.cli.terminal import clean, table
from replicator.coordination.commits import Commits
from replicator.coordination.layout import DEFAULT_ROOT, Layout
from replicator.coordination.registry import Registry
from replicator.coordination.schema_nodes import SchemaNodes
from replicator.errors import ProcessError
from replicator.model.checkpoint import Checkpoint
from replicator.ports import HistoryStore
from replicator.schema.history import History
from replicator.schema.told import told
from replicator.zookeeper.client import connect

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("schema")
@name_argument
@click.option("--state", type=_FILE, help="State file of `replicator run`.")
@click.option("--zookeeper", metavar="HOST:PORT[,...]", envvar="REPLICATOR_ZOOKEEPER", show_envvar=True)
@click.option("--root", default=DEFAULT_ROOT, show_default=True, help="Where our nodes are.")
@click.option("--mariadb", is_flag=True, help="With --state: the source is a MariaDB.")
@click.option("--set-table", "told_in", type=_FILE, help="A CREATE TABLE that takes a table's place.")
def command(
    name: str, state: Path | None, zookeeper: str | None, root: str, mariadb: bool, told_in: Path | None
) -> None:
    """What NAME knows of its source's tables, as of its last statement.

    --set-table tells it of a table that it could not understand, as of the position where it stands: the file holds the
    CREATE TABLE, with the database's name, as the table is behind the statement. While the task does not run.
    """
    if (state is None) == (zookeeper is None):
        raise click.UsageError("Give --state FILE of a `replicator run`, or --zookeeper HOST:PORT.")
    opened = _local(state, name, mariadb) if state is not None else _cluster(str(zookeeper), root, name)
    with opened as (history, checkpoint):
        if told_in is not None:
            if checkpoint is None:
                raise ProcessError("E5007", f"'{name}' has no position yet", fix="Start it once.")
            history.append(told(history, told_in.read_text("utf-8"), checkpoint.position))
        _show(history)


@contextlib.contextmanager
def _local(state: Path, name: str, mariadb: bool) -> Iterator[tuple[History, Checkpoint | None]]:
    if not state.exists():
        raise ProcessError("E5010", f"there is no state file {state}")
    store = SqliteStore(state, name)
    try:
        yield _history(store.history, mariadb), store.load()
    finally:
        store.close()


@contextlib.contextmanager
def _cluster(hosts: str, root: str, name: str) -> Iterator[tuple[History, Checkpoint | None]]:
    layout = Layout(root)
    coordinator = connect(hosts, 10.0)
    try:
        config = Registry(coordinator, layout).read(name).record.config or {}
        mariadb = config.get("source", {}).get("type") == "mariadb"
        commit = Commits(coordinator, layout).read(name)
        yield _history(SchemaNodes(coordinator, layout, name, ""), mariadb), commit.checkpoint
    finally:
        coordinator.close()


def _history(store: HistoryStore, mariadb: bool) -> History:
    return History(store, mariadb=mariadb, read=None)


def _show(history: History) -> None:
    schema = history.latest()
    rows = []
    for database, name in sorted(schema.names()) if schema is not None else []:
        found = schema.table((database, name)) if schema is not None else None
        columns = ", ".join(column.name for column in found.columns) if found is not None else "not known"
        keys = ", ".join(found.columns[at].name for at in found.primary_key) if found is not None else ""
        rows.append([clean(f"{database}.{name}"), clean(keys) or "-", clean(columns)])
    click.echo(table(["TABLE", "KEY", "COLUMNS"], rows), nl=False)
