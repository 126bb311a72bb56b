"""Feeds of a part of the view, for logins with a selector and pages of a task: made from the feed of all tasks when a
browser asks for them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from monitor.feed import Feed, Parts, Update
from monitor.render import Page

_KEPT: Final = 50
"""Feeds. One that was dropped is made again; its browsers get all fragments once."""


class SelectedFeed:
    """Of the event loop. Has what `EventStream` uses of a `Feed`; streams count together with those of all tasks."""

    def __init__(self, everything: Feed, make: Callable[[], Page]) -> None:
        self._everything = everything
        self._make = make
        self._own = Feed()
        self._made_from = ""

    @property
    def page(self) -> Page:
        return self._current().page

    @property
    def version(self) -> str:
        return self._current().version

    @property
    def streams(self) -> int:
        return self._everything.streams

    @streams.setter
    def streams(self, number: int) -> None:
        self._everything.streams = number

    @property
    def refused(self) -> int:
        return self._everything.refused

    @refused.setter
    def refused(self, number: int) -> None:
        self._everything.refused = number

    @property
    def max_streams(self) -> int:
        return self._everything.max_streams

    @property
    def closed(self) -> bool:
        return self._everything.closed

    def since(self, version: str, parts: Parts = None) -> Update:
        return self._current().since(version, parts)

    async def wait(self, timeout: float) -> None:
        await self._everything.wait(timeout)

    def _current(self) -> Feed:
        version = self._everything.version
        if version != self._made_from:
            self._made_from = version
            self._own.publish(self._make())
        return self._own


class SelectedFeeds:
    """By selector and task, "" for all. `make`: renders the page of these."""

    def __init__(self, everything: Feed, make: Callable[[str, str], Page]) -> None:
        self._everything = everything
        self._make = make
        self._feeds: OrderedDict[tuple[str, str], SelectedFeed] = OrderedDict()

    def of(self, selector: str, task: str = "") -> Feed | SelectedFeed:
        if not selector and not task:
            return self._everything
        key = selector, task
        feed = self._feeds.get(key)
        if feed is None:
            feed = self._feeds[key] = SelectedFeed(self._everything, lambda: self._make(selector, task))
        self._feeds.move_to_end(key)
        while len(self._feeds) > _KEPT:
            self._feeds.popitem(last=False)
        return feed
