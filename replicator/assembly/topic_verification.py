"""Builds the verification of a task that writes topics: tables and columns as its records have them, its position."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final, TypeAlias

import msgspec

from replicator.assembly.rendered_rows import RenderedRows
from replicator.assembly.verification import table_of
from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import KafkaSink, TaskConfig
from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.row_states import Read, Truncated, reader, tombstone
from replicator.encode.topics import Topics
from replicator.errors import DecodeError, ProcessError
from replicator.model import types
from replicator.model.finding import listed
from replicator.model.position import Position
from replicator.model.position_order import reached
from replicator.model.table import Table
from replicator.mysql.hosts import Hosts
from replicator.pipeline.ports import TableSize
from replicator.sink.kafka.topic_reader import TopicFacts, TopicReader, TopicRecord
from replicator.source.mysql.positions import end_position
from replicator.source.mysql.snapshot import tables as source_tables
from replicator.source.mysql.snapshot.definition import split
from replicator.transform.chain import Chain
from replicator.transform.filters import Filters
from replicator.transform.operations import Operations
from replicator.transform.view import View
from replicator.verify.replication import Waiter
from replicator.verify.side import Side
from replicator.verify.table_pair import Description
from replicator.verify.topics.columns import Columns
from replicator.verify.topics.ports import TopicTable
from replicator.verify.topics.states import Change, Emptied
from replicator.verify.topics.verifier import TopicVerifier
from replicator.verify.verifier import Observer, Options, Wanted


class Known(msgspec.Struct, frozen=True):
    """What a Server knows of the task. `snapshot_open`: rows of a snapshot are still to be delivered."""

    position: Position | None
    snapshot_open: bool


AskServer: TypeAlias = Callable[[], Known]
_NO_TOPIC: Final = TopicFacts(0, compacted=False, first=())
_OPERATIONS: Final = {"c": "insert", "u": "update", "d": "delete"}


class _Described(msgspec.Struct, frozen=True):
    """A table that can be compared, before its topic is looked at."""

    wanted: Wanted
    table: Table
    view: View
    key: tuple[str, ...]
    topic: str


class TopicVerification:
    """The two sides of one task.

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
        uid: str = "",
        known: AskServer | None = None,
    ) -> None:
        self._config, self._sink, self._source, self._topics = config, sink, source, topics
        self._patterns, self._complete = tuple(patterns), complete
        self._replication = _Replication(sink, source, topics, uid, known)
        self._chain, self._filters = Chain(config.transforms), Filters(config.transforms.filter)
        self._operations = Operations(config.transforms.operations)
        self._read = reader(sink.format)
        self._columns: dict[str, dict[str, str]] = {}
        self.tables = self._tables()

    @contextmanager
    def verifier(self, options: Options, patience_s: float, observer: Observer) -> Iterator[TopicVerifier]:
        tables = [each for each in self.tables if isinstance(each, TopicTable)]
        rows = RenderedRows(self._config, self._sink, self._read, self._columns)
        try:
            records = _Records(self._topics, self._read, tables, tombstones=self._sink.format == "debezium")
            yield TopicVerifier(rows, records, Waiter(self._replication, patience_s), options, observer)
        finally:
            rows.close()

    def _tables(self) -> list[TopicTable | Wanted]:
        chosen = TableFilter(self._patterns or ("*.*",))
        sizes = source_tables.selected(self._source.control, self._config.database)
        if self._patterns and not any(chosen.chooses(each.table) for each in sizes):
            raise ProcessError(
                "E5032",
                f"no table that the task replicates matches {', '.join(self._patterns)}",
                wanted="--table with names of the source",
            )
        described = [self._described(size) for size in sizes]
        names = Counter(each.wanted.target for each in described if isinstance(each, _Described))
        shared = Counter(each.topic for each in described if isinstance(each, _Described))
        picked = [each for each in described if chosen.chooses(_wanted_of(each).table)]
        facts = self._topics.facts(sorted({each.topic for each in picked if isinstance(each, _Described)}))
        self._topics.begin(facts)
        incomplete = self._replication.snapshot_open()
        made: list[TopicTable | Wanted] = []
        for each in picked:
            if isinstance(each, Wanted):
                made.append(each)
                continue
            whole = self._complete or (self._has_snapshot(each.wanted.table) and not incomplete)
            of, reason = facts.get(each.topic, _NO_TOPIC), ""
            if of is _NO_TOPIC and not whole:
                reason = f"topic {each.topic} does not exist"
            elif names[each.wanted.target] > 1:
                reason = "several tables of the source are written under this name"
            elif of.compacted and shared[each.topic] > 1 and self._sink.format == "debezium":
                reason = f"topic {each.topic} is compacted, and has records of several tables"
            if reason:
                made.append(msgspec.structs.replace(each.wanted, skipped=reason))
            else:
                made.append(self._topic_table(each, of, len(made), whole=whole))
        return made

    def _described(self, size: TableSize) -> _Described | Wanted:
        found = self._source.describe(*split(self._source.control, size.table))
        if found is None:
            return Wanted(size.table, size.table, 0, 0, "it is a view, or was dropped")
        table = table_of(self._source, found)
        view = self._chain.view(table)
        wanted = Wanted(size.table, view.table.qualified, size.rows, size.size)
        key, reason = _key(found, table, view)
        reason = self._omitted(table) or reason
        if reason:
            return msgspec.structs.replace(wanted, skipped=reason)
        topic = self._chain.topic(table, Topics(self._sink.topic_template, self._config.name))
        return _Described(wanted, table, view, key, topic)

    def _omitted(self, table: Table) -> str:
        """Why topics have other rows than the source, on purpose."""
        omitted = self._operations.skipped(table) - {"truncate"}
        if omitted:
            return f"transforms.operations omit {listed(sorted(omitted))}"
        skipped = {_OPERATIONS[each] for each in self._sink.debezium.skipped_operations if each in _OPERATIONS}
        if skipped and self._sink.format == "debezium":
            return f"sink.debezium.skipped_operations omit {listed(sorted(skipped))}"
        chosen = self._filters.filter(table)
        return "transforms.filter select changes, not rows" if chosen is not None and not chosen.rows else ""

    def _topic_table(self, each: _Described, facts: TopicFacts, number: int, *, whole: bool) -> TopicTable:
        table, view = each.table, each.view
        pairs = [
            (table.columns[origin.column], column.name, origin)
            for column, origin in zip(view.table.columns, view.origins, strict=True)
            if origin.constant is None
        ]
        self._columns[each.wanted.table] = {column.name: name for column, name, _ in pairs}
        debezium = self._sink.format == "debezium"
        columns = Columns(
            number,
            [name for _, name, _ in pairs],
            each.key,
            [name for column, name, origin in pairs if column.type == types.JSON and not origin.mask],
            [name for column, name, origin in pairs if column.type == types.TINY and not origin.mask and debezium],
            omitted_nulls=self._sink.format == "maxwell" and not self._sink.maxwell.output_nulls,
        )
        kept = {column.name for column, _, _ in pairs}
        expired = "" if facts.compacted else _expired(each.topic, facts)
        return TopicTable(
            each.wanted,
            columns,
            (view.table.database, view.table.name),
            each.topic,
            facts.partitions,
            {column.name: "excluded by the task" for column in table.columns if column.name not in kept},
            expired,
            self._complete or (whole and not expired),
        )

    def _has_snapshot(self, table: str) -> bool:
        options = self._config.database.snapshots
        return options.first and TableFilter(options.tables).chooses(table) and table not in options.where


def _wanted_of(each: _Described | Wanted) -> Wanted:
    return each if isinstance(each, Wanted) else each.wanted


def _key(found: Description, table: Table, view: View) -> tuple[tuple[str, ...], str]:
    """Names in records of the columns by which rows are told apart, or why there are none."""
    if not found.keys:
        return (), "no primary key or unique key of NOT NULL columns"
    names = []
    places = {origin.column: place for place, origin in enumerate(view.origins) if origin.constant is None}
    for index in found.keys[0].columns:
        place = places.get(index)
        if place is None:
            return (), f"column {table.columns[index].name} of the key is excluded by the task"
        if view.origins[place].mask or view.origins[place].nothing:
            return (), f"column {table.columns[index].name} of the key is masked"
        names.append(view.table.columns[place].name)
    return tuple(names), ""


def _expired(topic: str, facts: TopicFacts) -> str:
    lost = [f"partition {number} begins at offset {first}" for number, first in enumerate(facts.first) if first]
    return f"topic {topic}: {listed(lost)}; cleanup.policy=delete" if lost else ""


class _Records:
    """A `verify.topics.ports.Records`."""

    def __init__(self, topics: TopicReader, read: Read, tables: Sequence[TopicTable], *, tombstones: bool) -> None:
        self._topics, self._read = topics, read
        written = Counter(each.topic for each in tables)
        self._alone = {each.topic: each.name for each in tables if written[each.topic] == 1} if tombstones else {}
        self._names = {each.wanted.table: each.name for each in tables}

    def following(self) -> Iterator[tuple[int, int, Sequence[Change | Emptied]]]:
        return map(self._said, self._topics.following())

    def at(self, places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, Sequence[Change | Emptied]]]:
        return map(self._said, self._topics.at(places))

    def _said(self, record: TopicRecord) -> tuple[int, int, Sequence[Change | Emptied]]:
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
    """Connects to both sides. `patterns`: of tables at the source; empty: all of the task. `uid`: of the task's
    incarnation, "" if it is not known. `known`: None without a Server.

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
