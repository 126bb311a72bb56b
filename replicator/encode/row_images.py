"""The format of sinks that are databases: row images in the encoding of the binlog.

A record's topic names a version of a table (`model/target_table.py`). Its value begins with the byte F where foreign
keys are neither checked nor followed (`plan.Variable`); then there is one byte for the operation, and

    I   a row that was inserted: image after
    R   a row of a snapshot, which may exist at the target: image after
    U   a row that was updated: length of the image before as four bytes, lowest first; image before; image after
    D   a row that was deleted: image before

An image is a row of a rows event (version 1 and 2) with all columns present: null bitmap over the columns of the
`TargetTable`, then the values that are not NULL. Its key is null. Generated columns are in it unless the server of the
source leaves them out of some events (`Table.omits_generated`): then the target computes them.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.encode.silent import Silent
from replicator.encode.target_statements import TargetStatements
from replicator.errors import ConfigError
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import Image, RawImage, RecordPlan, Step, TablePlan, Text, Var
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Table
from replicator.model.target_table import UNCHECKED, Shard, TargetTable, TargetTables
from replicator.pipeline.ports import Interest

ShardOf: TypeAlias = Callable[[Table], Shard | None]


class TargetNames:
    """Where rows go: a `TopicNames` of transforms. A topic is the table's name at the source, for errors.

    Args:
        shard: of a table at the source.
    """

    def __init__(self, shard: ShardOf) -> None:
        self._shard: Final = shard
        self._sources: dict[tuple[str, str], dict[str, Shard | None]] = {}

    def topic(self, table: Table, source: Table) -> str:
        """Raises ConfigError: another table is written to the same table of the target, and nothing tells the rows of
        both apart (E3441), or the added columns do not (E3442)."""
        known = self._sources.setdefault((table.database.lower(), table.name.lower()), {})
        if source.qualified in known:
            return source.qualified
        shard = self._shard(source)
        for other, its in known.items():
            if shard is None or its is None:
                raise ConfigError(
                    "E3441",
                    f"two tables are written to {table.qualified}",
                    found=f"{other} and {source.qualified}",
                    wanted="a table at the target for each table, or rows that can be distinguished",
                    fix="Correct `transforms.rename`; or add a column to the key with `transforms.add` and "
                    "`key: true`; or, if the tables never have rows with the same key, set `keys: disjoint` in "
                    "`transforms.rename`.",
                )
            if shard.columns != its.columns or (shard.columns and _folded(shard) == _folded(its)):
                raise ConfigError(
                    "E3442",
                    f"two tables are written to {table.qualified}, and their rows can't be distinguished",
                    found=f"{other}: {_told(its)}; {source.qualified}: {_told(shard)}",
                    wanted="the same columns of `transforms.add` for all of the tables, with another text in each, "
                    "whatever the case of letters and accents",
                    fix="Correct `transforms.add`: capture the part of the name in which the tables differ.",
                )
        known[source.qualified] = shard
        return source.qualified

    def shard(self, table: Table, source: str) -> Shard | None:
        """Of a table that has a topic, by its name at the source."""
        return self._sources.get((table.database.lower(), table.name.lower()), {}).get(source)

    def shared(self, name: str, group: str, source: Table) -> str:
        raise ValueError("sinks that are databases have no routes")


def _folded(shard: Shard) -> list[str]:
    """Equal for values that some collation takes for equal."""
    plain = (unicodedata.normalize("NFKD", value) for value in shard.values)
    kept = ("".join(char for char in value if unicodedata.category(char)[0] not in "CM") for value in plain)
    return [value.casefold().rstrip() for value in kept]


def _told(shard: Shard) -> str:
    pairs = zip(shard.columns, shard.values, strict=True)
    return ", ".join(f"{column} = '{value}'" for column, value in pairs) or "keys: disjoint"


def target_table(table: Table, source: str, shard: Shard | None = None) -> TargetTable:
    """Args:
    table: as transforms leave it.
    source: `database.table` at the source.
    """
    places = {old: new for new, old in enumerate(_kept(table))}
    columns = tuple(msgspec.structs.replace(table.columns[old], index=new) for old, new in places.items())
    key = tuple(places[index] for index in table.primary_key) if set(table.primary_key) <= set(places) else ()
    omitted = tuple(column.name for column in table.columns if column.index not in places)
    return TargetTable(table.database, table.name, columns, key, table.mariadb, source, omitted, shard)


class RowImages(Silent):
    """Args:
    tables: shared with the sink of the same task.
    statements: makes records of statements; None: there are none.
    shards: of tables, by their names at the source.
    """

    def __init__(
        self, tables: TargetTables, statements: TargetStatements | None = None, shards: TargetNames | None = None
    ) -> None:
        self._tables: Final = tables
        self._shards: Final = shards
        self._statements: Final = statements
        if statements is not None:
            self.interests: frozenset[Interest] = frozenset({"statement", "barrier"})

    def plan(self, table: Table, topic: str) -> TablePlan:
        return TablePlan(
            topic=self._name(table, topic),
            insert=(_record("I", _image(table, "after")),),
            update=(_record("U", _image(table, "before", sized=True), _image(table, "after")),),
            delete=(_record("D", _image(table, "before")),),
        )

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        read = Text(UNCHECKED.decode() + "R"), _image(table, "after")
        return TablePlan(topic=self._name(table, topic), insert=(RecordPlan(None, read),), update=(), delete=())

    def _name(self, table: Table, source: str) -> str:
        shard = self._shards.shard(table, source) if self._shards is not None else None
        return self._tables.name(target_table(table, source, shard))

    # What is not rows

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        message = self._statements.message(statement, moment) if self._statements is not None else None
        return () if message is None else (message,)


def _record(operation: str, *images: RawImage) -> RecordPlan:
    value: tuple[Step, ...] = (Var("unchecked", before=UNCHECKED.decode()), Text(operation), *images)
    return RecordPlan(None, value)


def _image(table: Table, image: Image, *, sized: bool = False) -> RawImage:
    return RawImage(_kept(table), image, sized)


def _kept(table: Table) -> tuple[int, ...]:
    """Columns that images have."""
    return tuple(
        index
        for index, column in enumerate(table.columns)
        if not (table.omits_generated and column.declared is not None and column.declared.generated)
    )
