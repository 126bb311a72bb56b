"""Server-sent events over the feed, as a small ASGI application that detects browsers which stop reading.

A browser that takes nothing for `SEND_TIMEOUT` seconds is dropped; a stream ends by itself after `LIFETIME` seconds and
the browser opens a new one. More streams than the feed allows are refused with 503: the page then polls.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any

import msgspec

from monitor.feed import Feed, Parts
from monitor.selected_feed import SelectedFeed
from replicator.telemetry.hosts import Message, Receive, Scope, Send

SEND_TIMEOUT = 10.0
LIFETIME = 900.0
SPACING = 1.0
"""At most one message a second, whatever is published in between."""
CHECK = 5.0
"""Seconds after which the login is verified again."""
QUIET = 2.5
"""A message at least this often, so that a browser can tell silence from a broken stream."""


def event(update: object, version: str) -> bytes:
    """One server-sent event. JSON has no line breaks, so that one data line carries it."""
    return b"id: " + version.encode() + b"\ndata: " + msgspec.json.encode(update) + b"\n\n"


class EventStream:
    """ASGI response that sends the feed from `version` on, as long as `may_read` holds. `parts`: see
    `Feed.since`."""

    def __init__(
        self,
        feed: Feed | SelectedFeed,
        version: str,
        clock: Callable[[], float] = time.monotonic,
        may_read: Callable[[], Awaitable[bool]] | None = None,
        parts: Parts = None,
    ) -> None:
        self._feed = feed
        self._may_read = may_read
        self._parts = parts
        self._version = version
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        feed = self._feed
        if feed.closed or feed.streams >= feed.max_streams:
            feed.refused += 1
            await _refuse(send)
            return
        feed.streams += 1
        gone = asyncio.ensure_future(_disconnected(receive))
        try:
            await self._run(send, gone)
        except (OSError, TimeoutError):
            return  # the browser went or does not read: nothing to say to it
        finally:
            gone.cancel()
            feed.streams -= 1

    async def _run(self, send: Send, gone: asyncio.Future[None]) -> None:
        feed, ends = self._feed, self._clock() + LIFETIME
        checked = self._clock()
        await _send(send, {"type": "http.response.start", "status": 200, "headers": _HEADERS})
        while not (feed.closed or gone.done() or self._clock() > ends):
            if self._may_read is not None and self._clock() - checked >= CHECK:
                checked = self._clock()
                if not await self._may_read():
                    break
            update = feed.since(self._version, self._parts)
            self._version = update.version
            await _send(send, _body(event(update, update.version), more=True))
            began = self._clock()
            await _first(feed.wait(QUIET), gone)
            rest = SPACING - (self._clock() - began)
            if rest > 0 and not feed.closed:
                await _first(asyncio.sleep(rest), gone)
        await _send(send, _body(b"", more=False))


_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),  # asks reverse proxies to pass events on at once
]


async def _first(work: Coroutine[Any, Any, None], gone: asyncio.Future[None]) -> None:
    """Waits for `work`, or less when the browser goes."""
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        task.cancel()


async def _disconnected(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _send(send: Send, message: Message) -> None:
    await asyncio.wait_for(send(message), SEND_TIMEOUT)


def _body(data: bytes, *, more: bool) -> Message:
    return {"type": "http.response.body", "body": data, "more_body": more}


async def _refuse(send: Send) -> None:
    headers = [(b"content-type", b"text/plain"), (b"retry-after", b"30"), (b"cache-control", b"no-store")]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send(_body(b"too many streams; poll /api/updates instead\n", more=False))
