"""What a browser gets: everything first, then what changed; and how many may listen."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from monitor import event_stream
from monitor.event_stream import EventStream
from monitor.feed import Feed
from monitor.render import Page


def page(**html: str) -> Page:
    return Page(1, 3000, False, {"tasks": list(html)}, html)


def test_everything_then_only_what_changed() -> None:
    feed = Feed()
    feed.publish(page(a="1", b="1"))
    first = feed.since("")
    assert first.html == {"a": "1", "b": "1"}
    feed.publish(page(a="1", b="2"))
    second = feed.since(first.version)
    assert second.html == {"b": "2"}
    assert feed.since(second.version).html == {}


def test_a_slow_browser_gets_the_latest_once() -> None:
    feed = Feed()
    feed.publish(page(a="0"))
    version = feed.since("").version
    for number in range(100):
        feed.publish(page(a=str(number)))
    assert feed.since(version).html == {"a": "99"}


def test_a_row_that_went_is_not_in_the_order() -> None:
    feed = Feed()
    feed.publish(page(a="1", b="1"))
    version = feed.since("").version
    feed.publish(page(a="1"))
    update = feed.since(version)
    assert (update.order, update.html) == ({"tasks": ["a"]}, {})
    feed.publish(page(a="1", b="1"))
    assert feed.since(version).html == {"b": "1"}


@pytest.mark.parametrize("version", ["", "x", "0.5", "ffffffff.3", "9" * 40, "\u0663.\u0663", "-1"])
def test_a_version_of_another_monitor_gets_everything(version: str) -> None:
    feed = Feed()
    feed.publish(page(a="1"))
    assert feed.since(version).html == {"a": "1"}


def test_a_version_from_the_future_gets_what_comes() -> None:
    feed = Feed()
    feed.publish(page(a="1"))
    future = feed.version.split(".")[0] + ".999"
    assert feed.since(future).html == {}
    feed.publish(page(a="2"))
    assert feed.since(feed.since(future).version).html == {}


class Browser:
    """Collects what a stream sends; `stuck` stops reading."""

    def __init__(self) -> None:
        self.status = 0
        self.events: list[dict[str, Any]] = []
        self.stuck = False
        self.gone = asyncio.Event()
        self.ended = False

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if self.stuck:
            await asyncio.sleep(60)
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message["body"].startswith(b"id: "):
            self.events.append(json.loads(message["body"].split(b"data: ")[1]))
        self.ended = self.ended or not message.get("more_body", True)

    def listen(self, feed: Feed) -> asyncio.Task[None]:
        return asyncio.create_task(EventStream(feed, "")({}, self.receive, self.send))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(event_stream, "SPACING", 0.05)
    monkeypatch.setattr(event_stream, "QUIET", 0.2)
    monkeypatch.setattr(event_stream, "SEND_TIMEOUT", 0.2)


def opened(max_streams: int = 10) -> Feed:
    feed = Feed(max_streams)
    feed.attach(asyncio.get_running_loop())
    feed.publish(page(a="0"))
    return feed


def test_stream_coalesces_and_ends_when_the_browser_goes(quick: None) -> None:
    async def story() -> None:
        feed, browser = opened(), Browser()
        task = browser.listen(feed)
        await asyncio.sleep(0.01)
        for number in range(1, 50):
            feed.publish(page(a=str(number)))
            await asyncio.sleep(0.002)
        await asyncio.sleep(0.12)
        assert browser.events[0]["html"] == {"a": "0"}
        assert browser.events[0]["order"] == {"tasks": ["a"]} and browser.events[-1]["order"] == {}
        assert [event["html"]["a"] for event in browser.events if event["html"]][-1] == "49"
        assert len(browser.events) < 10
        assert feed.streams == 1
        browser.gone.set()
        await asyncio.wait_for(task, 1)
        assert feed.streams == 0

    asyncio.run(story())


def test_a_quiet_stream_still_says_that_it_lives(quick: None) -> None:
    async def story() -> None:
        feed, browser = opened(), Browser()
        task = browser.listen(feed)
        await asyncio.sleep(0.5)
        assert len(browser.events) >= 2
        feed.close()
        await asyncio.wait_for(task, 1)
        assert browser.ended

    asyncio.run(story())


def test_a_browser_that_stops_reading_is_dropped(quick: None) -> None:
    async def story() -> None:
        feed, browser = opened(), Browser()
        task = browser.listen(feed)
        await asyncio.sleep(0.02)
        browser.stuck = True
        await asyncio.wait_for(task, 2)
        assert feed.streams == 0

    asyncio.run(story())


def test_too_many_streams_are_refused(quick: None) -> None:
    async def story() -> None:
        feed = opened(max_streams=2)
        browsers = [Browser() for _ in range(3)]
        tasks = [browser.listen(feed) for browser in browsers]
        await asyncio.sleep(0.05)
        assert [browser.status for browser in browsers] == [200, 200, 503]
        assert (feed.streams, feed.refused) == (2, 1)
        feed.close()
        await asyncio.wait_for(asyncio.gather(*tasks), 1)
        assert feed.streams == 0

    asyncio.run(story())
