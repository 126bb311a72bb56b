"""The servers that tasks use, as the Cores see them: who reaches them, and which tasks retry. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import msgspec

from monitor.problems.finding import place
from monitor.view import TaskRow, Tone, View

SIDES: Final = ("source", "sink", "registry")
MOST: Final = 24
"""That are shown; of more, those in trouble and those that most tasks use."""
NAMED: Final = 3


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        place: type and address.
        tasks: that use it, as source, sink or registry.
        reached, unreached: hosts that reach it and that do not, as they report; a host that a working task runs on
            reaches it.
        retrying: how many tasks retry it, since `since_ms`, 0: unknown, with `code`.
        query: of the filter that shows its tasks, "" where there is none.
    """

    place: str
    tone: Tone
    tasks: tuple[str, ...]
    reached: tuple[str, ...] = ()
    unreached: tuple[str, ...] = ()
    retrying: int = 0
    since_ms: int = 0
    code: str = ""
    query: str = ""

    @property
    def word(self) -> str:
        """Its state, so that the colour is not the only sign of it."""
        if self.retrying:
            return "retrying"
        if self.unreached:
            return "not reached" if not self.reached else "partly reached"
        return "reached" if self.reached else "not known"


class _Seen:
    """Of one address, while tasks are looked through."""

    def __init__(self) -> None:
        self.tasks: set[str] = set()
        self.sides: set[str] = set()
        self.reached: set[str] = set()
        self.unreached: set[str] = set()
        self.retrying: set[str] = set()
        self.begun: list[tuple[int, str]] = []

    def add(self, task: TaskRow, side: str) -> None:
        self.tasks.add(task.name)
        self.sides.add(side)
        for host, reached in _reports(task, side):
            (self.reached if reached else self.unreached).add(host)
        if task.retrying is not None and task.retrying.side == side:
            self.retrying.add(task.name)
            self.begun.append((task.retrying.since_ms, task.retrying.code))

    def endpoint(self, where: str) -> Endpoint:
        since, code = min(self.begun, default=(0, ""))
        # A host that reaches it for one task and not for another one has two causes: both are shown.
        tone: Tone = "bad" if self.retrying else "warn" if self.unreached else "ok" if self.reached else "idle"
        return Endpoint(
            place=where,
            tone=tone,
            tasks=tuple(sorted(self.tasks)),
            reached=tuple(sorted(self.reached)),
            unreached=tuple(sorted(self.unreached)),
            retrying=len(self.retrying),
            since_ms=since,
            code=code,
            query=f'"{where}"' if self.sides & {"source", "sink"} else "",
        )


def _reports(task: TaskRow, side: str) -> Iterator[tuple[str, bool]]:
    for member in task.members:
        known = member.reach.get(side)
        works = member.state == "RUNNING" and not task.figures_old and task.retrying is None
        if works or known is not None:
            yield member.host, works or (known is not None and known.reached)


def endpoints(view: View) -> tuple[Endpoint, ...]:
    """Those in trouble first, then those that most tasks use."""
    seen: dict[str, _Seen] = {}
    for task in view.tasks:
        for side in SIDES:
            where = place(task, side)
            if where:
                seen.setdefault(where, _Seen()).add(task, side)
    order = {"bad": 0, "warn": 1}
    found = [each.endpoint(where) for where, each in seen.items()]
    found.sort(key=lambda one: (order.get(one.tone, 2), -len(one.tasks), one.place))
    return tuple(found)
