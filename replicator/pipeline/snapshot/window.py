"""Windows: between which places of the stream the rows of a chunk have been read.

A chunk is a SELECT of some rows. When it began it saw everything that the stream had passed by then (the reader of the
chunk waits for that). Whatever it saw was in the log when it had ended, so behind `high`, the end of the log read
afterwards, the stream has all of it. The keys that the stream passes in between are noted. At `high` the rows of the
chunk whose keys were not noted have no change that the stream has yet to deliver: they are put in there. The others are
dropped: the stream's records of their keys are at least as new. To note more keys than needed does no harm, as long as
the stream has delivered their records.

What makes a chunk unusable: a statement that changes the table, or another server in the place of the one that was
asked. It is read again.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from replicator.model.order import reached
from replicator.model.origin import Origin
from replicator.model.position import Position

MOST_KEYS: Final = 300_000
"""Of one table that are remembered: some 30 to 60 MB."""


class Window(msgspec.Struct, eq=False):
    """Of one chunk.

    Attributes:
        table: `database.table`.
        high: None until the SELECT has ended.
        noted: keys that the stream has passed since the window was opened.
        stale: the chunk has to be read again.
        dropped: there will be no chunk. Set by the thread that reads chunks.
    """

    table: str
    high: Position | None = None
    noted: set[bytes] = msgspec.field(default_factory=set)
    stale: bool = False
    dropped: bool = False


class Windows:
    """All open windows of a task, in the order of their beginning. Not thread-safe."""

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._open: list[Window] = []
        self._recent: dict[str, set[bytes]] = {}
        self._kept: set[str] = set()
        self._flooded: set[str] = set()  # by the bytes at hand
        self._most = most_keys

    def _flood(self, table: str) -> None:
        """Too many keys to remember: what was read is read again, behind them."""
        self._recent.pop(table, None)
        self._flooded.add(table)
        for window in self._open:
            if window.table == table:
                window.stale = True
                window.noted.clear()

    def keep(self, table: str) -> None:
        """Its rows are all of one moment, that of the first window: keys that are noted since then hold for each."""
        self._kept.add(table)

    def forget(self, table: str) -> None:
        """It is read."""
        self._kept.discard(table)
        self._recent.pop(table, None)

    def advance(self) -> None:
        """The stream's next bytes are decoded. What was noted before is passed for every window that is opened now; of
        what is noted now nobody can tell on which side of the next boundary it is."""
        self._flooded.clear()
        for table in [table for table in self._recent if table not in self._kept]:
            del self._recent[table]

    def open(self, table: str) -> Window:
        """At a place of the stream between transactions, before the SELECT is sent."""
        window = Window(table, noted=set(self._recent.get(table, ())), stale=table in self._flooded)
        self._open.append(window)
        return window

    def note(self, table: str, keys: Iterable[bytes]) -> None:
        """The stream has changed rows with these keys: of an update, both."""
        if table in self._flooded:
            return
        recent = self._recent.setdefault(table, set())
        recent.update(keys)
        most = len(recent)
        for window in self._open:
            if window.table == table and not window.stale:
                window.noted.update(keys)
                most = max(most, len(window.noted))
        if most > self._most:
            self._flood(table)

    def alter(self, table: str | None) -> None:
        """The stream has a statement that changes the table, or (None) may change any."""
        for window in self._open:
            if table is None or window.table == table:
                window.stale = True

    def clear(self) -> None:
        """None of them is wanted any more."""
        self._open.clear()

    def take(self, position: Position) -> Window | None:
        """The oldest window, if it ends here: it is closed; if it is `stale`, its chunk is of no use.

        Args:
            position: of the stream, between transactions.
        """
        while self._open and self._open[0].dropped:
            self._open.pop(0)
        if not self._open or not _over(self._open[0], position):
            return None
        return self._open.pop(0)


def _over(window: Window, position: Position) -> bool:
    high = window.high
    if high is None:
        return False
    origin = Origin.parse(position.server)
    if high.log != position.log or Origin.parse(high.server).server != origin.server:
        window.stale = True
    if window.stale:
        return True
    if origin.created == 0:
        # Behind a fail-over: the file is one of the former server until this one has written something.
        return bool(position.gtid and high.gtid and reached(position, high))
    return position.order >= high.order
