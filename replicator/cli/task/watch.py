"""`replicator task get --watch`: a table that fits the screen, or the changes in a pipe.

Requests are made in a separate thread: a Server that does not answer must not stop the clock that says so.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import click

from replicator.cli import failures, terminal
from replicator.cli.task import render
from replicator.cli.task.client import Client
from replicator.cli.task.selection import Choice, is_one, listed
from replicator.errors import ReplicatorError

Item = dict[str, Any]
_HOME_AND_CLEAR = "\x1b[H\x1b[2J"
MAX_AGE = 1
"""Seconds that an answer may be old: Cores report once a second."""
SILENT_SECONDS = 3.0
"""Age of what is shown after which it is said to be old; more with a longer interval."""


class Shown(NamedTuple):
    """What is asked for, and how it is printed."""

    choice: Choice
    output: str
    heading: bool


class Feed:
    """The last answer, its time, and the error since. `ended`: an error that repeating does not remove."""

    def __init__(self, fetch: Callable[[], list[Item]], clock: Callable[[], float] = time.monotonic) -> None:
        self._fetch = fetch
        self._clock = clock
        self._since = clock()
        self.items: list[Item] | None = None
        self.answers = 0
        self.error: ReplicatorError | None = None
        self.ended: BaseException | None = None

    def age(self) -> float:
        """Seconds since the last answer, or since the beginning."""
        return self._clock() - self._since

    def ask(self) -> None:
        """Once. Without a connection the next attempt may succeed; any other error ends it."""
        try:
            asked = self._clock()
            self.items, self.error = self._fetch(), None
            self._since = asked
            self.answers += 1
        except ReplicatorError as error:
            if failures.exit_status(error) == failures.UNREACHABLE:
                self.error = error
            else:
                self.ended = error
        except Exception as error:
            self.ended = error


def watch_tasks(client: Client, shown: Shown, interval: float) -> None:
    """Until Ctrl-C, or an error that repeating does not remove."""
    redraw = terminal.width() is not None and shown.output in ("table", "wide")
    screen: Screen | Changes = tasks_screen(shown, client.server) if redraw else Changes(shown)
    answered = False

    def fetch() -> list[Item]:
        nonlocal answered
        items = _fetch(client, shown, again=answered)
        answered = True
        return items

    watch(screen, fetch, interval)


def watch(screen: Screen | Changes, fetch: Callable[[], list[Item]], interval: float) -> None:
    """As `watch_tasks`, of what `fetch` returns."""
    silent_after = max(SILENT_SECONDS, 2 * interval)
    feed = Feed(fetch)

    def ask() -> None:
        while feed.ended is None:
            feed.ask()
            time.sleep(interval)

    threading.Thread(target=ask, name="requests", daemon=True).start()
    pause = min(interval, 0.1)
    next_draw, answers = 0.0, 0
    while feed.ended is None:
        now = time.monotonic()
        if feed.answers != answers or now >= next_draw:
            answers, next_draw = feed.answers, now + min(interval, 1.0)
            screen.show(feed, silent=feed.age() > silent_after)
        time.sleep(pause)
    raise feed.ended


def _fetch(client: Client, shown: Shown, *, again: bool) -> list[Item]:
    """Raises ProcessError E5003 without such a task; `again`: several of which the last one was deleted are none."""
    choice = shown.choice
    if is_one(choice):
        return [client.task(choice.names[0], MAX_AGE)]
    try:
        return listed(client.tasks(MAX_AGE)["items"], choice)
    except ReplicatorError as error:
        if again and error.code == "E5003":
            return []
        raise


class Screen:
    """The whole table again, as many tasks as there is room for.

    Args:
        rows: the table of some tasks, which begins with a header if `heading`, the most important task first.
        above: lines over it.
        asked: tasks were chosen, so that there may be others.
        order: of the tasks in `rows`.
    """

    def __init__(
        self,
        server: str,
        rows: Callable[[Sequence[Item]], list[str]],
        above: Callable[[Sequence[Item]], list[str]] = lambda items: [],
        *,
        order: Callable[[Sequence[Item]], list[Item]] = list,
        heading: bool = True,
        asked: bool = False,
    ) -> None:
        self._server = server
        self._rows = rows
        self._above = above
        self._order = order
        self._heading = heading
        self._asked = asked

    def show(self, feed: Feed, *, silent: bool) -> None:
        click.echo(f"{_HOME_AND_CLEAR}{self.text(feed, silent=silent, lines=_height())}", nl=False)

    def text(self, feed: Feed, *, silent: bool, lines: int) -> str:
        """At most `lines` - 1 lines: behind the last one is the cursor."""
        limit = terminal.width()
        head = _silence(feed, self._server) if silent or (feed.items is None and feed.error) else []
        if feed.items is None:
            rows = [] if head else ["Connecting ..."]
        elif not feed.items:
            rows = ["No such task." if self._asked else "No tasks."]
        else:
            head = [*head, *self._above(feed.items)]
            rows = self._rows(feed.items)
        space = max(lines - 1 - len(head), 2)
        if len(rows) > space:
            hidden = self._order(feed.items or [])[space - 1 - self._heading :]
            rows = [*rows[: space - 1], _more(hidden)]
        return "".join(f"{terminal.shortened(line, limit)}\n" for line in [*head, *rows])


def tasks_screen(shown: Shown, server: str) -> Screen:
    """The table of `task get`, tasks with problems first."""

    def rows(items: Sequence[Item]) -> list[str]:
        return render.tasks_table(by_trouble(items), shown.output, shown.heading).splitlines()

    return Screen(server, rows, order=by_trouble, heading=shown.heading, asked=bool(shown.choice))


class Changes:
    """Tasks that are not as they were printed last, for a pipe. Silence and its end are said once, on stderr."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._heading = shown.heading
        self._seen: dict[str, str] = {}
        self._silent = False

    def show(self, feed: Feed, *, silent: bool) -> None:
        if silent and not self._silent:
            click.echo(
                f"The Server has not answered for {render.duration(feed.age())}; retrying. {_why(feed)}", err=True
            )
        elif self._silent and not silent:
            click.echo("The Server answers again.", err=True)
        self._silent = silent
        for item in feed.items or ():
            self._print(item)

    def _print(self, item: Item) -> None:
        output = self._shown.output
        if output == "json":
            text = f"{json.dumps(item, ensure_ascii=False)}\n"
        elif render.is_structured(output):
            text = ("---\n" if output == "yaml" else "") + render.structured(item, output)
        elif output == "name":
            text = f"{terminal.clean(item['name'])}\n"
        else:
            text = render.tasks_table([item], output, heading=False)
        known = json.dumps({**item, "figures_age_s": None}) if output in ("json", "yaml") else text
        if self._seen.get(item["name"]) == known:  # the age alone is no change
            return
        self._seen[item["name"]] = known
        if output in ("table", "wide", "tsv") and self._heading:
            text = render.tasks_table([item], output, heading=True)
        self._heading = False
        click.echo(text, nl=False)


def by_trouble(items: Sequence[Item], within: Callable[[Item], float] = lambda item: 0.0) -> list[Item]:
    """Failed and not configured tasks, those with no Core, others that do not run as ordered, running ones with
    problems, running ones, paused ones; in the order of `within` and by name within each."""
    return sorted(items, key=lambda item: (_rank(item), within(item), item["name"]))


def _rank(item: Item) -> int:
    state, desired = item["state"], item["desired"]
    if state in ("failed", "unconfigured"):
        return 0
    if state == "absent" and desired == "running":
        return 1
    if state == desired:
        return (3 if item["problems"] else 4) if state == "running" else 5
    return 2


def _silence(feed: Feed, server: str) -> list[str]:
    age = render.duration(feed.age())
    what = f"shown as of {age} ago" if feed.items is not None else f"no answer for {age}"
    lines = [f"NO CURRENT STATE from {terminal.clean(server)}: {what}, retrying", _why(feed)]
    return [click.style(line, fg="red", bold=True) for line in lines if line]


def _why(feed: Feed) -> str:
    return terminal.clean(str(feed.error)) if feed.error is not None else ""


def _more(hidden: Sequence[Item]) -> str:
    """`and 43 more: 40 running, 3 paused`"""
    counts: dict[str, int] = {}
    for item in hidden:
        counts[item["state"]] = counts.get(item["state"], 0) + 1
    return f"and {len(hidden)} more: {', '.join(f'{count} {state}' for state, count in counts.items())}"


def _height() -> int:
    return shutil.get_terminal_size((80, 24)).lines
