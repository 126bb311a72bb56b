"""The configuration of a task: every key, its default and its meaning, in one place."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from replicator.config.annotated import SecretRef, Tables, checked, own_check
from replicator.config.base import Model
from replicator.config.canal import CanalOptions
from replicator.config.debezium import DebeziumOptions
from replicator.config.maxwell import MaxwellOptions
from replicator.config.names import MAX_NAME, check_task_name, check_task_topic, check_topic
from replicator.config.sasl import Sasl
from replicator.config.tables import TableFilter
from replicator.config.tls import Tls
from replicator.config.transforms import Transforms
from replicator.errors import ConfigError

Format = Annotated[
    Literal["debezium", "maxwell", "canal"], Field(description="bytes of key and value that consumers see")
]
Port = Annotated[int, Field(ge=1, le=65535)]
Address = Annotated[str, Field(pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):\d{1,5}$", description="host:port")]
DEFAULT_ADDRESS: Final = ("127.0.0.1", 3306)
"""Of a source without host, port and hosts."""
Milliseconds = Annotated[int, Field(ge=0, le=86_400_000)]
TaskName = Annotated[str, Field(min_length=1, max_length=MAX_NAME), checked(check_task_name)]
Topic = Annotated[str, Field(min_length=1, description="template of {task}, {database}, {table}"), checked(check_topic)]


class FilePosition(Model):
    file: str = Field(min_length=1, max_length=255)
    position: int = Field(ge=4, description="byte offset of a transaction's start")


class LogPosition(FilePosition):
    server: str = Field(
        "", max_length=100, description="whose file that is, as task fork writes it: SERVER[@CREATED]; checked when set"
    )


class EndPosition(FilePosition):
    gtid: str = Field("", description="the executed GTID set there: what tells on another server of the group")


class GtidPosition(Model):
    gtid: str = Field(min_length=1, description="executed GTID set: everything in it is skipped")
    reached: LogPosition | None = Field(
        None, description="where in a server's binlog that was, as task fork writes it; checked when set"
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


class MySQLSource(Model):
    type: Literal["mysql", "mariadb"] = Field(description="kind of the server")
    host: str | None = Field(
        None, min_length=1, description="name or address of the server to read from; default without hosts: 127.0.0.1"
    )
    port: Port | None = Field(None, description="default without hosts: 3306")
    hosts: tuple[Address, ...] = Field(
        (),
        max_length=20,
        description="instead of host and port: host:port of servers of one replication group, all with GTIDs; the one "
        "that is writable is read from, another one when it goes",
    )
    user: str = Field(min_length=1, description="account with REPLICATION SLAVE, REPLICATION CLIENT and SELECT")
    password: SecretRef
    tables: Tables = Field(("*.*",), description="database.table with * and ?; a leading ! excludes")
    on_table_error: Literal["fail", "quarantine"] = Field(
        "fail", description="what becomes of the task where it can't go on with one table: stop, or leave that one out"
    )
    start: Start = Field(
        "latest", description="where a task begins that has no position yet: latest, earliest, {file, position}, {gtid}"
    )
    until: EndPosition | None = Field(
        None, description="where the task has nothing more to do; for replays. Without `gtid` on that server alone"
    )
    server_id: int | None = Field(
        None, ge=1, le=4294967295, description="our replica id; default: derived from the task's name"
    )
    connect_timeout_s: float = Field(10, gt=0, le=300, description="seconds to wait for a connection")
    heartbeat_s: float = Field(5, ge=0.1, le=3600, description="silence after which the server sends a heartbeat")
    row_image: Literal["require_full", "accept_partial"] = Field(
        "require_full", description="rows that lack columns (binlog_row_image MINIMAL, NOBLOB): stop, or replicate"
    )
    online_schema_change: Literal["hide", "show"] = Field(
        "hide", description="the tables that gh-ost and pt-online-schema-change make beside one that is replicated"
    )
    tls: Tls | None = Field(None, description="encrypt the connection and verify the server")
    server_public_key: str | None = Field(
        None,
        description="path of the server's public_key.pem, for caching_sha2_password and sha256_password without tls",
    )
    get_server_public_key: bool = Field(
        False, description="for these logins believe the key that the server sends; on loopback that is always so"
    )
    send_password_unverified: bool = Field(
        False,
        description="for these logins with tls.insecure, give the password to any server that answers; on loopback "
        "that is always so",
    )

    @model_validator(mode="after")
    def _one_address(self) -> MySQLSource:
        return own_check(self, _check_address)

    def selection(self, left_out: Collection[str] = ()) -> TableFilter:
        """The tables whose rows the task carries. `left_out`: those in quarantine."""
        excluded = [f"!{table}" for table in sorted(left_out)]
        return TableFilter((*self.tables, *excluded), hide_copies=self.online_schema_change == "hide")


class Records(Model):
    """What every sink is told of the records that it gets."""

    topic: Topic | None = Field(
        None, description="template of {task}, {database}, {table}; default: as the format's users have it"
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
        prefix = self.debezium.topic_prefix or "{task}"
        return self.topic or (prefix + ".{database}.{table}" if self.format == "debezium" else "{task}")


class KafkaSink(Records):
    type: Literal["kafka"]
    bootstrap_servers: tuple[str, ...] = Field(min_length=1, description="host:port of some brokers")
    delivery: Literal["exactly_once", "at_least_once"] = Field(
        "exactly_once", description="exactly_once: records and position in one Kafka transaction"
    )
    create_topics: bool = Field(True, description="create a missing topic; false: stop as FAILED")
    partitions: int = Field(1, ge=1, le=10_000, description="of topics that we create")
    partitions_changed: Literal["fail", "keep", "accept"] = Field(
        "fail",
        description="a topic has not as many partitions as when the task first wrote to it: stop, go on with the first "
        "ones, or take the new number",
    )
    replication_factor: int = Field(-1, ge=-1, le=100, description="of topics that we create; -1: the broker's default")
    max_record_bytes: int = Field(1_048_576, ge=1024, le=1 << 30, description="the most that one record may have")
    oversize: Literal["fail", "dead_letter"] = Field(
        "fail", description="what becomes of a larger record: stop, or a reference to it in dead_letter_topic"
    )
    dead_letter_topic: Annotated[str, checked(check_task_topic)] = Field(
        "{task}.dead_letter",
        min_length=1,
        description="where references to larger records go; template of {task}",
    )
    compression: Literal["none", "lz4", "zstd", "snappy", "gzip"] = Field(
        "none", description="of the records on their way to the brokers and there: less bytes for more CPU time"
    )
    max_in_flight_bytes: int = Field(16 << 20, ge=1 << 20, le=1 << 32, description="sent and not yet acknowledged")
    delivery_timeout_ms: Milliseconds = Field(
        30_000, description="after which an unacknowledged batch counts as failed"
    )
    transaction_timeout_ms: Milliseconds = Field(
        60_000, description="after which the broker aborts an open transaction"
    )
    tls: Tls | None = Field(None, description="encrypt the connections and verify the brokers")
    sasl: Sasl | None = Field(None, description="log in at the brokers")

    @model_validator(mode="after")
    def _sensible(self) -> KafkaSink:
        return own_check(self, _check_login)


def _check_address(source: MySQLSource) -> None:
    given = [name for name in ("host", "port") if getattr(source, name) is not None]
    written = (source.host, source.port) == DEFAULT_ADDRESS  # as earlier versions did beside hosts; it is not used
    if source.hosts and given and not written:
        raise ConfigError(
            "E1003",
            f"source.{given[0]} and source.hosts both say where to read from",
            found=f"{given[0]}: {getattr(source, given[0])}",
            wanted="hosts, or host and port",
            fix="Remove one of the two. `hosts` has the port of each server in it.",
        )


def _check_login(sink: KafkaSink) -> None:
    verified = sink.tls is not None and not sink.tls.insecure
    if sink.sasl is not None and sink.sasl.mechanism in ("PLAIN", "OAUTHBEARER") and not verified:
        secret = "password" if sink.sasl.mechanism == "PLAIN" else "token"
        raise ConfigError(
            "E1003",
            f"sink.sasl would send the {secret} for everybody on the way to read",
            found=f"mechanism {sink.sasl.mechanism} without sink.tls, or with sink.tls.insecure",
            wanted="sink.tls that verifies the brokers, or mechanism SCRAM-SHA-512",
        )


class FileSink(Records):
    type: Literal["file"]
    path: str = Field(min_length=1, description="file that gets one JSON line per record, below --file-sink-directory")


class StdoutSink(Records):
    type: Literal["stdout"]


Source = MySQLSource
Sink = Annotated[KafkaSink | FileSink | StdoutSink, Field(discriminator="type")]


class TaskConfig(Model):
    """One source + one sink."""

    name: TaskName = Field(description="unique on the bus; part of topics and transactional ids")
    source: Source = Field(description="where changes come from")
    sink: Sink = Field(description="where they go")
    transforms: Transforms = Field(Transforms(), description="what happens to rows on the way (docs/transforms.md)")
    hand_over_after_s: float = Field(
        30,
        ge=0,
        le=86_400,
        description="without reaching source or sink, before a standby that does takes over; 0: never",
    )
    checkpoint_interval_ms: Milliseconds = Field(1000, description="between writes of the position to ZooKeeper")
    max_transaction_bytes: int | None = Field(
        None,
        ge=1 << 16,
        le=1 << 40,
        description="a larger transaction of the source is delivered in several parts; default: all of it or nothing",
    )
    max_batch_bytes: int = Field(
        32 << 20, ge=1 << 16, le=1 << 30, description="of whole transactions joined into one commit"
    )
