"""Canal's messages, one per row event: flat JSON here, protobuf in `canal_protobuf.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

from replicator.encode.canal_json import quote
from replicator.encode.canal_statements import Statements
from replicator.encode.canal_types import mysql_type, sql_type
from replicator.encode.literals import with_literals
from replicator.model.plan import Each, Image, Member, Members, RecordPlan, Step, TablePlan, Template, Text, Value, Var
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Column, Table

Kind: TypeAlias = Literal["INSERT", "UPDATE", "DELETE"]

_IMAGES: Final[dict[Kind, Image]] = {"INSERT": "after", "UPDATE": "after", "DELETE": "before"}


class Canal(Statements):
    """Flat messages: fields in alphabetical order, every value a string or null, `data` and `old` with a member per
    row. The key is null.

    Args:
        name: of the task.
        sink: `sink.canal` are the options.
    """

    def plan(self, table: Table, topic: str) -> TablePlan:
        return TablePlan(
            topic=topic,
            insert=(RecordPlan(None, self._template_of(table, "INSERT")),),
            update=(RecordPlan(None, self._template_of(table, "UPDATE")),),
            delete=(RecordPlan(None, self._template_of(table, "DELETE")),),
            grouped=True,
        )

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """Canal has no snapshots: they are INSERTs whose `es` is when they were read, and `id` where the snapshot
        began."""
        template = with_literals(self._template_of(table, "INSERT"), {"executed": '""', "pos": str(moment.offset)})
        insert = RecordPlan(None, _joined(template))
        return TablePlan(topic=topic, insert=(insert,), update=(), delete=(), grouped=True)

    def _template_of(self, table: Table, kind: Kind) -> Template:
        image = _IMAGES[kind]
        steps: list[Step] = [
            Text('{"data":['),
            Each((Members(_members(table.columns, image), kept=kind == "UPDATE"),)),
            Text(f'],"database":{quote(table.database)},"es":'),
            Var("event_ms"),
            Text(',"gtid":'),
            Var("executed") if self._options.gtidon else Text('""'),
            Text(',"id":'),
            Var("pos"),
            Text(f',"isDdl":false,"mysqlType":{_declarations(table.columns)},"old":'),
        ]
        if kind == "UPDATE":
            steps += [Text("["), Each((Members(_members(table.columns, "before"), changed=True),)), Text("]")]
        else:
            steps.append(Text("null"))
        steps += [Text(f',"pkNames":{_keys(table)},"sql":"","sqlType":'), *_sql_types(table.columns, image)]
        steps += [Text(f',"table":{quote(table.name)},"ts":'), Var("now_ms"), Text(f',"type":"{kind}"}}')]
        return _joined(steps)


def _members(columns: Iterable[Column], image: Image) -> tuple[Member, ...]:
    return tuple(Member(column.name, Value(column.index, image, "canal")) for column in columns)


def _declarations(columns: Iterable[Column]) -> str:
    return "{" + ",".join(f"{quote(column.name)}:{quote(mysql_type(column))}" for column in columns) + "}"


def _sql_types(columns: Sequence[Column], image: Image) -> list[Step]:
    steps: list[Step] = [Text("{")]
    for number, column in enumerate(columns):
        steps += [Text(("," if number else "") + quote(column.name) + ":"), sql_type(column, image)]
    return [*steps, Text("}")]


def _keys(table: Table) -> str:
    """In the order of the columns, not of the key."""
    names = [quote(column.name) for column in table.columns if column.index in table.primary_key]
    return f"[{','.join(names)}]" if names else "null"


def _joined(steps: Iterable[Step]) -> Template:
    """Neighbouring literals made one."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        if isinstance(step, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + step.text)
        else:
            joined.append(step)
    return tuple(joined)
