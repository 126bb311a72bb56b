"""One server of a verification: describes tables, and reads rows of them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from replicator.config.database_server import DatabaseServer
from replicator.errors import ReplicatorError, TableMissing
from replicator.model.snapshot import OpenTable
from replicator.mysql import chunk_query, reading, server_errors, table_key, table_shape
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.prepared import Answer
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.mysql.table_key import Bound, Bounds
from replicator.verify.compare import KeyValue, Row
from replicator.verify.packet_rows import packets, parser
from replicator.verify.table_pair import Description, ReadTable

_GENERATED: Final = (
    "SELECT COLUMN_NAME FROM information_schema.COLUMNS "
    "WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s AND GENERATION_EXPRESSION <> ''"
)
_MISSING: Final = frozenset({1049, 1146})
_ALTERED: Final = frozenset({1049, 1051, 1054, 1109, 1146, 1412, 1615})
"""Numbers of errors of a SELECT whose table was altered."""


class TableAltered(Exception):
    """Another definition than the one that the comparison began with."""


class Side:
    """Two connections to one server: statements on one do not wait for the rows of the other.

    Raises the errors of its side (`mysql.sides`), as `Session` does.
    """

    def __init__(self, connect: Callable[[], Session]) -> None:
        self._connect = connect
        self._rows: Session | None = None
        self.control = connect()
        try:
            self.server = read_server(self.control)
            reading.prepare(self.control, self.server)
        except BaseException:
            self.control.close()
            raise

    @classmethod
    def of(cls, config: DatabaseServer, password: str) -> Side:
        """`config`: with one host and port."""
        return cls(lambda: Session(config, password))

    def describe(self, database: str, name: str) -> Description | None:
        """None: there is no such table. An account without SELECT on all columns is refused: the server would hide
        what it may not read."""
        try:
            self.control.rows(f"SELECT * FROM {quote_identifier(database)}.{quote_identifier(name)} LIMIT 0")  # noqa: S608
        except ReplicatorError as error:
            if server_errors.number_of(error) in _MISSING:
                return None
            raise
        try:
            shape = table_shape.read(self.control, self.server, database, name)
        except TableMissing:
            return None
        generated = [str(row[0]) for row in self.control.rows(_GENERATED, (database, name))]
        return Description(shape, table_key.usable(self.control, shape), generated)

    def read(self, table: ReadTable, sql: str, integers: Sequence[bool | None]) -> Selected:
        """Sends a SELECT; its rows have to be taken before the next. Raises TableAltered."""
        with _altered():
            return Selected(Answer(self._reading(), sql), table, integers)

    @contextlib.contextmanager
    def one_view(self) -> Iterator[None]:
        """Every SELECT in it sees the same rows."""
        session = self._reading()
        session.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        session.rows("START TRANSACTION WITH CONSISTENT SNAPSHOT")
        try:
            yield
        except BaseException:
            self.drop_rows()
            raise
        session.rows("COMMIT")

    def _reading(self) -> Session:
        if self._rows is None:
            self._rows = self._connect()
            reading.prepare(self._rows, self.server)
            reading.as_stored(self._rows)
        return self._rows

    def last(self, table: ReadTable) -> Bound | None:
        """Key of the last row. Raises TableAltered."""
        return self._key(table, chunk_query.last(table))

    def cut(self, table: ReadTable, done: Bound | None, rows: int) -> Bound | None:
        """Key of the row that is `rows` rows behind `done`; None: there are fewer. Raises TableAltered."""
        return self._key(table, chunk_query.cut(table, OpenTable("", done=done), rows))

    def _key(self, table: ReadTable, sql: str) -> Bound | None:
        shape, key = chunk_query.key_only(table)
        selected = self.read(ReadTable(shape, key), sql, ())
        found = [packet for some in selected.packets() for packet in some]
        return selected.bound(found[0]) if found else None

    def reconnect(self) -> None:
        self.close()
        self.control = self._connect()
        reading.prepare(self.control, self.server)

    def close(self) -> None:
        self.control.close()
        self.drop_rows()

    def drop_rows(self) -> None:
        """Ends a SELECT whose rows are not wanted."""
        if self._rows is not None:
            self._rows.close()
            self._rows = None


class Selected:
    """Rows of one SELECT."""

    def __init__(self, answer: Answer, table: ReadTable, integers: Sequence[bool | None]) -> None:
        self._answer, self._table = answer, table
        self.types = tuple(answer.types)
        self.parse: Callable[[bytes], Row] = parser(answer.types, integers or [None] * len(answer.types))
        self._bounds = Bounds(table.shape, table.key, answer.types) if table.key else None

    def packets(self) -> Iterator[list[bytes]]:
        with _altered():
            yield from packets(self._answer)

    def bound(self, packet: bytes) -> Bound:
        """Of a row's key, as literals."""
        if self._bounds is None:
            raise ValueError("a table without a key has no bounds")
        return self._bounds.of(packet)


def literals(table: ReadTable, key: KeyValue) -> Bound:
    """`key`: as `Selected.parse` gives its values."""
    if table.key is None:
        raise ValueError("a table without a key has no bounds")
    return table_key.literals(table.shape.columns, table.key, key)


@contextlib.contextmanager
def _altered() -> Iterator[None]:
    try:
        yield
    except ReplicatorError as error:
        if server_errors.number_of(error) in _ALTERED:
            raise TableAltered(str(error)) from error
        raise
