"""The state of the dashboard that is sent to all browsers, with notification of changes.

There is no queue per browser. Each fragment carries the version in which it last changed; a browser's stream remembers
the version it sent last and takes everything newer when it may write again. However slow a browser is, it costs one
integer, and it gets the latest state instead of a backlog.
"""

from __future__ import annotations

import asyncio
import secrets
import threading

import msgspec

from monitor.render import Page
from replicator.coordination.clock import now_ms


class Update(msgspec.Struct, frozen=True):
    """What a browser gets: the fragments that changed after the version it named, and the `order` of lists that have
    other rows since then.
    now_ms: when it is sent, our clock; the rest as in `Page`."""

    version: str
    now_ms: int
    read_ms: int
    fresh_ms: int
    stale: bool
    order: dict[str, list[str]]
    html: dict[str, str]


Parts = frozenset[str] | None
_WITH_TASKS = ("values", "sparks")


def parts_of(text: str | None) -> Parts:
    """`problems,tasks`, as a page asks for them; None: all."""
    return frozenset(filter(None, text.split(","))) if text is not None else None


def _wanted(kind: str, parts: Parts, *, listed: bool = True) -> bool:
    return parts is None or not listed or ("tasks" if kind in _WITH_TASKS else kind) in parts


class Feed:
    """`publish` comes from the poller's thread, everything else from the event loop's."""

    def __init__(self, max_streams: int = 100) -> None:
        self.max_streams = max_streams
        self.streams = 0
        self.refused = 0
        self.closed = False
        self._lock = threading.Lock()
        self._page: Page | None = None
        self._number = 0
        self._changed_in: dict[str, int] = {}
        self._ordered_in: dict[str, int] = {}
        # A browser that comes back after the Monitor was restarted must not mistake the new numbers for the old ones.
        self._generation = secrets.token_hex(4)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._news = asyncio.Event()

    def publish(self, page: Page) -> None:
        with self._lock:
            self._number += 1
            before = self._page.html if self._page else {}
            for key, html in page.html.items():
                if before.get(key) != html:
                    self._changed_in[key] = self._number
            orders = self._page.order if self._page else {}
            for kind, keys in page.order.items():
                if orders.get(kind) != keys:
                    self._ordered_in[kind] = self._number
            for key in before.keys() - page.html.keys():
                del self._changed_in[key]
            self._page = page
        self._wake()

    @property
    def page(self) -> Page:
        assert self._page is not None, "the poller publishes before the first request is answered"  # noqa: S101
        return self._page

    @property
    def version(self) -> str:
        return f"{self._generation}.{self._number}"

    def since(self, version: str, parts: Parts = None) -> Update:
        """Everything that changed after `version`; all of it when the version is not one of ours. `parts`: lists that
        the page has, None: all; each page has the fragments that are in no list."""
        with self._lock:
            number, page = self._parse(version), self.page
            changed = {
                key: html
                for key, html in page.html.items()
                if self._changed_in[key] > number and _wanted(key.partition(":")[0], parts, listed=":" in key)
            }
            order = {
                kind: keys
                for kind, keys in page.order.items()
                if self._ordered_in[kind] > number and _wanted(kind, parts)
            }
            return Update(self.version, now_ms(), page.read_ms, page.fresh_ms, page.stale, order, changed)

    def _parse(self, version: str) -> int:
        generation, _, number = version.partition(".")
        known = generation == self._generation and number.isascii() and number.isdigit() and len(number) < 16
        return min(int(number), self._number) if known else 0

    async def wait(self, timeout: float) -> None:
        """Until something is published, the feed is closed, or `timeout` seconds have passed."""
        if self.closed:
            return
        try:
            await asyncio.wait_for(self._news.wait(), timeout)
        except TimeoutError:
            return

    def close(self) -> None:
        """Ends every stream. May be called from a signal handler."""
        self.closed = True
        self._wake()

    def _wake(self) -> None:
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        try:
            loop.call_soon_threadsafe(self._ring)
        except RuntimeError:  # the loop was closed between the two lines
            return

    def _ring(self) -> None:
        self._news.set()
        self._news = asyncio.Event()
