"""Steps of a snapshot at which formats write records that are not of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import msgspec

from replicator.model.schema_history import TableText
from replicator.model.table import Table


class DatabaseDefaults(msgspec.Struct, frozen=True):
    """A database with its default character set and collation. `name` "": the server, with those of new databases."""

    name: str
    charset: str
    collation: str


class SnapshotDefinitions(msgspec.Struct, frozen=True):
    """What the source has of the tables of a snapshot, for formats that begin with definitions.

    Attributes:
        server: its defaults.
        databases: of the tables, sorted by name.
        tables: sorted by database and name; each has a text, that of SHOW CREATE TABLE.
        table: a text as it is understood; None: it is not. Tables are parsed one at a time, as there may be thousands.
    """

    server: DatabaseDefaults
    databases: tuple[DatabaseDefaults, ...]
    tables: tuple[TableText, ...]
    table: Callable[[TableText], Table | None]


class SnapshotBegins(msgspec.Struct, frozen=True):
    """`definitions`: None where the format has no use for them, or the snapshot began on a running task."""

    definitions: SnapshotDefinitions | None = None


class TableBegins(msgspec.Struct, frozen=True):
    """Before the first row of a table. `time_s`: when it is read, s since the epoch."""

    table: Table
    time_s: int


class TableEnds(msgspec.Struct, frozen=True):
    """Behind the last row of a table. `rows`: of it, in the snapshot."""

    table: Table
    time_s: int
    rows: int


class SnapshotEnds(msgspec.Struct, frozen=True):
    """Behind the last row of all.

    Attributes:
        rows: of all tables.
        id, begun_ms, tables: of the snapshot, as in `SnapshotProgress`.
        ordered: operators have ordered it.
        position, gtid: of the stream, `file:offset` and the executed set: the copy is consistent from there on.
        time_ms: ms since the epoch.
    """

    time_s: int
    rows: int
    id: str = ""
    begun_ms: int = 0
    tables: int = 0
    ordered: bool = False
    position: str = ""
    gtid: str = ""
    time_ms: int = 0
    task: str = ""


SnapshotStep: TypeAlias = SnapshotBegins | TableBegins | TableEnds | SnapshotEnds
