"""Prepared XA transactions: stores the row events of those with replicated rows until XA COMMIT or XA ROLLBACK.

They are kept as events, not as records: at XA COMMIT they are decoded as rows of the transaction that commits, with its
GTID, position and numbers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final, NamedTuple

from replicator.decode.binlog import unsupported_events
from replicator.decode.transactions.spill_file import SpillFile

_HEAD: Final = struct.Struct("<BBIIIQ")
_MAP, _QUERY, _ROWS = range(3)
_MOST_IN_MEMORY: Final = 1 << 20
"""Bytes of one branch."""
_ALL_IN_MEMORY: Final = 32 << 20
_MOST_KEPT: Final = 200
"""PreparedTransactions; those before them are read again from the binlog when they are committed."""


class Event(NamedTuple):
    """A row event (`operation` 0 to 2), or what goes with it. `at`: where its column count is in `body`; `number`:
    which of its transaction's row events it is, from 1, those of tables that are not replicated among them."""

    kind: int
    operation: int
    at: int
    timestamp: int
    server_id: int
    number: int
    body: bytes

    @property
    def is_map(self) -> bool:
        return self.kind == _MAP

    @property
    def is_query(self) -> bool:
        return self.kind == _QUERY


class XaTransaction:
    """The events of one XA transaction. `thread`: of the session that made the changes; `count`: its row events so far,
    those that are not kept among them; `skipped`: a task has written it, and none is kept."""

    def __init__(self, thread: int) -> None:
        self.thread = thread
        self.count = 0
        self.skipped = False
        self.spill = SpillFile(_MOST_IN_MEMORY)
        self._mapped: dict[int, bytes] = {}
        self._query: bytes | None = None
        self._savepoints: dict[str, int] = {}

    @property
    def empty(self) -> bool:
        return not self.spill.size

    def rows(self, table_map: bytes, query: bytes | None, event: tuple[int, int, int, int, bytes]) -> None:
        """`table_map`: body behind the table id; `event`: as in `Event`, without its kind and number."""
        operation, at, timestamp, server_id, body = event
        table_id = int.from_bytes(body[:6], "little")
        if query != self._query:
            self._query = query
            self._add(_QUERY, 0, 0, timestamp, server_id, query or b"")
        if self._mapped.get(table_id) != table_map:
            self._mapped[table_id] = table_map
            self._add(_MAP, 0, 0, timestamp, server_id, body[:6] + table_map)
        self._add(_ROWS, operation, at, timestamp, server_id, body)

    def _add(self, kind: int, operation: int, at: int, timestamp: int, server_id: int, body: bytes) -> None:
        self.spill.add(_HEAD.pack(kind, operation, at, timestamp, server_id, self.count), body)

    def events(self) -> Iterator[Event]:
        for chunk in self.spill.chunks():
            kind, operation, at, timestamp, server_id, number = _HEAD.unpack_from(chunk)
            yield Event(kind, operation, at, timestamp, server_id, number, chunk[_HEAD.size :])

    def savepoint(self, name: str) -> None:
        self._savepoints[name] = self.spill.size

    def roll_back_to(self, name: str, statement: str) -> None:
        if name not in self._savepoints:
            raise unsupported_events.structure("ROLLBACK TO SAVEPOINT of an unknown savepoint", statement)
        self.spill.truncate(self._savepoints[name])
        self._mapped.clear()
        self._query = None

    def close(self) -> None:
        self.spill.close()


class PreparedTransactions:
    """Those that are prepared, by xid. Memory and files are bounded: the oldest ones are forgotten."""

    def __init__(self) -> None:
        self._kept: dict[str, XaTransaction] = {}

    def keep(self, xid: str, branch: XaTransaction) -> None:
        self._kept[xid] = branch
        if sum(each.spill.in_memory for each in self._kept.values()) > _ALL_IN_MEMORY:
            branch.spill.to_disk()
        if len(self._kept) > _MOST_KEPT:
            self._kept.pop(next(iter(self._kept))).close()

    def take(self, xid: str) -> XaTransaction | None:
        return self._kept.pop(xid, None)
