"""Rows with given keys, as they are behind a position of the stream: for `verify --repair`."""

from __future__ import annotations

import time

import msgspec

from replicator.errors import SourceError
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.snapshot import RowImages
from replicator.mysql import server_errors
from replicator.mysql.prepared import Answer
from replicator.pipeline.ports import Chunk, TableChanged
from replicator.source.mysql import positions
from replicator.source.mysql.snapshot import definition as definitions
from replicator.source.mysql.snapshot.connections import Connections
from replicator.source.mysql.snapshot.definition import Definition
from replicator.source.mysql.snapshot.selected_rows import SelectedRows
from replicator.source.mysql.snapshot.views import late_xa_s, views


class KeyedRows(msgspec.Struct, frozen=True):
    """
    Attributes:
        chunk: the rows as row images. `chunk.high`: end of the log, read after the SELECT.
        packets, types: the same rows in the same order, of the other SELECT.
    """

    chunk: Chunk
    packets: tuple[bytes, ...]
    types: tuple[int, ...]


class KeyedReader:
    """Reads rows in a view that shows everything before a position. Raises SourceUnavailable, SourceError."""

    def __init__(self, connections: Connections) -> None:
        self._connections, self._views = connections, views(connections)
        self.server = connections.server
        self._known: dict[str, Definition] = {}

    def definition(self, table: str) -> Definition:
        """Raises TableChanged: there is no such table."""
        known = self._known.get(table)
        if known is None:
            known = definitions.read(self._connections.control, self.server, table, len(self._known) + 1)
            if known is None:
                raise TableChanged(f"{table} is gone")
            self._known[table] = known
        return known

    def read(self, table: str, condition: str, passed: Position, select: str) -> KeyedRows:
        """
        Args:
            condition: behind the SELECT, with an order that is the same for both.
            passed: everything before it is seen.
            select: another SELECT of the table, for the same rows.

        Raises:
            TableChanged: it has another definition by now.
        """
        known = self.definition(table)
        late_s = late_xa_s(self._connections.control, self.server)
        if late_s:
            self._connections.pause(late_s)
        # Both SELECTs have to see the same rows: other chunks are single SELECTs, for which READ COMMITTED is enough.
        self._connections.rows.rows("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        self._views.begin(passed)
        try:
            images = self._images(known, table, f"{known.shape.select}{condition}")
            answer = Answer(self._connections.rows, f"{select}{condition}")
            packets = tuple(answer.rows())
        except SourceError as error:
            self._connections.drop_rows()
            if server_errors.number_of(error) not in definitions.ALTERED:
                raise definitions.denied(error, self._connections.control, table) from error
            self._known.pop(table, None)
            raise TableChanged(f"{table} was altered") from error
        except BaseException:
            self._connections.drop_rows()
            raise
        self._views.end()
        end = positions.end_position(self._connections.control, self.server)
        high = msgspec.structs.replace(end, server=str(Origin(self.server.identity)))
        chunk = Chunk(known.table_map, images, high, None, final=True, time_s=int(time.time()))
        return KeyedRows(chunk, packets, tuple(answer.types))

    def _images(self, known: Definition, table: str, sql: str) -> RowImages:
        answer = Answer(self._connections.rows, sql)
        if definitions.text_of(self._connections.control, table) != known.text:
            self._known.pop(table, None)
            raise TableChanged(f"{table} was altered")
        rows = SelectedRows(self._connections.rows, known, answer, mariadb=self.server.mariadb)
        data, ends = bytearray(), list[int]()
        while not rows.ended:
            part, _ = rows.take(1 << 30)
            ends += (len(data) + end for end in part.ends)
            data += part.data
        return RowImages(bytes(data), ends)

    def close(self) -> None:
        self._connections.close()
