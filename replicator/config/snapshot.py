"""Configuration of snapshots: the rows that a source had before the task began."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag

from replicator.config.annotated import Tables, checked
from replicator.config.base import Model
from replicator.config.tables import TableFilter, table_rank
from replicator.errors import ConfigError
from replicator.model.pause_windows import PauseWindows

CHUNK_ROWS: Final = 50_000

Mode = Literal["never", "initial", "when_needed"]


def _check_conditions(where: dict[str, str]) -> None:
    """The condition goes into the statement as it is; what could never be one is refused here."""
    for table, condition in where.items():
        if set(table) & set("*?!") or "." not in table:
            raise ConfigError(
                "E1003",
                "the key of a row condition is not a table",
                found=repr(table),
                wanted="database.table, without * and ?",
            )
        TableFilter((table,))
        if not condition.strip() or ";" in condition:
            raise ConfigError(
                "E1003",
                f"invalid row condition of {table}",
                found=repr(condition),
                wanted="an SQL condition, without ;",
            )


def _check_order(patterns: tuple[str, ...]) -> None:
    table_rank(patterns)
    for pattern in patterns:
        if pattern.startswith("!") or len(pattern) > 200:
            raise ConfigError("E1003", "a pattern of an order is not one", found=repr(pattern[:60]), wanted="shop.*")


def _check_windows(texts: tuple[str, ...]) -> None:
    PauseWindows(texts)


class Snapshot(Model):
    mode: Mode = Field(
        "initial",
        description=(
            "initial: a new task first delivers the rows that exist; when_needed: also a task whose position the "
            "source has purged; never: none"
        ),
    )
    tables: Tables = Field(
        ("*.*",), description="tables to read, of those that the task replicates; patterns as in source.tables"
    )
    new_tables: bool = Field(
        True,
        description="also read the rows of tables that a changed configuration adds to a running task; not with never",
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
    consistent: bool = Field(
        False,
        description=(
            "read all tables as of one moment, which takes a lock of milliseconds and RELOAD; changes are delivered "
            "after the rows. Not for ordered snapshots, nor for those of added tables"
        ),
    )
    chunk_rows: int = Field(CHUNK_ROWS, ge=1, le=1_000_000, description="maximum number of rows of one SELECT")
    connections: int = Field(
        1, ge=1, le=16, description="number of connections that read parts of a table with a key at the same time"
    )
    max_rows_per_s: int | None = Field(
        None, ge=1, le=100_000_000, description="maximum number of rows read in a second; default: no limit"
    )
    max_load: int | None = Field(
        None,
        ge=2,
        le=100_000,
        description="Threads_running of the source above which the snapshot waits; replicas are not counted as far as"
        " the account sees them (PROCESS shows all); default: no limit",
    )
    order: Annotated[tuple[str, ...], checked(_check_order)] = Field(
        (),
        max_length=50,
        description=(
            "tables to read first, as patterns, in this order; then the others by name. A change applies to the next "
            "snapshot; default: all by name"
        ),
    )
    pause_windows: Annotated[tuple[str, ...], checked(_check_windows)] = Field(
        (),
        description=(
            'times at which no rows are read, UTC: "HH:MM-HH:MM" of each day, or with days: "Mon-Fri 08:00-18:00"; '
            "default: none"
        ),
    )
    marker_topic: str | None = Field(
        None,
        pattern=r"^[A-Za-z0-9._-]*(\{task\})?[A-Za-z0-9._-]*$",
        min_length=1,
        max_length=200,
        description=(
            "topic of a record for each snapshot that is complete, with the position from which on its copy is "
            "consistent; with {task}; default: none"
        ),
    )

    @property
    def first(self) -> bool:
        """A new task begins with a snapshot."""
        return self.mode != "never"

    @property
    def of_added(self) -> bool:
        """Tables that a changed configuration adds are read."""
        return self.first and self.new_tables


def _kind(value: Any) -> str:
    return "options" if isinstance(value, dict | Snapshot) else "a word"


SnapshotChoice = Annotated[Annotated[Mode, Tag("a word")] | Annotated[Snapshot, Tag("options")], Discriminator(_kind)]


def snapshot_of(choice: Mode | Snapshot) -> Snapshot:
    return choice if isinstance(choice, Snapshot) else Snapshot(mode=choice)
