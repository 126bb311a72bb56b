"""`replicator task schema`: the table definitions of a task, from the Server or from a state file."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from replicator.cli.task import render
from replicator.cli.task.client import Client, find_token
from replicator.cli.task.options import name_argument, output_option, server_options
from replicator.cli.terminal import cells, clean, table, width
from replicator.errors import ProcessError

if TYPE_CHECKING:
    from replicator.assembly.table_definitions import TableDefinitions

_FILE = click.Path(dir_okay=False, path_type=Path)
_NARROWEST = 20
_HEADER = ["TABLE", "KEY", "COLUMNS"]


@click.command("schema")
@name_argument
@output_option("table", "json", "yaml")
@click.option(
    "--set-table", "told_in", type=_FILE, help="File with the CREATE TABLE statement that replaces the definition."
)
@click.option("--reason", default="", help="Recorded in the history of the task.")
@click.option("--state", type=_FILE, help="Use the state file of `replicator run` instead of the Server.")
@click.option("--mariadb", is_flag=True, help="With --state: the source is a MariaDB server.")
@server_options
def command(
    name: str,
    output: str,
    told_in: Path | None,
    reason: str,
    state: Path | None,
    mariadb: bool,
    server: str,
    token_file: Path | None,
) -> None:
    """Show the table definitions of NAME, as of the last statement that it has read.

    --set-table supplies the definition of a table whose DDL could not be parsed, as of the current position. The file
    contains the CREATE TABLE statement, with the name of the database, of the table after that DDL. Exit status is 4
    while the task runs.
    """
    statement = _text(told_in) if told_in is not None else ""
    if state is not None:
        found = _local(state, name, mariadb, statement)
    else:
        with Client(server, find_token(token_file, server)) as client:
            found = client.define_table(name, statement, reason) if statement else client.schema(name)
    if output != "table":
        click.echo(render.structured(found, output), nl=False)
    elif found["items"]:
        click.echo(_table(found["items"]), nl=False)
    else:
        click.echo(f"{clean(name)} knows no tables yet.", err=True)


def _text(path: Path) -> str:
    """Raises ProcessError E5010 for a file that can't be read, E5014 for one without a statement."""
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProcessError("E5010", f"{path} can't be read", found=str(error), fix="Check the path.") from None
    if not text.strip():
        raise ProcessError(
            "E5014",
            f"there is no statement in {path}",
            wanted="CREATE TABLE database.table (...)",
            fix="Write the CREATE TABLE statement of the table into the file, as SHOW CREATE TABLE prints it.",
        )
    return text


def _table(items: list[dict[str, Any]]) -> str:
    limit = width()
    rows = []
    for item in items:
        head = [clean(f"{item['database']}.{item['name']}"), clean(", ".join(item["primary_key"])) or "-"]
        columns = "not known" if item["columns"] is None else clean(", ".join(item["columns"]))
        rows.append([*head, columns])
    if limit is not None:
        taken = sum(max(cells(row[at]) for row in [_HEADER, *rows]) + 2 for at in (0, 1))
        room = max(limit - taken, _NARROWEST)
        rows = [[*row[:2], row[2] if len(row[2]) <= room else f"{row[2][: room - 1]}…"] for row in rows]
    return table(_HEADER, rows)


def _local(state: Path, name: str, mariadb: bool, statement: str) -> dict[str, Any]:
    """What the Server would answer."""
    with _opened(state, name, mariadb) as (definitions, position):
        if statement:
            if position is None:
                raise ProcessError("E5007", f"'{name}' has no position yet", fix="Start the task once.")
            definitions.define(statement, position)
        items: list[dict[str, Any]] = []
        for key, found in definitions.tables().items():
            columns = [column.name for column in found.columns] if found is not None else None
            keys = [found.columns[at].name for at in found.primary_key] if found is not None else []
            items.append({"database": key[0], "name": key[1], "columns": columns, "primary_key": keys})
        return {"name": name, "items": items}


@contextlib.contextmanager
def _opened(state: Path, name: str, mariadb: bool) -> Iterator[tuple[TableDefinitions, Any]]:
    from replicator.assembly.table_definitions import TableDefinitions  # slow to import
    from replicator.checkpoint.sqlite import SqliteStore

    if not state.exists():
        raise ProcessError("E5010", f"there is no state file {state}")
    store = SqliteStore(state, name)
    try:
        checkpoint = store.load()
        yield TableDefinitions(store.history, mariadb=mariadb), checkpoint.position if checkpoint else None
    finally:
        store.close()
