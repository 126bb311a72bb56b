"""Joins the stages of a task whose source is topics of Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from replicator.config.kafka_source import KafkaSource
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.decode.topics import debezium, maxwell
from replicator.decode.topics.changes import Form
from replicator.decode.topics.decoder import TopicDecoder
from replicator.decode.topics.order import Order
from replicator.decode.topics.rows import NotationOf, TargetDefinition, Writers
from replicator.errors import SinkError
from replicator.model.target_table import TargetTables
from replicator.model.term import Term
from replicator.mysql import table_facts
from replicator.mysql.hosts import Hosts
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.pipeline.observer import Observer
from replicator.pipeline.pipeline import Pipeline
from replicator.pipeline.ports import CheckpointStore, Decoder, Sink, Source, Stream

if TYPE_CHECKING:
    from replicator.source.kafka.client import Login


class MakeSink(Protocol):
    def __call__(self, tables: TargetTables) -> Sink: ...


def open_source(config: KafkaSource) -> Source:
    """Connects to nothing yet. Modules of the Kafka client are imported when they are asked."""
    from replicator.source.kafka import TopicSource

    return TopicSource(config, login_of(config))


def login_of(config: KafkaSource) -> Login:
    from replicator.sink.kafka.security import security

    return lambda: security(config)


def build_pipeline(
    config: TaskConfig,
    topics: KafkaSource,
    make_sink: MakeSink,
    tables: TargetTables | None,
    *,
    source: Source | None,
    sink: Sink | None,
    store: CheckpointStore,
    term: Term,
    observer: Observer,
    save_interval: float,
) -> Pipeline:
    """See `assembly.pipeline.build_pipeline`. There are no snapshots, schema history or quarantine."""
    target = config.sink
    assert isinstance(target, MySQLSink), "checked by the configuration"  # noqa: S101
    known = tables if tables is not None else TargetTables()
    definitions, matches = TargetDefinitions(target), topics.selection().matches

    def make_decoder(stream: Stream) -> Decoder:
        writers = Writers(definitions, notation_of(topics), known)
        order = Order(one_partition_per_table=topics.one_partition_per_table)
        return TopicDecoder(stream.position, form_of(topics), writers, order, matches)

    return Pipeline(
        source=source or open_source(topics),
        make_decoder=make_decoder,
        sink=sink or make_sink(known),
        store=store,
        term=term,
        observer=observer,
        max_batch_bytes=config.commit_bytes,
        save_interval=save_interval,
        start_given=topics.start != "latest",
    )


def form_of(topics: KafkaSource) -> Form:
    return Form(maxwell.read, maxwell.key) if topics.format == "maxwell" else Form(debezium.read, debezium.key)


def notation_of(topics: KafkaSource) -> NotationOf:
    return maxwell.notation if topics.format == "maxwell" else debezium.notation_of(topics.debezium)


class TargetDefinitions:
    """Asks the target with each call. A `rows.Definitions`."""

    def __init__(self, config: MySQLSink) -> None:
        self._config = config
        self._hosts = Hosts(config)

    def __call__(self, database: str, table: str) -> TargetDefinition:
        return self._hosts.first(lambda member: self._read(member, database, table))

    def _read(self, member: MySQLSink, database: str, name: str) -> TargetDefinition:
        from replicator.sink.mysql import target_definition

        with Session(member, resolve(member.password)) as session:
            server = read_server(session)
            definition = target_definition.read(session, server, database, name, f"{database}.{name}")
            facts = table_facts.read(session, [(database, name)]).get((database, name))
            if facts is None:
                raise SinkError(
                    "E3421", f"table {database}.{name} does not exist at the target", table=f"{database}.{name}"
                )
            cascades = tuple(key.name for key in facts.foreign_keys if key.cascades)
            return TargetDefinition(definition.shape, facts.primary_key, tuple(facts.uniques), cascades, server.mariadb)
