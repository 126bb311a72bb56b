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

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.position_order import reached

MOST_KEYS: Final = 600_000
"""Of one table that are remembered, over all of its windows: some 30 to 60 MB."""
LATE_S: Final = 1.0
"""How long the engine may take for an XA COMMIT that the server has sent and counts as shown."""


class Window(msgspec.Struct, eq=False):
    """Of one chunk.

    Attributes:
        table: `database.table`.
        high: None until the SELECT has ended.
        noted: keys that the stream has passed since the window was opened.
        stale: the chunk has to be read again.
        dropped: there will be no chunk. Set by the threads that read chunks.
    """

    table: str
    high: Position | None = None
    noted: set[bytes] = msgspec.field(default_factory=set)
    stale: bool = False
    dropped: bool = False


class Windows:
    """All open windows of a task. Not thread-safe. Times are monotonic, seconds.

    Attributes:
        late: when what is noted now was sent, if a SELECT of the next moments may lack it: the keys count for windows
            of that time, too. None: what is behind is shown.
    """

    def __init__(self, most_keys: int = MOST_KEYS) -> None:
        self._open: list[Window] = []
        self._recent: dict[str, set[bytes]] = {}
        self._kept: set[str] = set()
        self._flooded: set[str] = set()  # by the bytes at hand
        self._late: list[tuple[float, str, frozenset[bytes]]] = []  # until when, table, keys
        self._late_since: float | None = None
        self._last_late = -LATE_S
        self._not_before: dict[str, float] = {}
        self._altered: set[str | None] = set()  # by the bytes at hand; None: any table may be
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
        self._altered.clear()
        for table in [table for table in self._recent if table not in self._kept]:
            del self._recent[table]

    @property
    def late(self) -> float | None:
        return self._late_since

    @late.setter
    def late(self, since: float | None) -> None:
        self._late_since = since
        if since is not None:
            self._last_late = since

    def watch(self, table: str) -> None:
        """Its keys are noted from now on."""
        self._not_before[table] = self._last_late + LATE_S

    def may_open(self, table: str, now: float) -> bool:
        """Not while changes may not be shown that were not noted."""
        return now >= self._not_before.get(table, now)

    def open(self, table: str, now: float = 0.0) -> Window:
        """At a place of the stream between transactions, before the SELECT is sent."""
        self._open = [each for each in self._open if not each.dropped]
        self._late = [each for each in self._late if each[0] > now]
        noted = self._recent.get(table, set()).union(*(keys for _, name, keys in self._late if name == table))
        stale = table in self._flooded or not self._altered.isdisjoint((table, None)) or len(noted) > self._most
        window = Window(table, noted=noted, stale=stale)
        self._open.append(window)
        return window

    def note(self, table: str, keys: Sequence[bytes]) -> None:
        """The stream has changed rows with these keys: of an update, both."""
        if self._late_since is not None:
            self._note_late(table, keys, self._late_since + LATE_S)
        if table in self._flooded:
            return
        recent = self._recent.setdefault(table, set())
        recent.update(keys)
        remembered = len(recent)
        for window in self._open:
            if window.table == table and not (window.stale or window.dropped):
                window.noted.update(keys)
                remembered += len(window.noted)
        if remembered > self._most:
            self._flood(table)

    def _note_late(self, table: str, keys: Sequence[bytes], until: float) -> None:
        self._late.append((until, table, frozenset(keys)))
        if sum(len(keys) for _, name, keys in self._late if name == table) > self._most:
            self._late = [each for each in self._late if each[1] != table]
            self._not_before[table] = until

    def alter(self, table: str | None) -> None:
        """The stream has a statement that changes the table, or (None) may change any."""
        self._altered.add(table)
        for window in self._open:
            if table is None or window.table == table:
                window.stale = True

    def clear(self) -> None:
        """None of them is wanted any more."""
        self._open.clear()

    def take(self, window: Window, position: Position) -> bool:
        """Whether it ends here: then it is closed; if it is `stale`, its chunk is of no use. Windows of several chunks
        may end in another order than they were opened in.

        Args:
            position: of the stream, between transactions.
        """
        if not over(window, position):
            return False
        self._open = [each for each in self._open if each is not window]
        return True


def over(window: Window, position: Position) -> bool:
    """Whether the stream is at or behind `window.high`, or the window has become stale."""
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
