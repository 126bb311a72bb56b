"""Configuration of snapshots: the rows that a source had before the task began."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag

from replicator.config.annotated import Tables, checked
from replicator.config.base import Model
from replicator.config.tables import TableFilter
from replicator.errors import ConfigError

CHUNK_ROWS: Final = 50_000

Mode = Literal["never", "initial"]


def _check_conditions(where: dict[str, str]) -> None:
    """The condition goes into the statement as it is; what could never be one is refused here."""
    for table, condition in where.items():
        if set(table) & set("*?!") or "." not in table:
            raise ConfigError(
                "E1003", "a row condition has no table", found=repr(table), wanted="database.table, without * and ?"
            )
        TableFilter((table,))
        if not condition.strip() or ";" in condition:
            raise ConfigError(
                "E1003", f"the row condition of {table} is not one", found=repr(condition), wanted="a condition of SQL"
            )


class Snapshot(Model):
    mode: Mode = Field("initial", description="initial: a new task first delivers the rows that exist; never: none")
    tables: Tables = Field(
        ("*.*",), description="tables to read, of those that the task replicates; patterns as in source.tables"
    )
    where: Annotated[dict[str, str], checked(_check_conditions)] = Field(
        {}, description="database.table -> SQL condition of the rows to read; default: all rows"
    )
    without_key: Literal["fail", "skip", "read"] = Field(
        "fail",
        description=(
            "tables without a primary or unique key to read them by: stop the task, leave their rows out, or read "
            "them in one pass, which begins again after an interruption"
        ),
    )
    chunk_rows: int = Field(CHUNK_ROWS, ge=1, le=1_000_000, description="maximum number of rows of one SELECT")
    max_rows_per_s: int | None = Field(
        None, ge=1, le=100_000_000, description="maximum number of rows read in a second; default: no limit"
    )
    max_load: int | None = Field(
        None,
        ge=2,
        le=100_000,
        description="Threads_running of the source above which the snapshot waits; default: no limit",
    )


def _kind(value: Any) -> str:
    return "options" if isinstance(value, dict | Snapshot) else "a word"


SnapshotChoice = Annotated[Annotated[Mode, Tag("a word")] | Annotated[Snapshot, Tag("options")], Discriminator(_kind)]


def snapshot_of(choice: Mode | Snapshot) -> Snapshot:
    return choice if isinstance(choice, Snapshot) else Snapshot(mode=choice)
