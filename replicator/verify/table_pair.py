"""A table of the source and its table at the target, as both are read. No server is involved."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import msgspec

from replicator.model import types
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.table_key import Key
from replicator.mysql.table_shape import ColumnShape, TableShape
from replicator.verify.column_pairs import ColumnPair, paired, same_order


class Mapped(msgspec.Struct, frozen=True):
    """A column that the task writes. `hidden`: why its values are not those of the source; "" where they are."""

    source: str
    target: str
    hidden: str = ""


class LeftOut(msgspec.Struct, frozen=True):
    """A column that is not compared."""

    column: str
    reason: str


class ReadTable(msgspec.Struct, frozen=True):
    """One side of a pair: what `mysql.chunk_query` reads. `shape`: the columns that are compared, in their order."""

    shape: TableShape
    key: Key | None


class TablePair(msgspec.Struct, frozen=True):
    """
    Attributes:
        ordered: the key orders both sides alike, so that they are read in chunks of it.
        documents: indexes of columns with JSON whose text may differ.
        integers: for each column None, or whether its integers are signed.
        left_out: columns that are not compared.
        faults: columns that should be compared and can't be.
        where: SQL condition of the source's rows that the target has; "" for all.
        target_where: of the target's rows that come from this table of the source; "" for all.
        constants: columns of the target that `target_where` names, which its keys have in addition.
        shared: the target has rows of other tables, too, and nothing tells them apart: only rows with keys of the
            source are compared.
    """

    source: ReadTable
    target: ReadTable
    ordered: bool
    documents: tuple[int, ...]
    integers: tuple[bool | None, ...]
    left_out: tuple[LeftOut, ...]
    faults: tuple[LeftOut, ...]
    where: str = ""
    target_where: str = ""
    constants: tuple[str, ...] = ()
    shared: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Of the columns, at the source."""
        return tuple(column.name for column in self.source.shape.columns)

    @property
    def key(self) -> tuple[str, ...]:
        return tuple(self.names[index] for index in self.source.key.columns) if self.source.key else ()


class Description(msgspec.Struct, frozen=True):
    """A table as its server describes it. `generated`: names of columns that the server computes."""

    shape: TableShape
    keys: Sequence[Key]
    generated: Collection[str] = ()


def pair(
    source: Description,
    target: Description,
    mapped: Sequence[Mapped],
    where: str = "",
    constants: Mapping[str, str] | None = None,
    *,
    shared: bool = False,
) -> TablePair:
    """
    Args:
        mapped: the columns of the source that the task writes to the target.
        constants: column of the target -> text that the task writes into it, which tells the rows of the source's table
            from those of other ones.
        shared: see `TablePair`.
    """
    constants = {name.lower(): text for name, text in (constants or {}).items()}
    there = {column.name.lower(): column for column in target.shape.columns}
    here = {column.name.lower(): column for column in source.shape.columns}
    generated = {name.lower() for name in target.generated}
    pairs: list[ColumnPair] = []
    left_out, faults = list[LeftOut](), list[LeftOut]()
    for each in mapped:
        mine, its = here[each.source.lower()], there.get(each.target.lower())
        if each.hidden:
            left_out.append(LeftOut(each.source, each.hidden))
        elif each.target.lower() in generated:
            left_out.append(LeftOut(each.source, "generated at the target"))
        elif its is None:
            faults.append(LeftOut(each.source, "missing at the target"))
        elif (found := paired(mine, its)) is None:
            faults.append(LeftOut(each.source, "its type can't be compared with that of the target"))
        else:
            pairs.append(found)
    left_out += _unmapped(source, target, mapped, constants)
    faults += [LeftOut(name, "missing at the target") for name in constants if name not in there]
    keys = _keys(source, target, pairs, constants)
    shapes = [_only(side.shape, columns) for side, columns in _sides(source, target, pairs)]
    ordered = keys is not None and all(
        same_order(here[pairs[index].source.name.lower()], there[pairs[index].target.name.lower()])
        for index in keys[0].columns
    )
    return TablePair(
        ReadTable(shapes[0], keys[0] if keys else None),
        ReadTable(shapes[1], keys[1] if keys else None),
        ordered,
        tuple(index for index, each in enumerate(pairs) if each.kind == "json"),
        tuple(_signed(each.source) for each in pairs),
        tuple(left_out),
        tuple(faults),
        where,
        " AND ".join(equals(there[name], text) for name, text in constants.items() if name in there),
        tuple(there[name].name for name in constants if name in there),
        shared,
    )


def _sides(
    source: Description, target: Description, pairs: Sequence[ColumnPair]
) -> list[tuple[Description, list[ColumnShape]]]:
    return [(source, [each.source for each in pairs]), (target, [each.target for each in pairs])]


def _only(shape: TableShape, columns: Sequence[ColumnShape]) -> TableShape:
    return msgspec.structs.replace(shape, columns=tuple(columns), primary_key=())


def equals(column: ColumnShape, text: str) -> str:
    """A condition by bytes, and one by the column's collation, by which an index is used."""
    name, value = quote_identifier(column.name), f"_utf8mb4 X'{text.encode().hex()}'"
    return f"({name} = {value} AND CAST(CONVERT({name} USING utf8mb4) AS BINARY) = X'{text.encode().hex()}')"


def _unmapped(
    source: Description, target: Description, mapped: Sequence[Mapped], constants: Collection[str]
) -> list[LeftOut]:
    written = {*(each.target.lower() for each in mapped), *constants}
    known = {each.source.lower() for each in mapped}
    return [
        *(LeftOut(c.name, "excluded by the task") for c in source.shape.columns if c.name.lower() not in known),
        *(LeftOut(c.name, "only at the target") for c in target.shape.columns if c.name.lower() not in written),
    ]


def _keys(
    source: Description, target: Description, pairs: Sequence[ColumnPair], constants: Collection[str]
) -> tuple[Key, Key] | None:
    """The first key of the source that is a key of the target, too, and all of whose columns are compared. Columns with
    constants do not count: they are the same in all rows that are read."""
    places = {each.source.name: index for index, each in enumerate(pairs)}
    theirs = {each.target.name: index for index, each in enumerate(pairs)}
    known = [[target.shape.columns[index].name for index in key.columns] for key in target.keys]
    others = [tuple(theirs.get(name, -1) for name in names if name.lower() not in constants) for names in known]
    for key in source.keys:
        columns = tuple(places.get(source.shape.columns[index].name, -1) for index in key.columns)
        if -1 not in columns and columns in others:
            return Key(key.name, columns), Key(target.keys[others.index(columns)].name, columns)
    return None


def _signed(column: ColumnShape) -> bool | None:
    if column.type in (types.ENUM, types.SET):
        return False  # by number
    return not column.unsigned if column.type in types.INTEGERS or column.type == types.YEAR else None
