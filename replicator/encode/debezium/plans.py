"""Debezium's plans for the rows of a table."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replicator.config.debezium import DebeziumOptions
from replicator.encode.debezium import rows, schemas
from replicator.encode.debezium.rows import Field
from replicator.encode.literals import with_literals
from replicator.model.plan import Image, RecordPlan, Step, TablePlan, Template, Text
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Table

_NEW_KEY: Final = "__debezium.newkey"
_OLD_KEY: Final = "__debezium.oldkey"
_NULL: Final[Template] = (Text("null"),)

_IN_HEADERS: Final = {"unsigned_base64": "int", "decimal_base64": "decimal_java"}
"""Connect writes headers with its SimpleHeaderConverter, which has no bytes for Decimals."""

Headers = tuple[tuple[str, Template], ...]


def plan(table: Table, topic: str, name: str, options: DebeziumOptions, headers: Headers) -> TablePlan:
    """`name`: the connector's logical name; `headers`: of every record."""
    return _Plan(table, topic, name, options, headers).plan()


def snapshot_plan(
    table: Table,
    topic: str,
    name: str,
    options: DebeziumOptions,
    headers: Headers,
    marker: Marker,
    moment: SnapshotMoment,
) -> TablePlan:
    """For rows of a snapshot; otherwise as `plan`. `skipped_operations` do not apply: a snapshot's rows have op `r`."""
    return _Plan(table, topic, name, options, headers).snapshot(marker, moment)


def _in_header(field: Field) -> Field:
    return msgspec.structs.replace(field, renderer=_IN_HEADERS.get(field.renderer, field.renderer))


class _Plan:
    def __init__(self, table: Table, topic: str, name: str, options: DebeziumOptions, headers: Headers) -> None:
        self._table = table
        self._topic = topic
        self._name = name
        self._options = options
        self._headers = headers
        self._row = rows.fields(table, options)
        self._key = tuple(self._row[index] for index in table.primary_key or table.unique_key)
        self._connector = "mariadb" if table.mariadb else "mysql"

    def plan(self) -> TablePlan:
        skipped = self._options.skipped_operations
        old, new = self._keyed("before"), self._keyed("after")
        return TablePlan(
            topic=self._topic,
            insert=() if "c" in skipped else (self._record(new, self._value("c", "after")),),
            update=() if "u" in skipped else (self._record(new, self._value("u", "before", "after")),),
            delete=() if "d" in skipped else self._deleted(old),
            rekey=None if old is None or new is None or "u" in skipped else self._moved(old, new),
            keys=tuple(field.column.index for field in self._key),
        )

    def snapshot(self, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        known = rows.snapshot_variables(moment, whole_seconds=marker != "incremental")
        value = with_literals(self._value("r", "after", snapshot=marker), known)
        record = self._record(self._keyed("after"), rows.joined(value))
        return TablePlan(topic=self._topic, insert=(record,), update=(), delete=())

    def _record(self, key: Template | None, value: Template | None, *first: tuple[str, Template]) -> RecordPlan:
        return RecordPlan(key, value, (*first, *self._headers))

    def _deleted(self, key: Template | None, *first: tuple[str, Template]) -> tuple[RecordPlan, ...]:
        """The delete and its tombstone, as far as they are wanted."""
        unwrap = self._options.unwrap
        said, tombstone = True, self._options.tombstones_on_delete
        if unwrap is not None:
            mode = unwrap.delete_tombstone_handling_mode
            said, tombstone = mode.startswith("rewrite"), mode in ("tombstone", "rewrite-with-tombstone")
        records = []
        if said:
            records.append(self._record(key, self._value("d", "before"), *first))
        if tombstone:
            records.append(self._record(key, None, *first))
        return tuple(records)

    def _moved(self, old: Template, new: Template) -> tuple[RecordPlan, ...]:
        """The old key's end, the new one's beginning; the headers have no schemas."""
        bare = tuple(_in_header(field) for field in self._key)
        bare_old, bare_new = self._payload(bare, "before"), self._payload(bare, "after")
        created = self._record(new, self._value("c", "after"), (_OLD_KEY, bare_old))
        return (*self._deleted(old, (_NEW_KEY, bare_new)), created)

    def _keyed(self, image: Image) -> Template | None:
        if not self._key:
            return None
        payload = self._payload(self._key, image)
        return self._wrapped(schemas.key(self._key, self._topic), payload) if self._options.schemas_enable else payload

    @staticmethod
    def _payload(fields: Iterable[Field], image: Image) -> Template:
        return rows.joined([*rows.obj(fields, image), Text("}")])

    def _value(self, op: str, *images: Image, snapshot: Marker | None = None) -> Template:
        """`snapshot`: marker of a snapshot's row, which is of no transaction."""
        options, table = self._options, self._table
        if options.unwrap is not None:
            rewrite = options.unwrap.delete_tombstone_handling_mode.startswith("rewrite")
            return rows.flat(self._row, table, op, images[-1], rewrite=rewrite, add=options.unwrap.add_fields)
        source = rows.source(
            self._connector,
            self._name,
            table.database,
            table.name,
            query=options.include_query,
            snapshot=snapshot or "false",
        )
        order = rows.ORDER if options.provide_transaction_metadata and snapshot is None else _NULL
        payload = rows.joined(rows.envelope(self._row, source, op, images, order))
        if not options.schemas_enable:
            return payload
        return self._wrapped(schemas.envelope(self._row, self._topic, self._connector), payload)

    @staticmethod
    def _wrapped(schema: str, payload: Iterable[Step]) -> Template:
        return rows.joined([Text(schemas.wrapped(schema)), *payload, Text("}")])
