"""SELECT statements of chunks, of whole tables, and of the last row of a table."""

from __future__ import annotations

import msgspec

from replicator.model.snapshot import OpenTable
from replicator.source.mysql.snapshot import key as keys
from replicator.source.mysql.snapshot.definition import Definition
from replicator.source.mysql.snapshot.key import Key
from replicator.source.mysql.snapshot.shape import TableShape


def of(known: Definition, table: OpenTable, count: int, where: str) -> str:
    """The first `count` rows behind `table.done`, up to `table.limit`, for which `where` is true ("": all)."""
    if known.key is None:
        raise ValueError(f"{table.table} has no key")
    condition = keys.condition(known.shape, known.key, table.done, table.limit)
    if where:
        condition += f" AND ({where})" if condition else f" WHERE ({where})"
    return f"{known.shape.select}{condition}{keys.order(known.shape, known.key)} LIMIT {count}"


def whole(known: Definition, where: str) -> str:
    return known.shape.select + (f" WHERE ({where})" if where else "")


def last(known: Definition) -> str:
    """Columns of the key alone, in the order of the key: see `key_only`."""
    shape, key = key_only(known)
    return f"{shape.select}{keys.order(shape, key, backwards=True)} LIMIT 1"


def key_only(known: Definition) -> tuple[TableShape, Key]:
    """The table without the columns that are not in its key."""
    if known.key is None:
        raise ValueError(f"{known.shape.name} has no key")
    columns = tuple(known.shape.columns[index] for index in known.key.columns)
    shape = msgspec.structs.replace(known.shape, columns=columns, primary_key=())
    return shape, Key(known.key.name, tuple(range(len(columns))))
