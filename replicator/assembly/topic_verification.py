"""Builds the verification of a task that writes topics: both sides, and the task's position."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TypeAlias

import msgspec

from replicator.assembly.rendered_rows import RenderedRows
from replicator.assembly.topic_tables import TopicTables
from replicator.assembly.verified_config import fingerprint
from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink, TaskConfig
from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.row_states import Read, Truncated, reader, tombstone
from replicator.errors import DecodeError, ProcessError
from replicator.model.position import Position
from replicator.model.position_order import reached
from replicator.mysql.hosts import Hosts
from replicator.sink.kafka.topic_reader import TopicReader, TopicRecord
from replicator.source.mysql.positions import end_position
from replicator.verify.replication import Waiter
from replicator.verify.side import Side
from replicator.verify.state import StateFile
from replicator.verify.topics.groups import TopicGroups
from replicator.verify.topics.ports import TopicTable
from replicator.verify.topics.states import Change, Emptied
from replicator.verify.topics.verifier import TopicVerifier
from replicator.verify.verifier import Observer, Options, Wanted

Said: TypeAlias = tuple[int, int, Sequence[Change | Emptied]]


class Known(msgspec.Struct, frozen=True):
    """What a Server knows of the task. `snapshot_open`: rows of a snapshot are still to be delivered."""

    position: Position | None
    snapshot_open: bool


AskServer: TypeAlias = Callable[[], Known]


class TopicVerification:
    """The two sides of one task. See `open_topic_verification`.

    Attributes:
        tables: those that are chosen; `Wanted`: that are not compared.
    """

    def __init__(
        self,
        config: TaskConfig,
        sink: KafkaSink,
        source: Side,
        topics: TopicReader,
        patterns: Sequence[str],
        *,
        complete: bool,
        uid: str,
        known: AskServer | None,
    ) -> None:
        self._config, self._sink, self._source, self._topics = config, sink, source, topics
        self._compared = (*patterns, str(complete))
        self._replication = _Replication(sink, source, topics, uid, known)
        is_open = self._replication.snapshot_open()
        tables = TopicTables(config, sink, source, complete=complete, snapshot_open=is_open)
        self._chosen = tables.choose(patterns, topics)
        self.tables: list[TopicTable | Wanted] = self._chosen.tables

    @contextmanager
    def verifier(
        self, options: Options, patience_s: float, observer: Observer, state: Path | None = None
    ) -> Iterator[TopicGroups]:
        """`state`: file of an interrupted verification. Raises ProcessError E5033."""
        kept = StateFile(state, fingerprint(self._config, self._compared))
        read = reader(self._sink.format)
        names = {each.wanted.table: each.name for each in self.tables if isinstance(each, TopicTable)}
        alone = self._chosen.alone if self._sink.format == "debezium" else {}
        rows = RenderedRows(self._config, self._sink, read, self._chosen.columns, self._source)
        try:
            records = TopicRecords(self._topics, read, names, alone)
            verifier = TopicVerifier(rows, records, Waiter(self._replication, patience_s), options, observer)
            yield TopicGroups(verifier, self._begin, kept)
        finally:
            rows.close()

    def _begin(self, topics: Sequence[str]) -> None:
        facts = self._chosen.facts
        self._topics.begin({topic: facts[topic] for topic in topics if topic in facts})


class TopicRecords:
    """A `verify.topics.ports.Records`.

    Args:
        names: table at the source -> its name in records: a record of TRUNCATE has the former.
        alone: topic -> name of its only table, whose tombstones have nothing but the key.
    """

    def __init__(
        self,
        topics: TopicReader,
        read: Read,
        names: Mapping[str, tuple[str, str]],
        alone: Mapping[str, tuple[str, str]],
    ) -> None:
        self._topics, self._read, self._names, self._alone = topics, read, names, alone

    def following(self) -> Iterator[Said]:
        return map(self._said, self._topics.following())

    def at(self, places: Sequence[tuple[int, int]]) -> Iterator[Said]:
        return map(self._said, self._topics.at(places))

    def _said(self, record: TopicRecord) -> Said:
        topic, partition = self._topics.places[record.place]
        try:
            if record.value is not None:
                found = self._read(record.value)
            else:
                found = tombstone(record.key, *self._alone[topic]) if topic in self._alone else ()
        except DecodeError as error:
            fields = {**error.to_dict(), "position": f"{topic}:{partition}:{record.offset}"}
            raise DecodeError(fields.pop("code"), fields.pop("what"), **fields) from error
        return record.place, record.offset, [self._made(each) for each in found]

    def _made(self, each: RowChange | Truncated) -> Change | Emptied:
        if isinstance(each, RowChange):
            return Change(each.database, each.table, each.before, each.after)
        name = self._names.get(f"{each.database}.{each.table}", (each.database, each.table))
        return Emptied(*name)


class _Replication:
    """See `verify.replication.Replication`. With exactly_once the position is in Kafka, else the Server may know it."""

    def __init__(self, sink: KafkaSink, source: Side, topics: TopicReader, uid: str, known: AskServer | None) -> None:
        self._source, self._topics, self._uid, self._known = source, topics, uid, known
        self._in_kafka = sink.delivery == "exactly_once"

    def end(self) -> Position:
        return end_position(self._source.control, self._source.server)

    def passed(self, goal: Position) -> bool | None:
        position = self._position()
        return None if position is None else reached(position.transaction_start, goal)

    def snapshot_open(self) -> bool:
        """Whether rows of a snapshot are still to be delivered."""
        position = self._topics.position(self._uid) if self._in_kafka else None
        if position is not None:
            return position.snapshot is not None and not position.snapshot.ended_ms
        return self._known is not None and self._known().snapshot_open

    def _position(self) -> Position | None:
        found = self._topics.position(self._uid) if self._in_kafka else None
        return found if found is not None or self._known is None else self._known().position


@contextmanager
def open_topic_verification(
    config: TaskConfig,
    sink: KafkaSink,
    patterns: Sequence[str],
    *,
    complete: bool = False,
    uid: str = "",
    known: AskServer | None = None,
) -> Iterator[TopicVerification]:
    """Connects to both sides.

    Args:
        patterns: of tables at the source; empty: all of the task.
        complete: rows without a record are missing, also if the task began after them.
        uid: of the task's incarnation; "": not known.
        known: None without a Server.

    Raises:
        ProcessError: E5032, E5044 (records that can't be read back).
        SourceUnavailable, SourceError, SinkUnavailable, SinkError, ConfigError.
    """
    check_readable(config, sink)
    with ExitStack() as opened:
        password = resolve(config.database.password)
        source = Hosts(config.database).first(lambda member: Side.of(member, password))
        opened.callback(source.close)
        topics = TopicReader(sink, config.name)
        opened.callback(topics.close)
        yield TopicVerification(config, sink, source, topics, patterns, complete=complete, uid=uid, known=known)


def check_readable(config: TaskConfig, sink: KafkaSink) -> None:
    """Raises ProcessError E5044."""
    options = sink.debezium
    refused = {
        "sink.debezium.converter: avro": sink.format == "debezium" and options.converter == "avro",
        "sink.debezium.unwrap": sink.format == "debezium" and options.unwrap is not None,
        "sink.canal.flat_message: false": sink.format == "canal" and not sink.canal.flat_message,
        "source.row_image: accept_partial": config.database.row_image == "accept_partial",
    }
    for found, is_set in refused.items():
        if is_set:
            raise ProcessError(
                "E5044", f"the topics of '{config.name}' do not have whole rows that can be read back", found=found
            )
