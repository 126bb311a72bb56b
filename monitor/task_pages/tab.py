"""What the tabs of a task's page have in common."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

from monitor.view import TaskRow, View


class Asked(NamedTuple):
    """A request for a tab. task: its row; view: what the login may see; query: of the address."""

    task: TaskRow
    view: View
    query: Mapping[str, str]
    now_ms: int


class Tab(Protocol):
    """`key`: the last part of its address, "" for the first one; `every_s`: how often a browser asks for it again, 0:
    the event stream keeps it current."""

    key: str
    title: str
    every_s: float

    async def content(self, asked: Asked) -> Any:
        """A Struct: the JSON of the tab, and `tab` of its template.

        Raises ProcessError for a query that can't be understood.
        """
        ...


class Link(NamedTuple):
    """In the row of tabs."""

    path: str
    title: str
    current: bool


OVERVIEW: Final = "overview"


def name_of(tab: Tab) -> str:
    """Of its template, and of its JSON below /api/tasks/NAME."""
    return tab.key or OVERVIEW
