"""Rows of the source as the task would write them now, rendered by its own format and transforms."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Final

from replicator.assembly.catalogs import build_catalog
from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.checkpoint.history import MemoryHistory
from replicator.config.debezium import DebeziumOptions
from replicator.config.kafka_source import RecordNotation
from replicator.config.secrets import resolve
from replicator.config.task import KafkaSink, TaskConfig
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.decode.topics import debezium, maxwell
from replicator.decode.topics.changes import RowChange
from replicator.decode.topics.row_states import Read
from replicator.decode.topics.rows import NotationOf
from replicator.decode.topics.values import Notation, is_binary, packer
from replicator.model import types
from replicator.model.decoding import from_json
from replicator.model.position import Position
from replicator.model.snapshot import SnapshotMoment
from replicator.mysql import chunk_query, table_key
from replicator.mysql.binary_values import extent
from replicator.mysql.hosts import Hosts
from replicator.mysql.table_key import WIDTHS, Bounds, Key
from replicator.mysql.table_shape import ColumnShape
from replicator.pipeline.ports import TableChanged
from replicator.source.mysql.positions import end_position
from replicator.source.mysql.snapshot.connections import Connections
from replicator.source.mysql.snapshot.definition import Definition
from replicator.source.mysql.snapshot.keyed_rows import KeyedReader, KeyedRows
from replicator.verify.compare import KeyValue
from replicator.verify.ordered import any_of
from replicator.verify.side import Side, TableAltered
from replicator.verify.table_pair import ReadTable
from replicator.verify.topics.columns import Values
from replicator.verify.topics.ports import SourceRow, TopicTable

_CHUNK_BYTES: Final = 8 << 20
_MOST_ROWS: Final = 20_000


class RenderedRows:
    """A `verify.topics.ports.SourceRows`. Connects on first use.

    Args:
        read: of the task's format.
        columns: `database.table` -> name of each column at the source -> name in records.
        side: reconnected with it.
        most: rows of a SELECT.
    """

    def __init__(
        self,
        config: TaskConfig,
        sink: KafkaSink,
        read: Read,
        columns: Mapping[str, Mapping[str, str]],
        side: Side,
        most: int = _MOST_ROWS,
    ) -> None:
        self._config, self._read, self._columns, self._most = config, read, columns, most
        self._side = side
        self._canal, self._notation = sink.format == "canal", key_notation(sink)
        self._reader: KeyedReader | None = None
        self._begun, self._proves = Position("", 4), False
        self._decoder: ChunkDecoder | None = None

    def scan(self, table: TopicTable) -> Iterator[list[SourceRow]]:
        wanted, name = table.wanted, table.wanted.table
        average = wanted.size // wanted.rows if wanted.rows else 1
        count = max(1, min(self._most, _CHUNK_BYTES // max(1, average)))
        known, done = self._definition(name), None
        while True:
            key = _key(known)
            condition = table_key.condition(known.shape, key, done, None)
            found = self._select(
                name, known, f"{condition}{table_key.order(known.shape, key)} LIMIT {count}", self._begun
            )
            yield self._rows(known, found)
            if len(found.packets) < count:
                return
            done = _bounds(known, found).of(found.packets[-1])

    def rows(self, table: TopicTable, keys: Sequence[KeyValue], passed: Position) -> Iterator[SourceRow]:
        known = self._definition(table.wanted.table)
        condition = any_of(ReadTable(known.shape, known.key), keys)
        order = table_key.order(known.shape, _key(known))
        passed = passed if self._proves else self._begun
        yield from self._rows(known, self._select(table.wanted.table, known, f" WHERE ({condition}){order}", passed))

    def key_of(self, table: TopicTable, values: Values) -> KeyValue | None:
        known = self._definition(table.wanted.table)
        names = self._columns[table.wanted.table]
        found = []
        for index in _key(known).columns:
            column = known.shape.columns[index]
            value = self._value(column, values.get(names.get(column.name, "")))
            if value is None:
                return None
            found.append(value)
        return tuple(found)

    def reconnect(self) -> None:
        self.close()
        self._side.reconnect()

    def close(self) -> None:
        """May be called again: the next question connects."""
        reader, self._reader, self._decoder = self._reader, None, None
        if reader is not None:
            reader.close()

    def _value(self, column: ColumnShape, raw: bytes | None) -> bytes | None:
        """A value of a record as the binary protocol has it; None: the format does not tell."""
        if raw is None:
            return None
        raw = bytes(raw)
        try:
            if self._canal and column.type in types.INTEGERS:
                raw = from_json(raw, str).encode()
            how = self._notation(column)
            packed = packer(column, how)(raw) if how is not None else None
        except (ValueError, OverflowError, struct.error):  # msgspec's errors are ValueErrors
            return None
        if packed is None or column.type in WIDTHS or column.type in (types.ENUM, types.SET):
            return packed
        return packed[slice(*extent(packed, 0))]

    def _connected(self) -> tuple[KeyedReader, ChunkDecoder]:
        if self._reader is None or self._decoder is None:
            config = self._config
            password = resolve(config.database.password)
            connections = Hosts(config.database).first(lambda member: Connections(member, password))
            self._reader = KeyedReader(connections)
            self._proves = connections.server.gtid and not connections.server.mariadb
            planners, moment = Planners(config), SnapshotMoment("", 4, 1000)
            self._begun = end_position(connections.control, connections.server)
            self._decoder = ChunkDecoder(
                cache(lambda marker: planners.snapshot(marker, moment)),
                mariadb=config.source.type == "mariadb",
                catalog=build_catalog(config, MemoryHistory())(self._begun),
                rendering=build_rendering(config),
            )
        return self._reader, self._decoder

    def _definition(self, table: str) -> Definition:
        with _altered():
            return self._connected()[0].definition(table)

    def _select(self, table: str, known: Definition, condition: str, passed: Position) -> KeyedRows:
        """Raises TableAltered."""
        shape, _ = chunk_query.key_only(known)
        with _altered():
            return self._connected()[0].read(table, condition, passed, shape.select)

    def _rows(self, known: Definition, found: KeyedRows) -> list[SourceRow]:
        """Rows that the task's filters leave out have no record."""
        decoder = self._connected()[1]
        key = _bounds(known, found)
        made: list[tuple[int, RowChange]] = []
        for batch in decoder.rows(found.chunk, "verify", "true", "true", "true"):
            for record in batch.records:
                changes = self._read(record[2]) if record[2] is not None else ()
                made += [(record[4], change) for change in changes if isinstance(change, RowChange)]
        if len(made) == len(found.packets):  # also where a record has several rows
            made = [(index, change) for index, (_, change) in enumerate(made)]
        return [
            SourceRow(tuple(key.values(found.packets[index])), change.after)
            for index, change in made
            if change.after is not None
        ]


def key_notation(sink: KafkaSink) -> NotationOf:
    """How values of keys are read back."""
    if sink.format == "canal":
        return _canal
    return maxwell.notation if sink.format == "maxwell" else _debezium(sink.debezium)


def _canal(column: ColumnShape) -> Notation | None:
    if column.type in types.CHARACTERS and not is_binary(column):
        return "text"
    return _CANAL.get(column.type)


_CANAL: Final[dict[int, Notation]] = {
    **dict.fromkeys(types.INTEGERS, "int"),
    types.NEWDECIMAL: "decimal_text",
    types.DATE: "date_text",
    types.TIME2: "time_text",
    types.DATETIME2: "datetime_text",
}


def _debezium(options: DebeziumOptions) -> NotationOf:
    precision, decimals = options.time_precision_mode, options.decimal_handling_mode
    known = RecordNotation(
        decimal_handling_mode="precise" if decimals == "double" else decimals,
        time_precision_mode="microseconds" if precision == "microseconds" else "adaptive_time_microseconds",
        bigint_unsigned_handling_mode=options.bigint_unsigned_handling_mode,
        binary_handling_mode=options.binary_handling_mode,
    )
    usual = debezium.notation_of(known)
    readable = precision in ("microseconds", "adaptive_time_microseconds")

    def notation(column: ColumnShape) -> Notation | None:
        if column.type == types.NEWDECIMAL and decimals == "double":
            return "decimal_number"
        return None if column.type in _TIMES and not readable else usual(column)

    return notation


_TIMES: Final = frozenset({types.DATE, types.TIME2, types.DATETIME2})


@contextmanager
def _altered() -> Iterator[None]:
    try:
        yield
    except TableChanged as error:
        raise TableAltered(str(error)) from error


def _key(known: Definition) -> Key:
    if known.key is None:
        raise TableAltered("the table has no key any more")
    return known.key


def _bounds(known: Definition, found: KeyedRows) -> Bounds:
    shape, key = chunk_query.key_only(known)
    return Bounds(shape, key, found.types)
