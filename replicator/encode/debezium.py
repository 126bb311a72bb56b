"""Debezium's envelope, as its MySQL and MariaDB connectors write it with JSON converters and schemas disabled."""

from __future__ import annotations

import uuid
from typing import Final

from replicator.config.task import Records
from replicator.encode.silent import Silent
from replicator.model import types
from replicator.model.jsontext import quote
from replicator.model.plan import Image, RecordPlan, Step, TablePlan, Template, Text, Value, Var
from replicator.model.table import Column, Table

VERSION: Final = "3.6.1.Final"
"""`source.version`: of the Debezium whose bytes these are, not ours. Consumers dispatch on it."""

_RUN: Final = str(uuid.uuid4())
_NEW_KEY: Final = "__debezium.newkey"
_OLD_KEY: Final = "__debezium.oldkey"

_RENDERERS: Final[dict[int, str]] = {
    **dict.fromkeys(types.INTEGERS, "int_java"),
    types.YEAR: "year",
    types.BIT: "bit",
    types.NEWDECIMAL: "decimal_base64",
    types.FLOAT: "float_java",
    types.DOUBLE: "float_java",
    types.DATE: "date_days",
    types.NEWDATE: "date_days",
    types.TIME: "time_us",
    types.TIME2: "time_us",
    types.TIMESTAMP: "timestamp_iso",
    types.TIMESTAMP2: "timestamp_iso",
    types.ENUM: "enum",
    types.SET: "set",
    types.JSON: "json_string",
    types.GEOMETRY: "geometry",
    types.VECTOR: "vector",
}


class Debezium(Silent):
    """Plans for one task.

    Insert: one record, op `c`. Update: op `u`; an update of the primary key: `d` and a tombstone for the old key, `c`
    for the new one, joined by headers. Delete: `d` and a tombstone. Without a primary key the key is null.

    Args:
        name: the connector's logical name, `source.name`: the task's name.
    """

    def __init__(self, name: str, sink: Records, server: str) -> None:
        self._name = name
        self._headers = _context(name, server) if sink.debezium.context_headers else ()

    def plan(self, table: Table, topic: str) -> TablePlan:
        old, new = _key(table, "before"), _key(table, "after")
        created = _envelope(self._name, table, "c", "after")
        deleted = _envelope(self._name, table, "d", "before")
        return TablePlan(
            topic=topic,
            insert=(self._record(new, created),),
            update=(self._record(new, _envelope(self._name, table, "u", "before", "after")),),
            delete=(self._record(old, deleted), self._record(old, None)),
            rekey=self._rekey(old, new, deleted, created),
            keys=table.primary_key,
        )

    def _record(self, key: Template | None, value: Template | None, *first: tuple[str, Template]) -> RecordPlan:
        return RecordPlan(key, value, (*first, *self._headers))

    def _rekey(
        self, old: Template | None, new: Template | None, deleted: Template, created: Template
    ) -> tuple[RecordPlan, ...] | None:
        if old is None or new is None:
            return None
        moved, came = (_NEW_KEY, new), (_OLD_KEY, old)
        return self._record(old, deleted, moved), self._record(old, None, moved), self._record(new, created, came)


def _context(name: str, server: str) -> tuple[tuple[str, Template], ...]:
    """Headers that tell connectors apart. The run id is new in each process, as Debezium's is at each start."""
    parts = {"connectorLogicalName": name, "taskId": "0", "connectorName": server, "runId": _RUN}
    return tuple((f"__debezium.context.{part}", (Text(text),)) for part, text in parts.items())


def _key(table: Table, image: Image) -> Template | None:
    if not table.primary_key:
        return None
    return _object(tuple(table.columns[index] for index in table.primary_key), image)


def _envelope(name: str, table: Table, op: str, *images: Image) -> Template:
    steps: list[Step] = []
    for image, opening in (("before", '{"before":'), ("after", ',"after":')):
        steps.append(Text(opening))
        if image in images:
            steps.extend(_object(table.columns, "before" if image == "before" else "after"))
        else:
            steps.append(Text("null"))
    steps.append(Text(',"source":'))
    steps.extend(_source(name, table))
    steps.append(Text(f',"transaction":null,"op":"{op}","ts_ms":'))
    steps.extend((Var("now_ms"), Text(',"ts_us":'), Var("now_us"), Text(',"ts_ns":'), Var("now_ns"), Text("}")))
    return _joined(steps)


def _source(name: str, table: Table) -> Template:
    connector = "mariadb" if table.mariadb else "mysql"
    return (
        Text(f'{{"version":"{VERSION}","connector":"{connector}","name":{quote(name)},"ts_ms":'),
        Var("ts_ms"),
        Text(f',"snapshot":"false","db":{quote(table.database)},"sequence":null,"ts_us":'),
        Var("ts_us"),
        Text(',"ts_ns":'),
        Var("ts_ns"),
        Text(f',"table":{quote(table.name)},"server_id":'),
        Var("server_id"),
        Text(',"gtid":'),
        Var("gtid"),
        Text(',"file":'),
        Var("file"),
        Text(',"pos":'),
        Var("pos"),
        Text(',"row":'),
        Var("row"),
        Text(',"thread":'),
        Var("thread"),
        Text(',"query":null}'),
    )


def _object(columns: tuple[Column, ...], image: Image) -> Template:
    steps: list[Step] = []
    for number, column in enumerate(columns):
        steps.append(Text(("," if number else "{") + quote(column.name) + ":"))
        steps.append(Value(column.index, image, _renderer(column)))
    return (*steps, Text("}"))


def _renderer(column: Column) -> str:
    """The notation of `time.precision.mode=adaptive_time_microseconds` and `decimal.handling.mode=precise`, Debezium's
    defaults. Types that are not in the table are left to the renderer "text", which refuses them by name."""
    if column.type in (types.DATETIME, types.DATETIME2):
        return "datetime_ms" if column.meta <= 3 else "datetime_us"
    if column.type in types.CHARACTERS or column.type in types.BLOBS or column.type in types.COMPRESSED:
        return "base64" if column.collation == types.BINARY_COLLATION else "text"
    return _RENDERERS.get(column.type, "text")


def _joined(steps: list[Step]) -> Template:
    """Neighbouring literals made one."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        if isinstance(step, Text) and isinstance(last, Text):
            joined[-1] = Text(last.text + step.text)
        else:
            joined.append(step)
    return tuple(joined)
