"""Windows: where the rows of a chunk may stand in the stream.

A chunk is a SELECT of some rows. Its rows are newer than what the stream has delivered, and may be older than what the
stream delivers soon; nobody knows which, because a SELECT has no place in the binlog. Two things are known: a row that the SELECT
saw was in the binlog before the SELECT ended, so behind `high`, the end of the log read afterwards, the stream has all
of it; and the keys that the stream passes from before the SELECT up to there are noted. At `high` the chunk's rows whose
keys were not noted have no change that the stream has yet to deliver, and none that it delivered since: they are put in there. The
others are dropped: the stream's records of their keys are at least as new.

What makes a chunk unusable: a statement that changes the table, or another server in the place of the one that was asked. It is read again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import msgspec

from replicator.model.position import Position

Row: TypeAlias = tuple[bytes, bytes]
"""(key, row image): both as the binlog has them. Keys are compared byte for byte: an update from 'a' to 'A' notes both."""


class Window(msgspec.Struct, eq=False):
    """One chunk.

    Attributes:
        table: `database.table`.
        rows, high: None until the SELECT has ended.
        noted: keys that the stream has passed since the window was opened.
        stale: the chunk has to be read again.
    """

    table: str
    rows: Sequence[Row] | None = None
    high: Position | None = None
    noted: set[bytes] = msgspec.field(default_factory=set)
    stale: bool = False

    @property
    def left(self) -> list[bytes]:
        """The row images that are put in."""
        return [image for key, image in self.rows or () if key not in self.noted]


class Windows:
    """All open windows of a task. Not thread-safe: the thread that reads the stream calls everything; it takes
    answers from the threads that select."""

    def __init__(self) -> None:
        self._open: list[Window] = []

    @property
    def tables(self) -> frozenset[str]:
        """Whose keys have to be noted."""
        return frozenset(window.table for window in self._open)

    def open(self, table: str) -> Window:
        """Before the SELECT is sent."""
        window = Window(table)
        self._open.append(window)
        return window

    def close(self, window: Window) -> None:
        """It is not wanted any more."""
        if window in self._open:
            self._open.remove(window)

    def read(self, window: Window, rows: Sequence[Row], high: Position) -> None:
        """The SELECT has ended; `high`: the end of the log, asked for afterwards."""
        window.rows, window.high = rows, high

    def note(self, table: str, keys: Iterable[bytes]) -> None:
        """The stream has changed rows with these keys: of an update, both."""
        for window in self._open:
            if window.table == table:
                window.noted.update(keys)

    def changed(self, table: str | None) -> None:
        """The stream has a statement that changes the table, or (None) may change any."""
        for window in self._open:
            if table is None or window.table == table:
                window.stale = True

    def due(self, position: Position) -> list[Window]:
        """Windows that end here, in the order of their beginning: each is closed; `stale` ones are to be read again.

        Args:
            position: of the stream, between transactions.
        """
        ended = [window for window in self._open if _over(window, position)]
        self._open = [window for window in self._open if window not in ended]
        return ended


def _over(window: Window, position: Position) -> bool:
    high = window.high
    if high is None:
        return False
    if window.stale:
        return True
    if high.log != position.log or _server(high) != _server(position):
        window.stale = True
        return True
    return position.order >= high.order


def _server(position: Position) -> str:
    return position.server.partition("/")[0]
