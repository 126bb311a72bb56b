"""Configuration of a source that is topics of Kafka, written by a task of this bus."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from replicator.config.annotated import Tables, own_check
from replicator.config.base import Model
from replicator.config.mysql_sink import MySQLSink
from replicator.config.sasl import Sasl, check_protected
from replicator.config.snapshot import Snapshot
from replicator.config.tables import TableFilter
from replicator.config.tls import Tls
from replicator.errors import ConfigError

TopicPattern = Annotated[str, Field(pattern=r"^[A-Za-z0-9._*?-]{1,249}$")]


class RecordNotation(Model):
    """Options of format debezium that the values of records do not show. All others must have values that lose
    nothing: see `replicator docs kafka-source`."""

    decimal_handling_mode: Literal["precise", "string"] = Field(
        "precise",
        description="as in the task that writes the topics: DECIMAL as Base64 of the unscaled value, or string",
    )
    time_precision_mode: Literal["adaptive_time_microseconds", "microseconds"] = Field(
        "adaptive_time_microseconds", description="as in the task that writes the topics: unit of DATETIME"
    )
    bigint_unsigned_handling_mode: Literal["long", "precise"] = Field(
        "long", description="as in the task that writes the topics: BIGINT UNSIGNED as signed number, or Base64"
    )
    binary_handling_mode: Literal["bytes", "base64", "base64-url-safe", "hex"] = Field(
        "bytes", description="as in the task that writes the topics: notation of BINARY, VARBINARY and BLOBs"
    )


class Offsets(Model):
    offsets: dict[str, tuple[Annotated[int, Field(ge=0)], ...]] = Field(
        min_length=1, description="topic: offset of the first record of each partition, from partition 0 on"
    )


def _kind_of_start(value: Any) -> str:
    return "offsets" if isinstance(value, dict | Model) else "a word"


TopicStart = Annotated[
    Annotated[Literal["latest", "earliest"], Tag("a word")] | Annotated[Offsets, Tag("offsets")],
    Discriminator(_kind_of_start),
]


class KafkaSource(Model):
    """The attributes without a description are as `MySQLSource` has them, for code that is the same for all sources."""

    section: ClassVar[Literal["source"]] = "source"
    snapshots: ClassVar[Snapshot] = Snapshot(mode="never")
    row_image: ClassVar[Literal["require_full"]] = "require_full"
    online_schema_change: ClassVar[Literal["show"]] = "show"

    type: Literal["kafka"] = Field(description="type of the source")
    bootstrap_servers: tuple[str, ...] = Field(min_length=1, description="host:port of one or more brokers")
    topics: tuple[TopicPattern, ...] = Field(
        min_length=1, max_length=1000, description="names of topics, or patterns with * and ?"
    )
    format: Literal["debezium", "maxwell"] = Field(
        "debezium", description="format of the records: JSON of debezium or maxwell, as written by a task of this bus"
    )
    debezium: RecordNotation = Field(RecordNotation(), description="options of format debezium")
    one_partition_per_table: bool = Field(
        False,
        description=(
            "all records of a table are in one partition (maxwell with producer_partition_by database or table): "
            "allows topics with several partitions for all tables; false: each record is in the partition of its key"
        ),
    )
    tables: Tables = Field(("*.*",), description="patterns database.table with * and ?; a leading ! excludes")
    start: TopicStart = Field(
        "earliest", description="start of a task that has no position yet: earliest, latest, {offsets: {TOPIC: [...]}}"
    )
    tls: Tls | None = Field(None, description="encrypt the connections and verify the brokers")
    sasl: Sasl | None = Field(None, description="SASL login at the brokers")

    @model_validator(mode="after")
    def _sensible(self) -> KafkaSource:
        return own_check(self, lambda source: check_protected("source", source.sasl, source.tls))

    def selection(self) -> TableFilter:
        return TableFilter(self.tables)


def check_kafka_source(sink: object, transforms: dict[str, Any]) -> None:
    """`sink`, `transforms`: of the task. Raises ConfigError E2340 for what makes no sense with a source of topics."""
    if not isinstance(sink, MySQLSink):
        kind = getattr(sink, "type", "")
        raise ConfigError(
            "E2340",
            f"sources of type kafka can't be combined with sinks of type {kind}",
            found=f"sink.type: {kind}",
            wanted="sink.type: mysql or mariadb",
            fix="To copy topics between clusters, use MirrorMaker.",
        )
    given = [name for name, value in transforms.items() if value]
    if given:
        raise ConfigError(
            "E2340",
            f"transforms.{given[0]} is not supported by sources of type kafka",
            found=f"transforms.{given[0]}",
            wanted="transforms in the task that writes the topics",
        )
    if sink.conflict != "stop":
        raise ConfigError(
            "E2340",
            "sink.conflict is not supported by sources of type kafka: the target's rows become what the records say",
            found="sink.conflict",
            wanted="no sink.conflict",
        )
    if sink.create_tables:
        raise ConfigError(
            "E2340",
            "sink.create_tables is not supported by sources of type kafka: topics have no definitions of tables",
            found="sink.create_tables: true",
            wanted="tables that exist at the target",
        )
