"""Maxwell's messages: one record per row change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.encode.literals import literal
from replicator.encode.maxwell_ddl import Statements, schema_id
from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.metadata_event import Message
from replicator.model.plan import (
    Deferred,
    Image,
    Member,
    Members,
    RecordPlan,
    Step,
    TablePlan,
    Template,
    Text,
    Value,
    Var,
    Variable,
)
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.snapshot_steps import SnapshotStep, TableBegins, TableEnds
from replicator.model.table import Column, Table
from replicator.model.uuids import row_uuid

Kind: TypeAlias = Literal["insert", "update", "delete", "bootstrap-start", "bootstrap-insert", "bootstrap-complete"]

_IMAGES: Final[dict[Kind, Image]] = {
    "insert": "after",
    "update": "after",
    "delete": "before",
    "bootstrap-start": "after",
    "bootstrap-insert": "after",
    "bootstrap-complete": "after",
}

_RENDERERS: Final[dict[int, str]] = {
    **dict.fromkeys(types.INTEGERS, "int"),
    types.YEAR: "year",
    types.BIT: "bit_int",
    types.NEWDECIMAL: "decimal_java",
    types.FLOAT: "float_java",
    types.DOUBLE: "float_java",
    types.ENUM: "enum_or_null",
    types.SET: "set_array",
    types.JSON: "json",
    types.GEOMETRY: "wkt",
    types.VECTOR: "vector",
}
_TEMPORAL: Final = frozenset(
    {
        types.DATE,
        types.NEWDATE,
        types.TIME,
        types.TIME2,
        types.DATETIME,
        types.DATETIME2,
        types.TIMESTAMP,
        types.TIMESTAMP2,
    }
)
_CHARACTERS: Final = types.CHARACTERS | types.BLOBS | types.COMPRESSED


class Maxwell(Statements):
    """Insert, update, delete: one record each, `data` is the row after the change (before a delete), `old` has what an
    update changed. A changed primary key is an update whose key is the new one.

    Args:
        name: of the task.
        sink: `sink.maxwell` are the options.
    """

    def plan(self, table: Table, topic: str) -> TablePlan:
        return TablePlan(
            topic=topic,
            insert=(self._record(table, "insert"),),
            update=(self._record(table, "update"),),
            delete=(self._record(table, "delete"),),
            route=self._route(table),
        )

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """One record, as Maxwell's bootstrap has it. It is of no transaction: without position, GTID, xid, query, and
        by key to partitions where transactions choose them."""
        by_transaction = self._options.producer_partition_by == "transaction_id"
        record = self._record(table, "bootstrap-insert")
        route = _together(table) if by_transaction else self._route(table)
        return TablePlan(topic=topic, insert=(record,), update=(), delete=(), route=route)

    def snapshot_messages(self, step: SnapshotStep, topic: str, moment: SnapshotMoment) -> Sequence[Message]:
        """bootstrap-start and bootstrap-complete of each table."""
        if isinstance(step, TableBegins):
            return (self._bootstrap("bootstrap-start", step.table, step.time_s, topic, moment),)
        if isinstance(step, TableEnds):
            bare = msgspec.structs.replace(step.table, primary_key=())  # Maxwell does not say the key here
            return (self._bootstrap("bootstrap-complete", bare, step.time_s, topic, moment),)
        return tuple(super().snapshot_messages(step, topic, moment))

    def _bootstrap(self, kind: Kind, table: Table, time_s: int, topic: str, moment: SnapshotMoment) -> Message:
        """Its key has the names of the key's columns, and nulls."""
        place = f"{moment.file}:{moment.offset} {table.qualified} {kind}".encode()
        known: dict[Variable, str] = {"event_s": str(time_s), "uuid": f'"{row_uuid(place, 0)}"'}
        key = literal(_without_values(self._key(table, "after")), known)
        value = literal(_without_values(self._steps(table, kind)), known)
        by = {"database": table.database, "table": table.name}.get(self._options.producer_partition_by)
        return Message(topic, key.encode(), value.encode(), route=by.encode() if by is not None else None)

    def _route(self, table: Table) -> Template | None:
        match self._options.producer_partition_by:
            case "database":
                return (Text(table.database),)
            case "table":
                return (Text(table.name),)
            case "transaction_id":
                return (Var("gtid"),)
        return _together(table)

    def _record(self, table: Table, kind: Kind) -> RecordPlan:
        image = _IMAGES[kind]
        return RecordPlan(self._key(table, image), joined(self._steps(table, kind)))

    def _key(self, table: Table, image: Image) -> Template:
        """Without a primary key: by name a UUID, always the same for a row; as an array an empty one."""
        steps: list[Step] = []
        if self._options.kafka_key_format == "array":
            steps.append(Text(f"[{quote(table.database)},{quote(table.name)},["))
            for number, column in enumerate(_key_columns(table)):
                steps += [Text(f"{',' if number else ''}{{{quote(column.name.lower())}:"), self._value(column, image)]
                steps.append(Text("}"))
            return joined([*steps, Text("]]")])
        steps.append(Text(f'{{"database":{quote(table.database)},"table":{quote(table.name)}'))
        for column in _key_columns(table):
            steps += [Text(f",{quote('pk.' + column.name.lower())}:"), self._value(column, image)]
        if not table.primary_key:
            steps += [Text(',"_uuid":'), Var("uuid")]
        return joined([*steps, Text("}")])

    def _steps(self, table: Table, kind: Kind) -> Iterator[Step]:
        options, image = self._options, _IMAGES[kind]
        yield Text(f'{{"database":{quote(table.database)},"table":{quote(table.name)}')
        logged = not kind.startswith("bootstrap")
        if options.output_row_query and logged:
            yield Var("query", before=',"query":')
        yield Text(f',"type":"{kind}","ts":')
        yield Var("event_s")
        if options.output_commit_info and logged:
            yield _COMMIT_XOFFSET if options.output_xoffset else _COMMIT
        if logged:
            yield from self._origin()
        if options.output_schema_id and kind not in _BORDERS:
            yield Text(f',"schema_id":{schema_id(table)}')
        yield from self._primary_key(table, image)
        yield Text(',"data":')
        yield self._members(table, image, changed=False)
        if kind == "update":
            yield self._members(table, "before", changed=True)
        yield Text("}")

    def _origin(self) -> Iterator[Step]:
        options = self._options
        if options.output_binlog_position:
            yield Text(',"position":')
            yield Var("position")
        if options.output_gtid_position:
            yield Text(',"gtid":')
            yield Var("gtid")
        if options.output_server_id:
            yield Text(',"server_id":')
            yield Var("server_id")
        if options.output_thread_id:
            yield Var("thread", before=',"thread_id":')

    def _primary_key(self, table: Table, image: Image) -> Iterator[Step]:
        columns = _key_columns(table)
        if self._options.output_primary_keys:
            yield Text(',"primary_key":[')
            for number, column in enumerate(columns):
                if number:
                    yield Text(",")
                yield self._value(column, image)
            yield Text("]")
        if self._options.output_primary_key_columns:
            yield Text(f',"primary_key_columns":[{",".join(quote(column.name) for column in columns)}]')

    def _members(self, table: Table, image: Image, *, changed: bool) -> Members:
        members = tuple(Member(column.name, self._value(column, image)) for column in table.columns)
        nulls = self._options.output_nulls
        if not changed:
            return Members(members, kept=image == "after", nulls=nulls)
        # An update that changed NULLs alone keeps its empty object, as Maxwell's does.
        return Members(members, changed=True, nulls=nulls, before=',"old":', empty="" if nulls else ',"old":{}')

    def _value(self, column: Column, image: Image) -> Value:
        return Value(column.index, image, self._renderer(column))

    def _renderer(self, column: Column) -> str:
        """Types that are not known are left to the renderer "text", which refuses them by name."""
        if column.type in _TEMPORAL:
            return "temporal_or_null" if self._options.output_null_zerodates else "temporal"
        if column.type in _CHARACTERS and column.collation == types.BINARY_COLLATION:
            return "base64"
        return _RENDERERS.get(column.type, "text")


_BORDERS: Final = frozenset({"bootstrap-start", "bootstrap-complete"})
_XID: Final = Var("xid", before=',"xid":')
_LAST: Final = (_XID, Text(',"commit":true'))
_COMMIT: Final = Deferred(row=(_XID,), last=_LAST)
_COMMIT_XOFFSET: Final = Deferred(row=(_XID, Text(',"xoffset":'), Var("offset")), last=_LAST)


def _without_values(template: Iterable[Step]) -> Template:
    """Of a record that is of no row: its values are null, its objects empty."""
    empty = {Value: Text("null"), Members: Text("{}")}
    return tuple(empty.get(type(step), step) for step in template)


def _together(table: Table) -> Template | None:
    """By key; rows of a table without one stay together."""
    return None if table.primary_key else (Text(table.database + table.name),)


def _key_columns(table: Table) -> list[Column]:
    """In key order."""
    return [table.columns[index] for index in table.primary_key]


def joined(steps: Iterable[Step]) -> Template:
    """Neighbouring literals made one."""
    found: list[Step] = []
    for step in steps:
        last = found[-1] if found else None
        if isinstance(step, Text) and isinstance(last, Text):
            found[-1] = Text(last.text + step.text)
        else:
            found.append(step)
    return tuple(found)
