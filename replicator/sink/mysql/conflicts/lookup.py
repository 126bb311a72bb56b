"""How rows of a table at the target are found by the values in row images."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.model import types
from replicator.model.target_table import TargetTable
from replicator.mysql import table_facts
from replicator.mysql.table_facts import TableFacts
from replicator.mysql.table_shape import TableShape
from replicator.sink.mysql import net_layout, target_definition
from replicator.sink.mysql.conflicts import key_literals
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.image_values import Layout

_ODD: Final = "_nopad_ai_cs"
"""MariaDB takes texts for equal whose weights differ: 'a' and 'ä'."""


class Lookup(msgspec.Struct, frozen=True, eq=False):
    """Of one table version.

    Attributes:
        table: its columns at the source.
        shape: the columns of the images as the target has them, in the order of the images.
        layout: of the images.
        uniques: columns of the unique keys besides the primary key.
        folded: columns of keys whose collation takes values with other bytes for equal.
        mariadb: form of the images.
    """

    table: TargetTable
    shape: TableShape
    layout: Layout
    uniques: tuple[tuple[int, ...], ...]
    folded: frozenset[int]

    @property
    def mariadb(self) -> bool:
        return self.table.mariadb


def read(target: Target, table: TargetTable) -> Lookup:
    """
    Raises:
        SinkError: E3450, rows of the table cannot be found by their images; E3421, E3422.
        SinkUnavailable.
    """
    source = table.source or table.qualified
    definition = target_definition.read(target.session, target.server, table.database, table.name, source)
    facts = table_facts.read(target.session, [(table.database, table.name)]).get((table.database, table.name))
    layout = None if facts is None else net_layout.layout_of(table, facts)
    at = {column.name.lower(): column for column in definition.shape.columns}
    columns = tuple(at[column.name.lower()] for column in table.columns if column.name.lower() in at)
    if facts is None or layout is None or len(columns) != len(table.columns):
        raise not_found_by_key(table, "no primary key, or one with columns or parts of columns that are not replicated")
    shape = msgspec.structs.replace(definition.shape, columns=columns, primary_key=())
    unusable = [columns[index].name for index in layout.key if not key_literals.usable(columns[index])]
    if unusable:
        raise not_found_by_key(table, f"primary key of {', '.join(unusable)}: a type that is not compared exactly")
    compressed = [column.name for column in table.columns if column.type in types.COMPRESSED]
    if compressed:
        raise not_found_by_key(table, f"COMPRESSED columns: {', '.join(compressed)}")
    uniques = tuple(_uniques(table, facts, shape))
    keyed = {*layout.key, *(index for key in uniques for index in key)}
    odd = sorted({columns[i].collation_name for i in keyed if columns[i].collation_name.endswith(_ODD)})
    if odd:
        raise not_found_by_key(table, f"collation of a key: {', '.join(odd)}")
    return Lookup(table, shape, layout, uniques, frozenset(i for i in keyed if key_literals.folded(columns[i])))


def _uniques(table: TargetTable, facts: TableFacts, shape: TableShape) -> Iterable[tuple[int, ...]]:
    """Of the others, of parts of columns or expressions, the server says whether a value is there twice."""
    at = {column.name.lower(): column.index for column in table.columns}
    for names in facts.uniques.values():
        key = tuple(at.get(name, -1) for name in names)
        if -1 not in key and all(key_literals.usable(shape.columns[index]) for index in key):
            yield key


def not_found_by_key(table: TargetTable, found: str) -> SinkError:
    return SinkError(
        "E3450",
        f"conflicts in {table.qualified} at the target cannot be resolved",
        found=found,
        wanted="a primary key of whole columns that are replicated, none of FLOAT or DOUBLE; no COMPRESSED columns",
        table=table.source or table.qualified,
    )
