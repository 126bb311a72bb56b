"""Joins the table of a TABLE_MAP event with its definition from the schema history."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.table import Column, Table
from replicator.schema import types
from replicator.schema.definitions import ColumnDefinition, TableDefinition

_GARBLED: Final = "\N{REPLACEMENT CHARACTER}"


def add_declarations(table: Table, definition: TableDefinition) -> Table:
    """The event has the names. What the definition adds is found by name and must fit the type in the event; a column
    that does not is left without."""
    columns = definition.logged
    known = {column.name: column for column in columns}
    joined = tuple(_declared(column, known.get(column.name), mariadb=table.mariadb) for column in table.columns)
    whole = [column.name for column in table.columns] == [column.name for column in columns]
    return msgspec.structs.replace(
        table,
        columns=joined,
        charset=definition.text.charset if whole else None,
        comment=definition.comment if whole else None,
        unique_key=definition.unique_key if whole else (),
    )


def _declared(column: Column, found: ColumnDefinition | None, *, mariadb: bool) -> Column:
    if found is None or not types.fits(found, column, mariadb=mariadb):
        return column
    members = column.members
    if any(_GARBLED in member for member in members) and len(members) == len(found.declared.arguments):
        # After CONVERT TO CHARACTER SET MySQL logs members in the old character set and says that it is the new one.
        members = found.declared.arguments
    return msgspec.structs.replace(column, members=members, declared=found.declared)


def add_column_names(table: Table, definition: TableDefinition) -> Table | str:
    """The event has types alone; all else comes from the definition, if that fits it everywhere. Else what does not."""
    columns = definition.logged
    if len(columns) != len(table.columns):
        return f"{len(table.columns)} columns in the event, {len(columns)} in the history"
    signed = _says_more(table)
    named: list[Column] = []
    for column, found in zip(table.columns, columns, strict=True):
        expected = types.column(column.index, found, mariadb=table.mariadb)
        if expected is None or not types.fits(found, column, mariadb=table.mariadb):
            return f"column {column.index + 1} is not a {found.declared.type} as `{found.name}` in the history"
        if signed and column.unsigned != expected.unsigned:
            return f"column {column.index + 1} is not signed as `{found.name}` in the history"
        named.append(_named(column, expected))
    return msgspec.structs.replace(
        table,
        columns=tuple(named),
        primary_key=definition.key,
        charset=definition.text.charset,
        comment=definition.comment,
        unique_key=definition.unique_key,
    )


def _says_more(table: Table) -> bool:
    """Whether the event has signs, character sets and geometries: MySQL's MINIMAL does, MariaDB's NO_LOG does not."""
    return any(
        column.unsigned or column.collation is not None or column.geometry is not None for column in table.columns
    )


def _named(column: Column, expected: Column) -> Column:
    """What the event says counts."""
    return msgspec.structs.replace(
        column,
        name=expected.name,
        unsigned=expected.unsigned,
        collation=expected.collation if column.collation is None else column.collation,
        members=expected.members,
        geometry=expected.geometry if column.geometry is None else column.geometry,
        visible=expected.visible,
        dimensions=expected.dimensions if column.dimensions is None else column.dimensions,
        declared=expected.declared,
    )
