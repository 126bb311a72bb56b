"""SELECT statements of chunks, of whole tables, and of the keys at which a chunk or a table ends."""

from __future__ import annotations

from typing import Protocol

import msgspec

from replicator.model.snapshot import Bound, OpenTable
from replicator.mysql import table_key as keys
from replicator.mysql.table_key import Key
from replicator.mysql.table_shape import TableShape


class Keyed(Protocol):
    """A table as it is read. `key`: None: there is none that orders it."""

    @property
    def shape(self) -> TableShape: ...
    @property
    def key(self) -> Key | None: ...


def of(known: Keyed, table: OpenTable, end: Bound | None, count: int, where: str) -> str:
    """The first `count` rows behind `table.done`, up to `end` or else `table.limit`, for which `where` is true ("":
    all)."""
    if known.key is None:
        raise ValueError(f"{table.table} has no key")
    condition = keys.condition(known.shape, known.key, table.done, end or table.limit)
    if where:
        condition += f" AND ({where})" if condition else f" WHERE ({where})"
    return f"{known.shape.select}{condition}{keys.order(known.shape, known.key)} LIMIT {count}"


def cut(known: Keyed, table: OpenTable, rows: int) -> str:
    """Key of the row `rows` rows behind `table.done`, up to `table.limit`. Columns as of `last`."""
    shape, key = key_only(known)
    condition = keys.condition(shape, key, table.done, table.limit)
    return f"{shape.select}{condition}{keys.order(shape, key)} LIMIT {rows - 1}, 1"


def whole(known: Keyed, where: str) -> str:
    return known.shape.select + (f" WHERE ({where})" if where else "")


def last(known: Keyed) -> str:
    """Columns of the key alone, in the order of the key: see `key_only`."""
    shape, key = key_only(known)
    return f"{shape.select}{keys.order(shape, key, backwards=True)} LIMIT 1"


def key_only(known: Keyed) -> tuple[TableShape, Key]:
    """The table without the columns that are not in its key."""
    if known.key is None:
        raise ValueError(f"{known.shape.name} has no key")
    columns = tuple(known.shape.columns[index] for index in known.key.columns)
    shape = msgspec.structs.replace(known.shape, columns=columns, primary_key=())
    return shape, Key(known.key.name, tuple(range(len(columns))))
