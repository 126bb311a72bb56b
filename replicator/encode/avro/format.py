"""The Avro format: Debezium's plans and records, encoded with schemas from the registry."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replicator.config.task import Records
from replicator.encode.avro import shapes
from replicator.encode.avro.encoder import Encoder
from replicator.encode.avro.names import adjusted
from replicator.encode.avro.registry import Registry
from replicator.encode.debezium import Debezium
from replicator.errors import ConfigError, DecodeError
from replicator.model.encoding import AvroRecords
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.plan import TablePlan
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.table import Table


class AvroDebezium(Debezium):
    """Plans write the JSON of a record; `TablePlan.encode` makes Avro of it. Subjects are TOPIC-key and TOPIC-value.

    Args:
        registry: in place of the one that the options name.
    """

    def __init__(self, name: str, sink: Records, server: str, registry: Registry | None = None) -> None:
        super().__init__(name, sink, server)
        if self._options.schema_registry is None:
            raise ConfigError("E1004", "`converter: avro` requires `sink.debezium.schema_registry`")
        self._registry = registry or Registry(self._options.schema_registry)
        self._encoders: dict[tuple[str, str], Encoder] = {}
        self._envelopes: dict[str, str] = {}
        """By topic, of the table that was planned last."""
        self._changed: dict[tuple[str, str], Table] = {}

    def plan(self, table: Table, topic: str) -> TablePlan:
        """Raises DecodeError E2307: columns whose names Avro does not have, or can't tell apart."""
        fit, encode = self._fit(table, topic)
        return msgspec.structs.replace(super().plan(fit, topic), encode=encode)

    def snapshot_plan(self, table: Table, topic: str, marker: Marker, moment: SnapshotMoment) -> TablePlan:
        """Subjects and schemas are those of streamed rows. Raises what `plan` does."""
        fit, encode = self._fit(table, topic)
        return msgspec.structs.replace(super().snapshot_plan(fit, topic, marker, moment), encode=encode)

    def _fit(self, table: Table, topic: str) -> tuple[Table, AvroRecords]:
        """The table with Avro's names, and the encoding of its records."""
        fit = shapes.fitting(table, self._options.field_name_adjustment_mode)
        shape = shapes.shape(fit, self._named(topic), self._options)
        self._envelopes[topic] = shape.value
        key = None if shape.key is None else self._encoder(f"{topic}-key", shape.key)
        return fit, AvroRecords(key, self._encoder(f"{topic}-value", shape.value))

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        self._changed = {
            (change.database, change.name): change.table for change in statement.changes if change.table is not None
        }
        return super().statement(statement, moment)

    def _envelope(self, database: str, name: str, topic: str) -> str:
        """Of the table's rows: the topic has no schema but theirs."""
        table = self._changed.get((database, name))
        if table is not None:
            fit = shapes.fitting(table, self._options.field_name_adjustment_mode)
            self._envelopes[topic] = shapes.shape(fit, self._named(topic), self._options).value
        if topic not in self._envelopes:
            raise DecodeError(
                "E2307",
                f"the schema of TRUNCATE {database}.{name} is the one of its rows, which is unknown",
                wanted="a table definition in the schema history, or an earlier row",
                fix="Keep `t` in `skipped_operations`.",
            )
        return self._envelopes[topic]

    def _message(
        self, topic: str, key: str | None, value: str, key_schema: str, value_schema: str, *, headers: bool = True
    ) -> Message:
        plain = super()._message(topic, key, value, key_schema, value_schema, headers=headers)
        made = None if plain.key is None else self._encoder(f"{topic}-key", key_schema)(plain.key)
        body = None if plain.value is None else self._encoder(f"{topic}-value", value_schema)(plain.value)
        return msgspec.structs.replace(plain, key=made, value=body)

    def _encoder(self, subject: str, connect: str) -> Encoder:
        key = subject, connect
        if key not in self._encoders:
            self._encoders[key] = Encoder(self._registry, subject, connect)
        return self._encoders[key]

    def _named(self, topic: str) -> str:
        return adjusted(topic, self._options.schema_name_adjustment_mode, dots=True)
