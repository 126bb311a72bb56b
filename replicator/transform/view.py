"""A table as the format sees it after transforms, with the origin of its columns.

Formats need not know of transforms: they plan for the view, whatever their notation, schemas included. Afterwards the
plan's columns are set back to those of the row images (`column_remap.py`).
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from replicator.model.table import Column, Table


def key_of(table: Table) -> tuple[int, ...]:
    """The columns that keys are made of."""
    return table.primary_key or table.unique_key


class Origin(msgspec.Struct, frozen=True):
    """What a column of the view holds.

    Attributes:
        column: its column at the source; of a constant a column that is never NULL, if there is one.
        constant: JSON text that is there in every row.
        mask: renderer that masks the value.
        wraps: `mask` continues with the name of the renderer that the format chose.
        nothing: every value is replaced by NULL.
    """

    column: int
    constant: str | None = None
    mask: str | None = None
    wraps: bool = False
    nothing: bool = False


class View(msgspec.Struct, frozen=True):
    """`table`: its columns are numbered from 0; `origins`: one for each of them."""

    table: Table
    origins: tuple[Origin, ...]

    @classmethod
    def of(cls, table: Table) -> View:
        return cls(table, tuple(Origin(column.index) for column in table.columns))

    def only(self, indexes: Iterable[int]) -> View:
        """These columns, in their order; what is left of the primary key."""
        kept = sorted(indexes)
        places = {old: new for new, old in enumerate(kept)}
        columns = [msgspec.structs.replace(self.table.columns[old], index=new) for old, new in places.items()]
        key = tuple(places[index] for index in self.table.primary_key if index in places)
        unique = tuple(places[index] for index in self.table.unique_key if set(self.table.unique_key) <= set(places))
        table = msgspec.structs.replace(self.table, columns=tuple(columns), primary_key=key, unique_key=unique)
        return View(table, tuple(self.origins[index] for index in kept))

    def replaced(self, column: Column, origin: Origin | None = None) -> View:
        """`column` in the place that it names."""
        index = column.index
        columns = (*self.table.columns[:index], column, *self.table.columns[index + 1 :])
        origins = self.origins
        if origin is not None:
            origins = (*origins[:index], origin, *origins[index + 1 :])
        return View(msgspec.structs.replace(self.table, columns=columns), origins)

    def with_key(self, column: Column, origin: Origin) -> View:
        """`column` behind the last one, and at the end of the key."""
        table = self.with_column(column, origin).table
        if table.primary_key:
            table = msgspec.structs.replace(table, primary_key=(*table.primary_key, column.index))
        else:
            table = msgspec.structs.replace(table, unique_key=(*table.unique_key, column.index))
        return View(table, (*self.origins, origin))

    def with_column(self, column: Column, origin: Origin) -> View:
        """`column` behind the last one."""
        table = msgspec.structs.replace(self.table, columns=(*self.table.columns, column))
        return View(table, (*self.origins, origin))

    @property
    def untouched(self) -> bool:
        return all(origin == Origin(index) for index, origin in enumerate(self.origins))
