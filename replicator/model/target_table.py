"""Tables of a target server to which row images are written, and the names by which records refer to them."""

from __future__ import annotations

import threading
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.model.table import Column

Operation: TypeAlias = Literal["insert", "read", "update", "delete"]

OPERATIONS: Final[dict[bytes, Operation]] = {b"I": "insert", b"R": "read", b"U": "update", b"D": "delete"}
"""First byte of a record's value -> operation; "read": a row of a snapshot, which may exist at the target already.
See `encode/row_images.py` for what follows it."""

UNCHECKED: Final = b"F"
"""In front of the operation: foreign keys are neither checked nor followed. See `plan.Variable`."""

STATEMENT: Final = "@statement"
"""Topic of records that are no rows; their value is a `TargetStatement` in JSON."""


class Shard(msgspec.Struct, frozen=True):
    """What tells the rows of a table from those of the other ones that are written to the same table.

    Attributes:
        columns: of the target, which its key ends with; without any, keys of the tables are said to be disjoint.
        values: of these columns in each row of the table.
    """

    columns: tuple[str, ...] = ()
    values: tuple[str, ...] = ()

    @property
    def disjoint(self) -> bool:
        return not self.columns


class TargetTable(msgspec.Struct, frozen=True):
    """One version of a table, as its row images describe it.

    Attributes:
        database, name: at the target, after `transforms.rename`.
        columns: of the images, in their order, `index` counted from 0. Types and metadata are the source's, as in a
            TABLE_MAP event; names are the target's.
        primary_key: indexes in `columns`, in key order; empty without a primary key.
        mariadb: the images were written by a MariaDB server.
        source: `database.table` at the source, for errors.
        omitted: generated columns that the images do not have, under their names at the target, which computes them.
        shard: other tables of the source may be written to the same table.
    """

    database: str
    name: str
    columns: tuple[Column, ...]
    primary_key: tuple[int, ...] = ()
    mariadb: bool = False
    source: str = ""
    omitted: tuple[str, ...] = ()
    shard: Shard | None = None

    @property
    def qualified(self) -> str:
        return f"{self.database}.{self.name}"

    @property
    def null_bytes(self) -> int:
        """Length of the null bitmap that an image begins with."""
        return (len(self.columns) + 7) // 8


class TargetTables:
    """The table versions of one task. The format registers them and the sink looks them up, each in its own thread.

    Names are never given to another version: a record is understood as long as the process runs.
    """

    def __init__(self) -> None:
        self._tables: dict[str, TargetTable] = {}
        self._names: dict[TargetTable, str] = {}
        self._lock = threading.Lock()

    def name(self, table: TargetTable) -> str:
        """`shop.item#3`: always the same for equal versions."""
        with self._lock:
            known = self._names.get(table)
            if known is None:
                known = f"{table.qualified}#{len(self._names)}"
                self._tables[known] = table
                self._names[table] = known
            return known

    def table(self, name: str) -> TargetTable:
        """Raises KeyError: no such name was given."""
        return self._tables[name]
