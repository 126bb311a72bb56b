"""Rows of records as row images of their tables at the target."""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import msgspec

from replicator.decode.topics.values import Notation, Pack, packer, sent_type
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.table import Column
from replicator.model.target_table import TargetTable, TargetTables
from replicator.mysql.row_images.row_image import RowImages
from replicator.mysql.table_shape import BINARY, ColumnShape, TableShape

Values: TypeAlias = Mapping[str, msgspec.Raw]
"""JSON of each column, by its name."""
NotationOf: TypeAlias = Callable[[ColumnShape], "Notation | None"]
"""How a format writes values of a column; None: not so that they can be read back."""

_NULL: Final = b"null"


class TargetDefinition(msgspec.Struct, frozen=True):
    """
    Attributes:
        shape: the table at the target.
        key: columns of its primary key, in lower case.
        uniques: names of its other unique keys.
        cascades: foreign keys by which a change of another table changes its rows.
        mariadb: the target is one.
    """

    shape: TableShape
    key: tuple[str, ...]
    uniques: tuple[str, ...] = ()
    cascades: tuple[str, ...] = ()
    mariadb: bool = False


Definitions: TypeAlias = Callable[[str, str], TargetDefinition]
"""(database, table) -> its definition. Raises SinkError, SinkUnavailable."""


class Writer:
    """Images of one table, of records with the same columns.

    Attributes:
        topic: name in `TargetTables`.
        key: names of the key's columns, as records have them.
        spread_problem: why changes of the table must not be in several partitions; "": they may be.
    """

    def __init__(
        self, definition: TargetDefinition, names: tuple[str, ...], notation: NotationOf, tables: TargetTables
    ) -> None:
        """Raises DecodeError E2351, E2352."""
        shape = definition.shape
        given = {name.lower(): name for name in names}
        self._table = f"{shape.database}.{shape.name}"
        self._check(definition, given)
        self.spread_problem: Final = _spread_problem(definition)
        columns = [column for column in shape.columns if column.name.lower() in given]
        self._columns = [
            (given[column.name.lower()], column.nullable, self._packer(column, notation)) for column in columns
        ]
        self._images = RowImages(columns, [sent_type(column) for column in columns], mariadb=definition.mariadb)
        self._bitmap = (len(columns) + 9) // 8
        places = {column.name.lower(): index for index, column in enumerate(columns)}
        key = tuple(places[name] for name in definition.key)
        self._key = frozenset(definition.key)
        self.key: Final = tuple(self._columns[place][0] for place in key)
        its = tuple(map(_column, range(len(columns)), columns))
        self.topic: Final = tables.name(
            TargetTable(shape.database, shape.name, its, key, definition.mariadb, self._table)
        )

    def image(self, row: Values) -> bytes:
        """Raises DecodeError E2350, without a position."""
        nulls, parts = 0, []
        for index, (name, nullable, pack) in enumerate(self._columns):
            raw = bytes(row[name])
            if raw == _NULL:
                if not nullable:
                    raise self._unfit(name, "NULL, where the column is NOT NULL")
                nulls |= 4 << index
                continue
            try:
                parts.append(pack(raw))
            except (ValueError, OverflowError, struct.error) as error:
                raise self._unfit(name, str(error)) from error
        packet = b"\0" + nulls.to_bytes(self._bitmap, "little") + b"".join(parts)
        try:
            return self._images.image(packet)
        except (ValueError, IndexError, struct.error) as error:
            raise self._unfit("a column", str(error)) from error

    def _check(self, definition: TargetDefinition, given: Mapping[str, str]) -> None:
        has = {column.name.lower() for column in definition.shape.columns}
        unknown = [name for lower, name in given.items() if lower not in has]
        if unknown:
            raise DecodeError(
                "E2351", f"{self._table} at the target has no column {', '.join(unknown[:10])}", table=self._table
            )
        missing = [name for name in definition.key if name not in given]
        if missing or not definition.key:
            found = f"no {', '.join(missing)} in the records" if missing else "no primary key"
            raise self._unsuitable(found, "a primary key, whose columns the records have")
        if definition.cascades:
            raise self._unsuitable(
                f"foreign key {definition.cascades[0]} changes rows of the table",
                "foreign keys without ON DELETE and ON UPDATE actions: partitions are not in the order of the source",
            )

    def _packer(self, column: ColumnShape, notation: NotationOf) -> Pack:
        how = notation(column)
        if how is None:
            raise self._unsuitable(
                f"column {column.name}: the format does not write all of its values", "format debezium for this type"
            )
        return packer(column, how)

    def check_key(self, names: frozenset[str]) -> None:
        """`names`: of the columns in the key of a record, in lower case. Raises DecodeError E2352."""
        if names != self._key:
            raise self._unsuitable(
                f"key of the records: {', '.join(sorted(names)) or 'none'}",
                f"the primary key of the target: {', '.join(sorted(self._key))}",
            )

    def _unsuitable(self, found: str, wanted: str) -> DecodeError:
        what = f"records can't be applied to {self._table}"
        return DecodeError("E2352", what, found=found, wanted=wanted, table=self._table)

    def _unfit(self, column: str, found: str) -> DecodeError:
        return DecodeError(
            "E2350", f"a value of {self._table}.{column} can't be stored", found=found, table=self._table
        )


_NO_PAD: Final = ("_0900_bin", "_nopad_bin")


def _spread_problem(definition: TargetDefinition) -> str:
    """A partition may be read before another one: then a row that takes a unique value comes before the one that gave
    it up. The values of a primary key are in one partition only if equal ones have the same bytes."""
    if definition.uniques:
        return f"unique key {definition.uniques[0]}"
    for column in definition.shape.columns:
        text = column.type in types.CHARACTERS | types.BLOBS and column.collation != BINARY
        if text and column.name.lower() in definition.key and not column.collation_name.endswith(_NO_PAD):
            return f"primary key of {column.name} with collation {column.collation_name}"
    return ""


class Writers:
    """Those of one stream: a table that was altered at the target is read again by the next one."""

    def __init__(self, definitions: Definitions, notation: NotationOf, tables: TargetTables) -> None:
        self._definitions = definitions
        self._notation = notation
        self._tables = tables
        self._known: dict[tuple[str, str], TargetDefinition] = {}
        self._writers: dict[tuple[str, str, tuple[str, ...]], Writer] = {}

    def of(self, database: str, table: str, row: Values) -> Writer:
        """Raises DecodeError, SinkError, SinkUnavailable."""
        names = tuple(row)
        writer = self._writers.get((database, table, names))
        if writer is None:
            known = self._known.get((database, table))
            if known is None:
                known = self._known[database, table] = self._definitions(database, table)
            writer = self._writers[database, table, names] = Writer(known, names, self._notation, self._tables)
        return writer


def _column(index: int, shape: ColumnShape) -> Column:
    return Column(
        index,
        shape.name,
        shape.type,
        shape.meta,
        shape.nullable,
        shape.unsigned,
        shape.collation,
        shape.texts,
        shape.geometry,
        shape.visible,
        shape.dimensions,
    )
