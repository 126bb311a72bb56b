"""Reads tables of one MySQL or MariaDB server chunk by chunk. See DESIGN.md."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceError, SourceUnavailable
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.snapshot import Bound, OpenTable, RowImages
from replicator.pipeline.ports import Chunk, TableChanged, TableSize
from replicator.source.mysql import positions, server_errors
from replicator.source.mysql.snapshot import chunk_query, tables
from replicator.source.mysql.snapshot import definition as definitions
from replicator.source.mysql.snapshot.connections import Connections
from replicator.source.mysql.snapshot.definition import Definition
from replicator.source.mysql.snapshot.key import Bounds
from replicator.source.mysql.snapshot.prepared import Answer
from replicator.source.mysql.snapshot.selected_rows import ENOUGH, SelectedRows
from replicator.source.mysql.snapshot.views import views

_TRIES: Final = 10
"""How often a SELECT is sent again because the table was altered meanwhile."""
_ALTERED: Final = frozenset({1049, 1051, 1054, 1109, 1146, 1412, 1615})
"""What a SELECT says whose table was altered: no such table or column, another definition."""
_UNKNOWN_COLUMN: Final = 1054
_AIM: Final = ENOUGH // 2
"""Bytes that a chunk asks for, by the average row so far. With more than twice as many its connection is given up."""


class _Pass(msgspec.Struct):
    """A table without a key, read by one SELECT. `chunks`: handed out."""

    table: str
    definition: Definition
    rows: SelectedRows
    chunks: int = 0


class MySQLSnapshotReader:
    """See `replicator.pipeline.ports.SnapshotReader`.

    Args:
        config: of the task.
        where: `database.table` -> SQL condition of the rows that are wanted.
    """

    def __init__(self, connections: Connections, config: Config, where: Mapping[str, str]) -> None:
        self._connections, self._server = connections, connections.server
        self._config, self._where = config, where
        self._views = views(connections)
        self._known: dict[str, Definition] = {}
        self._versions = 0
        self._averages: dict[str, int] = {}
        self._pass: _Pass | None = None

    def tables(self) -> Sequence[TableSize]:
        with self._connections.used():
            return tables.selected(self._connections.control, self._config)

    def load(self) -> int:
        with self._connections.used():
            return int(str(self._connections.control.rows("SHOW GLOBAL STATUS LIKE 'Threads_running'")[0][1]))

    def begin(self, table: str) -> OpenTable | None:
        with self._connections.used():
            self._connections.drop_rows()
            self._pass = None
            for _ in range(_TRIES):
                self._known.pop(table, None)
                known = self._definition(table)
                if known is None:
                    return None
                try:
                    limit = self._last(known)
                except SourceError as error:
                    if server_errors.number_of(error) not in _ALTERED:
                        raise definitions.denied(error, self._connections.control, table) from error
                    continue
                size = tables.size(self._connections.control, table)
                if size.rows:
                    self._averages[table] = size.size // size.rows
                return OpenTable(table, known.key_names, limit=limit, estimate=size.rows, key_types=known.key_types)
            raise self._always_altered(table)

    def read(self, table: OpenTable, most: int, passed: Position) -> Chunk:
        with self._connections.used():
            self._check_server(passed)
            try:
                return self._read_chunk(table, most, passed) if table.key else self._read_pass(table, most, passed)
            except BaseException:
                self._pass = None
                self._connections.drop_rows()
                raise

    def close(self) -> None:
        self._connections.close()

    def _read_chunk(self, table: OpenTable, most: int, passed: Position) -> Chunk:
        self._end_pass()
        for _ in range(_TRIES):
            known = self._same_key(table)
            if table.limit is None:
                return self._chunk(known, RowImages(b"", ()), None, final=True)
            count = min(most, max(1, _AIM // max(1, self._averages.get(table.table, 1))))
            sql = chunk_query.of(known, table, count, self._where.get(table.table, ""))
            rows = self._open(known, table.table, sql, passed)
            if rows is None:
                continue
            images, last = rows.take(count)
            if len(images):
                self._averages[table.table] = len(images.data) // len(images)
            final = (rows.ended and len(images) < count) or last == table.limit
            self._end_view(rows)
            return self._chunk(known, images, last, final=final)
        raise self._always_altered(table.table)

    def _read_pass(self, table: OpenTable, most: int, passed: Position) -> Chunk:
        """One SELECT and one view for all chunks: what the next one of them is can't be asked for a second time."""
        current = self._pass
        if not table.chunks:
            current = self._begin_pass(table, passed)
        elif current is None or (current.table, current.chunks) != (table.table, table.chunks):
            raise TableChanged(f"{table.table} has no key: it is read in one pass, and that has ended")
        images, _ = current.rows.take(most)
        current.chunks += 1
        final = current.rows.ended
        if final:
            self._pass = None
            self._end_view(current.rows)
        return self._chunk(current.definition, images, None, final=final)

    def _begin_pass(self, table: OpenTable, passed: Position) -> _Pass:
        self._end_pass()
        for _ in range(_TRIES):
            known = self._same_key(table)
            sql = chunk_query.whole(known, self._where.get(table.table, ""))
            rows = self._open(known, table.table, sql, passed)
            if rows is not None:
                self._pass = _Pass(table.table, known, rows)
                return self._pass
        raise self._always_altered(table.table)

    def _open(self, known: Definition, table: str, sql: str, passed: Position) -> SelectedRows | None:
        """None: the table has another definition by now. While rows come the server does not let anybody alter it, so a
        definition that is read when the first one has come is that of them all."""
        self._views.begin(passed)
        session = self._connections.rows
        try:
            answer = Answer(session, sql)
            if definitions.text_of(self._connections.control, table) == known.text:
                return SelectedRows(session, known, answer, mariadb=self._server.mariadb)
        except SourceError as error:
            number = server_errors.number_of(error)
            if number not in _ALTERED:
                raise definitions.denied(error, session, table) from error
            if number == _UNKNOWN_COLUMN and definitions.text_of(self._connections.control, table) == known.text:
                raise  # it is the condition that names it
        self._known.pop(table, None)
        self._connections.drop_rows()
        return None

    def _end_view(self, rows: SelectedRows) -> None:
        if rows.ended:
            self._connections.rows.rows("COMMIT")
        else:
            self._connections.drop_rows()

    def _end_pass(self) -> None:
        if self._pass is not None:
            self._pass = None
            self._connections.drop_rows()

    def _definition(self, table: str) -> Definition | None:
        known = self._known.get(table)
        if known is None:
            self._versions += 1
            known = definitions.read(self._connections.control, self._server, table, self._versions)
            if known is not None:
                self._known[table] = known
        return known

    def _same_key(self, table: OpenTable) -> Definition:
        known = self._definition(table.table)
        if known is None:
            raise TableChanged(f"{table.table} is gone")
        if (known.key_names, known.key_types) != (table.key, table.key_types):
            raise TableChanged(f"{table.table} was cut by {table.key}, and now has the key {known.key_names}")
        return known

    def _last(self, known: Definition) -> Bound | None:
        """Key of the table's last row; None without a key or rows."""
        if known.key is None:
            return None
        shape, key = chunk_query.key_only(known)
        answer = Answer(self._connections.rows, chunk_query.last(known))
        packets = list(answer.rows())
        return Bounds(shape, key, answer.types).of(packets[0]) if packets else None

    def _chunk(self, known: Definition, images: RowImages, last: Bound | None, *, final: bool) -> Chunk:
        end = positions.end_position(self._connections.control, self._server)
        high = msgspec.structs.replace(end, server=str(Origin(self._server.identity)))
        return Chunk(known.table_map, images, high, last, final, int(time.time()))

    def _check_server(self, passed: Position) -> None:
        other = Origin.parse(passed.server).server
        if other not in ("", self._server.identity):
            raise SourceUnavailable(
                "E2002",
                "the stream reads another server than the snapshot",
                found=other,
                wanted=self._server.identity,
            )

    def _always_altered(self, table: str) -> SourceUnavailable:
        where = self._connections.control.where
        return SourceUnavailable("E2002", f"{table} of {where} was altered {_TRIES} times while it was being read")
