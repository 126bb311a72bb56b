"""The configuration of a task: every key with its default and meaning."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from replicator.config.annotated import Tables, checked, own_check
from replicator.config.base import Model
from replicator.config.canal import CanalOptions
from replicator.config.database_server import Address, BookReference, DatabaseServer
from replicator.config.debezium import DebeziumOptions
from replicator.config.endpoints import topic_template
from replicator.config.kafka_source import KafkaSource, check_kafka_source
from replicator.config.labels import KEY_PATTERN, MAX_LABELS, VALUE_PATTERN, check_labels
from replicator.config.maxwell import MaxwellOptions
from replicator.config.mysql_sink import MySQLSink, check_supported
from replicator.config.names import MAX_NAME, check_task_name, check_task_topic, check_topic
from replicator.config.sasl import Sasl, check_protected
from replicator.config.skip_replicated import SkipReplicated
from replicator.config.snapshot import Snapshot, SnapshotChoice, snapshot_of
from replicator.config.tables import TableFilter
from replicator.config.tls import Tls
from replicator.config.transforms import Transforms
from replicator.config.verify import Verify, check_verifiable
from replicator.errors import ConfigError

Format = Annotated[Literal["debezium", "maxwell", "canal"], Field(description="format of keys and values")]
Milliseconds = Annotated[int, Field(ge=0, le=86_400_000)]
TaskName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), checked(check_task_name)]
Labels = Annotated[
    dict[Annotated[str, Field(pattern=KEY_PATTERN)], Annotated[str, Field(pattern=VALUE_PATTERN)]],
    checked(check_labels),
]
Topic = Annotated[str, Field(min_length=1, description="template of {task}, {database}, {table}"), checked(check_topic)]


class FilePosition(Model):
    file: str = Field(min_length=1, max_length=255, description="name of the binlog file")
    position: int = Field(ge=4, description="byte offset at which a transaction starts")


class LogPosition(FilePosition):
    server: str = Field(
        "",
        max_length=100,
        description="server that the file belongs to, as written by task fork: SERVER[@CREATED]; checked if set",
    )


class EndPosition(FilePosition):
    gtid: str = Field(
        "", description="executed GTID set at that position, which also holds on other servers of the group"
    )


class GtidPosition(Model):
    gtid: str = Field(min_length=1, description="executed GTID set: its transactions are skipped")
    reached: LogPosition | None = Field(
        None, description="position in the binlog of a server, as written by task fork; checked if set"
    )


def _kind_of_start(value: Any) -> str:
    """Which of the three forms was meant, so that errors speak of that one alone."""
    keys = value if isinstance(value, dict) else vars(value) if isinstance(value, Model) else None
    if keys is None:
        return "a word"
    return "a GTID set" if "gtid" in keys else "a file position"


Start = Annotated[
    Annotated[Literal["latest", "earliest"], Tag("a word")]
    | Annotated[LogPosition, Tag("a file position")]
    | Annotated[GtidPosition, Tag("a GTID set")],
    Discriminator(_kind_of_start),
]


class MySQLSource(DatabaseServer):
    section: ClassVar = "source"

    hosts: tuple[Address, ...] = Field(
        (),
        max_length=20,
        description=(
            "instead of host and port: host:port of the servers of one replication group, all with GTIDs; "
            "the writable server is read, and another one when it fails"
        ),
    )
    user: str = Field(
        min_length=1, description="account with the privileges REPLICATION SLAVE, REPLICATION CLIENT and SELECT"
    )
    tables: Tables = Field(("*.*",), description="patterns database.table with * and ?; a leading ! excludes")
    on_table_error: Literal["fail", "quarantine"] = Field(
        "fail", description="on an error that concerns one table only: stop the task, or put the table in quarantine"
    )
    start: Start = Field(
        "latest",
        description=(
            "start of a task that has no position yet: latest, earliest, {file, position}, {gtid}; with type kafka: "
            "earliest (its default), latest, {offsets: {TOPIC: [OFFSET, ...]}}"
        ),
    )
    snapshot: SnapshotChoice = Field(
        "never",
        description=(
            "rows that exist before the task begins: never delivers changes only; initial also delivers these rows, "
            "while changes are replicated; when_needed does so again if the source has purged the task's position; "
            "{mode, tables, where, ...} with options"
        ),
    )
    until: EndPosition | None = Field(
        None,
        description=(
            "position at which the task ends, for replays; without gtid, only on the server that the "
            "position belongs to"
        ),
    )
    server_id: int | None = Field(
        None, ge=1, le=4294967295, description="replica id of the task; default: derived from its name"
    )
    heartbeat_s: float = Field(
        5, ge=0.1, le=3600, description="seconds without an event after which the server sends a heartbeat"
    )
    row_image: Literal["require_full", "accept_partial"] = Field(
        "require_full",
        description=(
            "row images that lack columns (binlog_row_image MINIMAL, NOBLOB): stop the task, or replicate them"
        ),
    )
    online_schema_change: Literal["hide", "show"] = Field(
        "hide", description="whether to replicate the shadow tables of gh-ost and pt-online-schema-change"
    )
    share: Literal["auto", "never"] = Field(
        "never",
        description=(
            "whether tasks that one Core runs may read this server over one connection: auto, once they have caught "
            "up, those that have it and the same login; never: the task has a separate connection"
        ),
    )

    skip_replicated: SkipReplicated = Field(
        "none",
        description=(
            "loop guard for replication in both directions: leave out transactions that tasks have written to this "
            "server; none, all, or a list of names of these tasks"
        ),
    )

    @model_validator(mode="after")
    def _one_beginning(self) -> MySQLSource:
        return own_check(self, _check_beginning)

    @property
    def snapshots(self) -> Snapshot:
        return snapshot_of(self.snapshot)

    def selection(self, left_out: Collection[str] = ()) -> TableFilter:
        """The tables whose rows the task carries. `left_out`: those in quarantine."""
        excluded = [f"!{table}" for table in sorted(left_out)]
        return TableFilter((*self.tables, *excluded), hide_copies=self.online_schema_change == "hide")


class Records(Model):
    """Options of records that every sink has."""

    topic: Topic | None = Field(
        None,
        description=(
            "topic name, a template with {task}, {database}, {table}; default: as in the system whose format is used"
        ),
    )
    format: Format = "debezium"
    debezium: DebeziumOptions = Field(DebeziumOptions(), description="options of format debezium")
    maxwell: MaxwellOptions = Field(MaxwellOptions(), description="options of format maxwell")
    canal: CanalOptions = Field(CanalOptions(), description="options of format canal")

    @property
    def statements(self) -> bool:
        """Whether the texts of the statements behind rows go into the records."""
        wanted = {
            "debezium": self.debezium.statements, "maxwell": self.maxwell.statements, "canal": self.canal.statements
        }  # fmt: skip
        return wanted.get(self.format, False)

    @property
    def topic_template(self) -> str:
        """`topic`, or the format's own way: one topic per table, or a single one."""
        return topic_template(self.topic, self.format, self.debezium.topic_prefix)


class KafkaSink(Records):
    section: ClassVar[Literal["sink"]] = "sink"

    type: Literal["kafka"] = Field(description="type of the sink")
    bootstrap_servers: tuple[str, ...] = Field(
        (), description="host:port of one or more brokers; required without address"
    )
    address: BookReference | None = Field(
        None,
        description="instead of bootstrap_servers: ddns:APP/DOMAIN, a name of the address book (`replicator ddns`)",
    )
    delivery: Literal["exactly_once", "at_least_once"] = Field(
        "exactly_once", description="exactly_once: records and position in one Kafka transaction"
    )
    create_topics: bool = Field(True, description="create missing topics; false: the task stops as FAILED")
    partitions: int = Field(1, ge=1, le=10_000, description="number of partitions of created topics")
    partitions_changed: Literal["fail", "keep", "accept"] = Field(
        "fail",
        description=(
            "if the number of partitions of a topic has changed since the task first wrote to it: stop, keep "
            "using the former partitions, or use the new number"
        ),
    )
    replication_factor: int = Field(
        -1, ge=-1, le=100, description="replication factor of created topics; -1: the default of the broker"
    )
    max_record_bytes: int = Field(1_048_576, ge=1024, le=1 << 30, description="maximum size of a record")
    oversize: Literal["fail", "dead_letter"] = Field(
        "fail", description="for larger records: stop the task, or write a reference to dead_letter_topic"
    )
    dead_letter_topic: Annotated[str, checked(check_task_topic)] = Field(
        "{task}.dead_letter",
        min_length=1,
        description="topic for references to larger records, a template with {task}",
    )
    compression: Literal["none", "lz4", "zstd", "snappy", "gzip"] = Field(
        "none", description="compression of record batches: fewer bytes, more CPU time"
    )
    max_in_flight_bytes: int = Field(
        16 << 20, ge=1 << 20, le=1 << 32, description="maximum number of bytes sent and not yet acknowledged"
    )
    delivery_timeout_ms: Milliseconds = Field(30_000, description="time after which an unacknowledged batch has failed")
    transaction_timeout_ms: Milliseconds = Field(
        60_000, description="time after which the broker aborts an open transaction"
    )
    tls: Tls | None = Field(None, description="encrypt the connections and verify the brokers")
    sasl: Sasl | None = Field(None, description="SASL login at the brokers")

    @model_validator(mode="after")
    def _sensible(self) -> KafkaSink:
        own_check(self, _check_brokers)
        return own_check(self, lambda sink: check_protected("sink", sink.sasl, sink.tls))


def _check_brokers(sink: KafkaSink) -> None:
    if bool(sink.bootstrap_servers) != bool(sink.address):
        return
    raise ConfigError(
        "E1003",
        "bootstrap_servers and address are both given" if sink.address else "there are no brokers",
        found=f"address: {sink.address}" if sink.address else "no bootstrap_servers",
        wanted="bootstrap_servers, or address",
        fix="Remove one of them." if sink.address else "Set sink.bootstrap_servers to host:port of the brokers.",
    )


def _check_beginning(source: MySQLSource) -> None:
    if source.snapshots.first and source.start != "latest":
        mode = source.snapshots.mode
        raise ConfigError(
            "E1003",
            f"source.snapshot: {mode} delivers the rows as they are now, and source.start begins in the past",
            found=f"source.start: {source.start if isinstance(source.start, str) else 'a position'}",
            wanted="source.start: latest",
            fix="Remove source.start, or set source.snapshot to never.",
        )


class FileSink(Records):
    type: Literal["file"] = Field(description="type of the sink")
    path: str = Field(min_length=1, description="output file with one JSON line per record, in --file-sink-directory")


class StdoutSink(Records):
    type: Literal["stdout"] = Field(description="type of the sink")


Source = Annotated[KafkaSource | MySQLSource, Field(discriminator="type")]
Sink = Annotated[KafkaSink | FileSink | StdoutSink | MySQLSink, Field(discriminator="type")]


class TaskConfig(Model):
    """One source + one sink."""

    name: TaskName = Field(description="unique on the bus; part of topic names and transactional ids")
    labels: Labels = Field(
        {},
        max_length=MAX_LABELS,
        description="key: value, by which `--selector` and the selectors of logins choose tasks",
    )
    source: Source = Field(description="database server, or topics of Kafka, that changes are read from")
    sink: Sink = Field(description="Kafka cluster, file or database server that changes are written to")
    transforms: Transforms = Field(
        Transforms(), description="filters, masks and other changes of rows (`replicator docs transforms`)"
    )
    group: str = Field(
        "",
        pattern=VALUE_PATTERN,
        description="group of Cores that run the task, see their option --group; default: Cores without a group",
    )
    standbys: int = Field(
        1, ge=0, le=20, description="hot standbys in the group; 0: another Core is chosen when that of the task fails"
    )
    weight: int = Field(
        1, ge=1, le=1_000_000, description="share of a Core's --capacity that the task takes, on standbys, too"
    )
    verify: Verify = Field(Verify(), description="verification each night by the Core that runs the task")
    hand_over_after_s: float = Field(
        30,
        ge=0,
        le=86_400,
        description=(
            "seconds without reaching source, sink or schema registry after which a standby that reaches them takes "
            "over; 0: never"
        ),
    )
    checkpoint_interval_ms: Milliseconds = Field(
        1000, description="interval between writes of the position to ZooKeeper"
    )
    max_transaction_bytes: int | None = Field(
        None,
        ge=1 << 16,
        le=1 << 40,
        description=(
            "larger transactions are delivered in several parts; default: every transaction is delivered as a whole"
        ),
    )
    max_batch_bytes: int = Field(
        32 << 20, ge=1 << 16, le=1 << 30, description="maximum size of the transactions that are committed together"
    )

    @model_validator(mode="after")
    def _sink_fits(self) -> TaskConfig:
        return own_check(self, _check_sink)

    @property
    def commit_bytes(self) -> int:
        """`max_batch_bytes`, or less, as the sink likes it."""
        most = self.sink.most_commit_bytes if isinstance(self.sink, MySQLSink) else None
        return min(self.max_batch_bytes, most or self.max_batch_bytes)

    @property
    def database(self) -> MySQLSource:
        """The source where it is a database server. Raises ConfigError E2340: it is topics."""
        if isinstance(self.source, MySQLSource):
            return self.source
        raise ConfigError(
            "E2340",
            "this is not possible for a task whose source is topics of Kafka",
            found="source.type: kafka",
            wanted="source.type: mysql or mariadb",
        )


def _check_sink(config: TaskConfig) -> None:
    check_verifiable(config.verify, config.source.type, config.sink.type)
    if isinstance(config.source, KafkaSource):
        check_kafka_source(config.sink, dict(config.transforms))
        return
    if isinstance(config.sink, MySQLSink):
        source = {"row_image": config.source.row_image, "snapshots": config.source.snapshots}
        check_supported(config.sink, source, dict(config.transforms))
        return
    if any(rule.keys is not None for rule in config.transforms.rename):
        raise ConfigError(
            "E1003",
            f"transforms.rename.keys is not for sinks of type {config.sink.type}",
            found="keys: disjoint",
            wanted="no keys; `transforms.route` lets tables share a topic",
        )
    in_avro = config.sink.format == "debezium" and config.sink.debezium.converter == "avro"
    if config.source.snapshots.marker_topic and in_avro:
        raise ConfigError(
            "E1003",
            "source.snapshot.marker_topic has records that `converter: avro` can't encode",
            found="sink.debezium.converter: avro",
            wanted="converter json, or no marker_topic",
        )
