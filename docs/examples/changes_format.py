"""A format of one's own: every row change as `{"table", "op", "row"}`, a delete with the row that went."""

from __future__ import annotations

from replicator.config.task import Records
from replicator.encode.silent import Silent
from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.plan import Image, RecordPlan, Step, TablePlan, Template, Text, Value
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Column, Table

_RENDERERS = {
    **dict.fromkeys(types.INTEGERS, "int"),
    **dict.fromkeys(types.CHARACTERS | types.BLOBS, "text"),
    types.NEWDECIMAL: "decimal_string",
    types.VECTOR: "vector",
}


class Changes(Silent):
    """Args as those of every format: the task's name, its sink's options, "mysql" or "mariadb"."""

    def __init__(self, name: str, sink: Records, server: str) -> None:
        self._name = name

    def plan(self, table: Table, topic: str) -> TablePlan:
        def record(op: str, image: Image) -> RecordPlan:
            head = Text(f'{{"table":{quote(table.qualified)},"op":"{op}","row":')
            key = _object([table.columns[index] for index in table.primary_key], image)
            return RecordPlan(key if table.primary_key else None, (head, *_object(table.columns, image), Text("}")))

        return TablePlan(
            topic=topic,
            insert=(record("insert", "after"),),
            update=(record("update", "after"),),
            delete=(record("delete", "before"),),
        )

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        return self.plan(table, topic)


def _object(columns: tuple[Column, ...] | list[Column], image: Image) -> Template:
    steps: list[Step] = []
    for number, column in enumerate(columns):
        steps.append(Text(("," if number else "{") + quote(column.name) + ":"))
        steps.append(Value(column.index, image, _RENDERERS.get(column.type, "text")))
    return (*steps, Text("}"))
