"""Reads tables of one MySQL or MariaDB server chunk by chunk. See DESIGN.md."""

from __future__ import annotations

import struct
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceError, SourceUnavailable
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.row_tests import IntegerTest
from replicator.model.snapshot import Bound, OpenTable, RowImages
from replicator.mysql import chunk_query, server_errors
from replicator.mysql.prepared import Answer
from replicator.mysql.table_key import Bounds
from replicator.pipeline.ports import AccessPath, Chunk, SourceSurvey, TableChanged, TableSize
from replicator.source.mysql import positions
from replicator.source.mysql.snapshot import cascades, consistent_views, load, row_conditions, tables
from replicator.source.mysql.snapshot import definition as definitions
from replicator.source.mysql.snapshot import survey as surveys
from replicator.source.mysql.snapshot.connections import Connections, view_lost
from replicator.source.mysql.snapshot.definition import Definition
from replicator.source.mysql.snapshot.selected_rows import ENOUGH, SelectedRows
from replicator.source.mysql.snapshot.views import Views, late_xa_s, views

_TRIES: Final = 10
"""How often a SELECT is sent again because the table was altered meanwhile."""
_UNKNOWN_COLUMN: Final = 1054
_EXPLAINED: Final = 1_000
"""Rows of the chunk whose plan is asked for; in smaller tables a plan says nothing."""
_AIM: Final = ENOUGH // 2
"""Bytes that a chunk asks for, by the average row so far. With more than twice as many its connection is given up."""


class _Rest(msgspec.Struct):
    """The rows of a SELECT that are not taken yet: at most `count` behind `done`, up to `end` or else the table's last
    row. In a view that all chunks see, the next chunk goes on with those that did not fit."""

    done: Bound | None
    definition: Definition
    rows: SelectedRows
    count: int
    end: Bound | None


class _Pass(msgspec.Struct):
    """A table without a key, read by one SELECT. `chunks`: handed out."""

    table: str
    definition: Definition
    rows: SelectedRows
    chunks: int = 0


RowTests: TypeAlias = Callable[[str, str], Sequence[IntegerTest]]


def no_tests(database: str, table: str) -> Sequence[IntegerTest]:
    return ()


class MySQLSnapshotReader:
    """See `replicator.pipeline.ports.SnapshotReader`.

    Args:
        config: of the task.
        where: `database.table` -> SQL condition of the rows that are wanted.
        tests: database, table -> tests that rows have to pass; those that fail one may be left out.
        given: transactions that chunks are read in; None: those of the server.
        logged_only: tables are refused whose rows change without a trace in the binlog.
    """

    def __init__(
        self,
        connections: Connections,
        config: Config,
        where: Mapping[str, str],
        tests: RowTests = no_tests,
        given: Views | None = None,
        *,
        logged_only: bool = False,
    ) -> None:
        self._logged_only = logged_only
        self._connections, self._server = connections, connections.server
        self._config, self._where, self._tests = config, where, tests
        self._views = given or views(connections)
        self._known: dict[str, Definition] = {}
        self._versions = 0
        self._averages: dict[str, int] = {}
        self._pass: _Pass | None = None
        self._rest: _Rest | None = None
        self._asked = 0.0

    def tables(self) -> Sequence[TableSize]:
        with self._connections.used():
            return tables.selected(self._connections.control, self._config)

    def settle(self, passed: Position) -> None:
        with self._connections.used():
            self._check_server(passed)
            self._views.begin(passed)
            self._connections.rows.rows("ROLLBACK")  # tests stop chunks at their COMMIT
            late_s = late_xa_s(self._connections.control, self._server)
            if late_s:
                self._connections.pause(late_s)

    def load(self, enough: int) -> int:
        with self._connections.used():
            return load.running(self._connections.control, enough)

    def end(self) -> Position:
        with self._connections.used():
            return self._end()

    def survey(self) -> SourceSurvey:
        with self._connections.used():
            return surveys.survey(self._connections.control, self._server)

    def views_refused(self, tables: Sequence[str]) -> SourceError | None:
        with self._connections.used():
            return consistent_views.refused(self._connections.control, tables)

    def path(self, table: OpenTable) -> AccessPath:
        with self._connections.used():
            self._end_pass()
            done = self._cut(table, _EXPLAINED)
            if done is None:
                return "range"
            behind = msgspec.structs.replace(table, done=done)
            known = self._same_key(table)
            select = chunk_query.of(known, behind, None, _EXPLAINED, self._condition(known, table))
            return surveys.path(self._connections.control, self._server, select)

    def begin(self, table: str) -> OpenTable | None:
        with self._connections.used():
            if self._views.place is None:
                self._connections.drop_rows()
                self._pass = None
            for _ in range(_TRIES):
                self._known.pop(table, None)
                known = self._definition(table)
                if known is None:
                    return None
                if self._logged_only:
                    cascades.check(self._connections.control, self._server, table, known.text)
                try:
                    limit = self._last(known)
                except SourceError as error:
                    if server_errors.number_of(error) not in definitions.ALTERED:
                        raise definitions.denied(error, self._connections.control, table) from error
                    continue
                size = tables.size(self._connections.control, table)
                if size.rows:
                    self._averages[table] = size.size // size.rows
                return OpenTable(table, known.key_names, limit=limit, estimate=size.rows, key_types=known.key_types)
            raise self._always_altered(table)

    def cut(self, table: OpenTable, rows: int) -> Bound | None:
        with self._connections.used():
            self._end_pass()
            return self._cut(table, rows)

    def read(self, table: OpenTable, most: int, passed: Position, end: Bound | None = None) -> Chunk:
        with self._connections.used():
            self._check_server(passed)
            try:
                if table.key:
                    chunk = self._read_chunk(table, most, passed, end)
                else:
                    chunk = self._read_pass(table, most, passed)
                self._check_end(chunk.high, passed)
                return chunk
            except BaseException:
                self._pass = self._rest = None
                self._connections.drop_rows()
                raise

    def close(self) -> None:
        self._connections.close()

    def _read_chunk(self, table: OpenTable, most: int, passed: Position, end: Bound | None) -> Chunk:
        self._end_pass()
        if self._rest is not None:
            return self._read_rest(table, self._rest)
        count = min(most, max(1, _AIM // max(1, self._averages.get(table.table, 1))))
        covered, begun = 0, time.monotonic()
        if end is None and self._condition(
            self._same_key(table), table
        ):  # which may be true for few rows: the server must not look for them without an end
            end = self._cut(table, count)
            covered = count if end is not None else 0
        spent = time.monotonic() - begun
        for _ in range(_TRIES):
            known = self._same_key(table)
            if table.limit is None:
                return self._chunk(known, RowImages(b"", ()), None, final=True)
            where = self._condition(known, table)
            rows = self._open(known, table.table, chunk_query.of(known, table, end, count, where), passed)
            if rows is None:
                continue
            chunk, whole = self._taken(table, _Rest(table.done, known, rows, count, end))
            chunk.covered = covered if whole else 0
            chunk.seconds = time.monotonic() - self._asked + spent
            return chunk
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
            sql = chunk_query.whole(known, self._condition(known, table))
            rows = self._open(known, table.table, sql, passed)
            if rows is not None:
                self._pass = _Pass(table.table, known, rows)
                return self._pass
        raise self._always_altered(table.table)

    def _open(self, known: Definition, table: str, sql: str, passed: Position) -> SelectedRows | None:
        """None: the table has another definition by now. While rows come the server does not let anybody alter it, so a
        definition that is read when the first one has come is that of them all."""
        self._views.begin(passed)
        self._asked = time.monotonic()
        session = self._connections.rows
        try:
            answer = Answer(session, sql)
            text = definitions.text_of(self._connections.control, table)
            self._views.confirm(table, text)
            if text == known.text:
                return SelectedRows(session, known, answer, mariadb=self._server.mariadb)
        except SourceError as error:
            number = server_errors.number_of(error)
            if number not in definitions.ALTERED:
                raise definitions.denied(error, session, table) from error
            if number == _UNKNOWN_COLUMN and definitions.text_of(self._connections.control, table) == known.text:
                raise  # it is the condition that names it
        self._known.pop(table, None)
        why = f"{table} was altered"
        self._connections.drop_rows(why)
        return None

    def _read_rest(self, table: OpenTable, rest: _Rest) -> Chunk:
        self._rest = None
        if (self._same_key(table), table.done) != (rest.definition, rest.done):
            raise view_lost(self._connections.control.where, f"{table.table} is read at another place")
        return self._taken(table, rest)[0]

    def _taken(self, table: OpenTable, of: _Rest) -> tuple[Chunk, bool]:
        """The next rows of a SELECT, and whether there are no more up to its end."""
        rows = of.rows
        images, last = rows.take(of.count)
        if len(images):
            self._averages[table.table] = len(images.data) // len(images)
        whole = rows.ended and len(images) < of.count
        if whole and of.end is not None:
            last = of.end
        if rows.ended or self._views.place is None:
            self._end_view(rows)
        else:
            self._rest = _Rest(last, of.definition, rows, of.count - len(images), of.end)
        final = last == table.limit or (whole and of.end is None)
        return self._chunk(of.definition, images, last, final=final), whole

    def _end_view(self, rows: SelectedRows) -> None:
        if rows.ended:
            self._views.end()
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
            self._views.confirm(table, known.text if known is not None else None)
            if known is not None:
                self._known[table] = known
        return known

    def _same_key(self, table: OpenTable) -> Definition:
        known = self._definition(table.table)
        if known is not None and not _is_cut_by(known, table):  # another reader may have seen the new key before
            self._known.pop(table.table)
            known = self._definition(table.table)
        if known is None:
            raise TableChanged(f"{table.table} is gone")
        if not _is_cut_by(known, table):
            raise TableChanged(f"{table.table} was cut by {table.key}, and now has the key {known.key_names}")
        return known

    def _condition(self, known: Definition, table: OpenTable) -> str:
        shape = known.shape
        return row_conditions.condition(
            shape, self._tests(shape.database, shape.name), self._where.get(table.table, "")
        )

    def _last(self, known: Definition) -> Bound | None:
        """Key of the table's last row; None without a key or rows."""
        return None if known.key is None else self._key(known, chunk_query.last(known))

    def _cut(self, table: OpenTable, rows: int) -> Bound | None:
        """See `cut`. An ALTER behind the comparison comes behind the place at which the chunk's window was opened."""
        if table.limit is None:
            return None
        for _ in range(_TRIES):
            known = self._same_key(table)
            try:
                bound = self._key(known, chunk_query.cut(known, table, rows))
            except SourceError as error:
                if server_errors.number_of(error) not in definitions.ALTERED:
                    raise definitions.denied(error, self._connections.control, table.table) from error
            except (LookupError, ValueError, struct.error):  # values of another type
                self._connections.drop_rows()
            else:
                if definitions.text_of(self._connections.control, table.table) == known.text:
                    return None if bound == table.limit else bound
            self._known.pop(table.table, None)
        raise self._always_altered(table.table)

    def _key(self, known: Definition, sql: str) -> Bound | None:
        """Of the row that the statement finds."""
        shape, key = chunk_query.key_only(known)
        with self._views.asking():
            answer = Answer(self._connections.rows, sql)
            packets = list(answer.rows())
        return Bounds(shape, key, answer.types).of(packets[0]) if packets else None

    def _chunk(self, known: Definition, images: RowImages, last: Bound | None, *, final: bool) -> Chunk:
        high = self._views.place or self._end()
        return Chunk(known.table_map, images, high, last, final, int(time.time()))

    def _end(self) -> Position:
        end = positions.end_position(self._connections.control, self._server)
        return msgspec.structs.replace(end, server=str(Origin(self._server.identity)))

    def _check_server(self, passed: Position) -> None:
        other = Origin.parse(passed.server).server
        if other not in ("", self._server.identity):
            raise SourceUnavailable(
                "E2002",
                "the stream reads another server than the snapshot",
                found=other,
                wanted=self._server.identity,
            )

    def _check_end(self, high: Position, passed: Position) -> None:
        """A log that ends before what the stream has passed was reset. The server may go on sending the former one
        without an error: the stream is opened again, which tells whether its position is still one of this log."""
        if Origin.parse(passed.server).created != 0 and high.log == passed.log and high.order < passed.order:
            raise SourceUnavailable(
                "E2002",
                f"the binlog of {self._connections.control.where} ends before the position that the stream has reached",
                found=str(high),
                wanted=f"{passed} or later, unless the log was reset",
            )

    def _always_altered(self, table: str) -> SourceUnavailable:
        where = self._connections.control.where
        return SourceUnavailable("E2002", f"{table} of {where} was altered {_TRIES} times while it was being read")


def _is_cut_by(known: Definition, table: OpenTable) -> bool:
    return (known.key_names, known.key_types) == (table.key, table.key_types)
