"""Findings about a task whose source is topics: brokers, records, tables of the target."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from replicator.assembly.topics import TargetDefinitions, form_of, login_of, notation_of
from replicator.config.kafka_source import KafkaSource
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.decode.topics.decoder import TopicDecoder
from replicator.decode.topics.order import Order
from replicator.decode.topics.rows import Writers
from replicator.errors import ConfigError, ReplicatorError
from replicator.model import topic_frames
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.target_table import TargetTables
from replicator.model.topic_frames import RecordFrame
from replicator.model.topic_offsets import TopicOffsets


def check_source(config: TaskConfig, source: KafkaSource, position: Position | None) -> list[Finding]:
    """A record of each topic is decoded as the task would do it."""
    from replicator.source.kafka.checks import check

    done = check(source, login_of(source), position)
    assert isinstance(config.sink, MySQLSink), "checked by the configuration"  # noqa: S101
    return [*done.findings, *_records(source, config.sink, done.samples, done.partitions)]


def check_target(config: TaskConfig) -> list[Finding]:
    """Without a comparison of columns: topics have no definitions of tables."""
    from replicator.sink.mysql.checks import SourceFacts, check

    assert isinstance(config.sink, MySQLSink), "checked by the configuration"  # noqa: S101
    try:
        password = resolve(config.sink.password)
    except ConfigError as error:
        return [Finding.of_error("sink.password", error)]
    return check(config.sink, password, SourceFacts(None, config.sink.type == "mariadb"))


def _records(
    source: KafkaSource, sink: MySQLSink, samples: Sequence[RecordFrame], partitions: dict[str, int]
) -> Iterator[Finding]:
    definitions, matches, read = TargetDefinitions(sink), source.selection().matches, 0
    for sample in samples:
        position = Position.of_topics((TopicOffsets(sample.topic, (0,) * partitions[sample.topic]),))
        writers = Writers(definitions, notation_of(source), TargetTables())
        order = Order(one_partition_per_table=source.one_partition_per_table)
        decoder = TopicDecoder(position, form_of(source), writers, order, matches)
        try:
            decoder.feed(topic_frames.record(*sample))
            decoder.end()
            read += 1
        except ReplicatorError as error:
            yield Finding.of_error("source.records", error)
    if read == len(samples):
        text = f"the last record of {read} topics has the format {source.format}, and fits its table at the target"
        yield Finding.ok("source.records", text if read else "no record yet")
