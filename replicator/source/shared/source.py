"""The source of a task that may share its dump connection: `source.share: auto`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final

from replicator.model.position import Begin, Position
from replicator.model.source_end import SourceEnd
from replicator.pipeline.ports import Stream
from replicator.source.mysql.source import MySQLSource
from replicator.source.shared.stream import SharedStream
from replicator.source.shared.terms import Terms

_ASK_SECONDS: Final = 5.0
_FIRST_PAUSE: Final = 2.0
_SLOW_PAUSE: Final = 10.0
_LONGEST_PAUSE: Final = 120.0
_CALM_SECONDS: Final = 300.0


class SharedSource:
    """See `replicator.pipeline.ports.Source`: a `MySQLSource` whose streams go over to a shared one.

    Args:
        ask: tells who has the relays that this stream could be shared. From the reading thread; must not block.
        note: told about joins and why the shared stream was left.
    """

    def __init__(
        self,
        source: MySQLSource,
        ask: Callable[[Terms], None],
        note: Callable[[str], None] = lambda reason: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source = source
        self._ask, self._note, self._clock = ask, note, clock
        self._relays: dict[str, str] = {}
        self._asked_at = -_ASK_SECONDS
        self._not_before = 0.0
        self._pause = 0.0
        self._left_at = 0.0
        self._stream: SharedStream | None = None
        source.with_terms = True

    @property
    def joined(self) -> bool:
        """Whether the present stream is a shared one."""
        stream = self._stream
        return stream is not None and stream.joined

    def offer(self, key: str, name: str) -> None:
        """From any thread: streams with this key are at that relay."""
        self._relays[key] = name

    def open(self, position: Position) -> Stream:
        own = self._source.open(position)
        if own.terms is None:
            return own
        self._stream = SharedStream(own, own.terms, self._find, self._left)
        return self._stream

    def _find(self, terms: Terms) -> str:
        now = self._clock()
        if now < self._not_before:
            return ""
        name = self._relays.get(terms.key, "")
        if not name and now - self._asked_at >= _ASK_SECONDS:
            self._asked_at = now
            self._ask(terms)
        return name

    def _left(self, reason: str, slow: bool) -> None:
        """A while passes until the next attempt, longer each time: each costs a slow task a session."""
        now = self._clock()
        if now - self._left_at > _CALM_SECONDS:
            self._pause = 0.0
        first = _SLOW_PAUSE if slow else _FIRST_PAUSE
        self._pause = min(_LONGEST_PAUSE, max(first, 2 * self._pause))
        self._left_at, self._not_before = now, now + self._pause
        if not slow:
            self._relays.clear()
        self._note(reason)

    # As it is

    def start_position(self, begin: Begin | None = None) -> Position:
        return self._source.start_position(begin)

    def end_position(self) -> Position:
        return self._source.end_position()

    def observe(self, delivered: Position | None = None) -> SourceEnd:
        return self._source.observe(delivered)

    def retention_headroom(self, position: Position, behind_s: float, speed: float) -> float | None:
        return self._source.retention_headroom(position, behind_s, speed)

    def by_gtid(self, position: Position) -> bool:
        return self._source.by_gtid(position)
