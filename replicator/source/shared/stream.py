"""A task's stream that begins with a separate connection and goes over to a shared one when it has caught up.

It never goes back: whoever falls behind, or meets anything unexpected, ends the session, and the next one begins with
a separate connection at the position that is acknowledged, like every other session.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, Literal, Protocol

from replicator.errors import ReplicatorError, SessionRenewed, SourceUnavailable
from replicator.model.position import Position
from replicator.source.shared.event_walk import EventWalk
from replicator.source.shared.feed import Feed, NoFeed
from replicator.source.shared.ring import Overtaken
from replicator.source.shared.terms import Terms

_READ: Final = 512 << 10
_CAUGHT_UP: Final = 256 << 10
"""A read that brings less is one of a stream that keeps up."""
_TRY_SECONDS: Final = 0.5
_AGAIN_SECONDS: Final = 5.0


class OwnStream(Protocol):
    """The part of `MySQLStream` that is used."""

    position: Position

    silence: float

    def read(self, timeout: float) -> bytes: ...

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError: ...

    def close(self) -> None: ...


class SharedStream:
    """See `replicator.pipeline.ports.Stream`.

    Args:
        own: just opened.
        terms: of `own`.
        find: the name of a relay's socket, once there is one to be joined.
        left: told why the shared stream was left, and whether the task was too slow for it.
    """

    framing: Literal["packet", "file"] = "packet"

    def __init__(
        self, own: OwnStream, terms: Terms, find: Callable[[Terms], str], left: Callable[[str, bool], None]
    ) -> None:
        self.position = own.position
        self._own: OwnStream = own
        self._terms = terms
        self._find = find
        self._left = left
        self._walk: EventWalk | None = EventWalk()
        self._reached = False  # everything that was executed when the stream was opened lies behind it
        self._feed: Feed | None = None
        self._joined = self._closed = False
        self._heard = 0.0
        self._next_try = time.monotonic() + _TRY_SECONDS

    @property
    def joined(self) -> bool:
        return self._joined and not self._closed

    def read(self, timeout: float) -> bytes:
        if self._joined:
            return self._read_feed(timeout)
        data = self._own.read(timeout)
        return self._follow(data) if self._walk is not None else data

    def server_error(self, errno: int, sqlstate: str, message: str) -> ReplicatorError:
        return self._own.server_error(errno, sqlstate, message)

    def close(self) -> None:
        """From any thread, more than once."""
        self._closed = True
        self._own.close()
        feed = self._feed
        if feed is not None:
            feed.shut()

    # A separate connection

    def _follow(self, data: bytes) -> bytes:
        """What of `data` the decoder is to have: after a join, nothing behind the event where the ring goes on."""
        walk = self._walk
        if walk is None:
            return data
        if data:
            walk.feed(memoryview(data))
        if walk.ended or walk.lost:
            self._walk = None
            return data
        self._note_place(walk)
        if not self._reached or len(data) >= _CAUGHT_UP or time.monotonic() < self._next_try:
            return data
        end = walk.boundary - (walk.total - len(data))
        if end < 0:
            return data  # the decoder has the beginning of an event that is not whole
        self._next_try = time.monotonic() + _TRY_SECONDS
        if not self._join(walk):
            return data
        return data[:end]

    def _note_place(self, walk: EventWalk) -> None:
        terms = self._terms
        if not self._reached and walk.file:
            here = Position(walk.file, walk.offset)
            self._reached = here.order >= Position(terms.file, terms.offset).order

    def _join(self, walk: EventWalk) -> bool:
        try:
            if self._feed is None:
                name = self._find(self._terms)
                if not name:
                    return False
                self._feed = Feed(name, self._terms.key)
            if not self._feed.join(walk.file, walk.offset, walk.created):
                self._next_try = time.monotonic() + _AGAIN_SECONDS
                return False
        except NoFeed as error:
            self._feed = None
            self._left(str(error), False)
            return False
        if self._closed:
            return False
        self._joined, self._heard = True, time.monotonic()
        self._own.close()
        return True

    # The shared one

    def _read_feed(self, timeout: float) -> bytes:
        feed = self._feed
        assert feed is not None, "it is joined"  # noqa: S101
        deadline = time.monotonic() + timeout
        while True:
            if self._closed:
                raise SourceUnavailable("E2002", "the binlog stream ended", found="this process closed the stream")
            try:
                data = feed.read(_READ)
            except Overtaken:
                raise self._leave("the task is too slow for the shared stream", slow=True) from None
            except NoFeed as error:
                raise self._leave(str(error)) from error
            now = time.monotonic()
            if data:
                self._heard = now
                return data
            if now - self._heard > self._own.silence:
                raise self._leave(f"no event and no heartbeat for {now - self._heard:.1f} s")
            if now >= deadline:
                return b""
            feed.wait(deadline - now)

    def _leave(self, found: str, *, slow: bool = False) -> ReplicatorError:
        if self._closed:
            return SourceUnavailable("E2002", "the binlog stream ended", found="this process closed the stream")
        self._left(found, slow)
        return SessionRenewed("E2290", "the task reads with a separate connection again", found=found)
