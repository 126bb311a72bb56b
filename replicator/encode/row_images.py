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

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.encode.silent import Silent
from replicator.encode.target_statements import TargetStatements
from replicator.errors import ConfigError
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import Image, RawImage, RecordPlan, Step, TablePlan, Text, Var
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Table
from replicator.model.target_table import UNCHECKED, TargetTable, TargetTables
from replicator.pipeline.ports import Interest


class TargetNames:
    """Where rows go: a `TopicNames` of transforms. A topic is the table's name at the source, for errors."""

    def __init__(self) -> None:
        self._sources: dict[tuple[str, str], str] = {}

    def topic(self, table: Table, source: Table) -> str:
        """Raises ConfigError E3441: another table is written to the same table of the target."""
        owner = self._sources.setdefault((table.database.lower(), table.name.lower()), source.qualified)
        if owner != source.qualified:
            raise ConfigError(
                "E3441",
                f"two tables are written to {table.qualified}",
                found=f"{owner} and {source.qualified}",
                wanted="a table at the target for each table",
                fix="Correct `transforms.rename`, or exclude one of the tables with `source.tables`.",
            )
        return source.qualified

    def shared(self, name: str, group: str, source: Table) -> str:
        raise ValueError("sinks that are databases have no routes")


def target_table(table: Table, source: str) -> TargetTable:
    """Args:
    table: as transforms leave it.
    source: `database.table` at the source.
    """
    places = {old: new for new, old in enumerate(_kept(table))}
    columns = tuple(msgspec.structs.replace(table.columns[old], index=new) for old, new in places.items())
    key = tuple(places[index] for index in table.primary_key) if set(table.primary_key) <= set(places) else ()
    omitted = tuple(column.name for column in table.columns if column.index not in places)
    return TargetTable(table.database, table.name, columns, key, table.mariadb, source, omitted)


class RowImages(Silent):
    """Args:
    tables: shared with the sink of the same task.
    statements: makes records of statements; None: there are none.
    """

    def __init__(self, tables: TargetTables, statements: TargetStatements | None = None) -> None:
        self._tables: Final = tables
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
        return self._tables.name(target_table(table, source))

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
