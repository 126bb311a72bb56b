"""The first page: problems, states of servers, the tasks table; and what a row shows when it is opened."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from monitor import filtering
from monitor.answers import refused
from monitor.columns import COLUMNS, Column
from monitor.documents import NO_STORE, Documents
from monitor.filtering import Facts
from monitor.render import Renderer
from monitor.view import TaskRow, View
from replicator.coordination.clock import now_ms
from replicator.errors import ProcessError

ROWS: Final = 100
"""Of a page without JavaScript, and of what a browser gets first."""


class Table(msgspec.Struct, frozen=True):
    """Rows of one page, for the template.

    Attributes:
        keys: of the rows, in their order.
        total: all tasks; found: those that the filter shows.
        page: from 1 on; pages: how many there are.
        explained: what the filter means, "" without one.
        whole: all tasks are on this page, in this order.
    """

    keys: tuple[str, ...]
    total: int
    found: int
    page: int
    pages: int
    query: str
    sort: str
    explained: str
    whole: bool
    columns: tuple[Column, ...] = COLUMNS

    def aria_sort(self, column: Column) -> str:
        name, descending = filtering.direction(self.sort)
        return "" if column.by != name else "descending" if descending else "ascending"

    def sorted_by(self, column: Column) -> str:
        """The address of the table in the order of `column`; once more turns it round."""
        return self._address(f"-{column.by}" if self.sort == column.by else column.by, 1)

    def at(self, page: int) -> str:
        return self._address(self.sort, page)

    def _address(self, sort: str, page: int) -> str:
        asked = {"q": self.query, "sort": sort, "page": str(page) if page > 1 else ""}
        return "/?" + urlencode({name: value for name, value in asked.items() if value})


def table(tasks: Iterable[TaskRow], query: str, sort: str, page: int, now: int) -> Table:
    """Pure. A page beyond the last one is the last one."""
    everything = [filtering.facts(task) for task in tasks]
    terms = filtering.parse(query)
    found = [task for task in everything if filtering.matches(terms, task, now)]
    rows: list[Facts] = filtering.ordered(found, sort)
    pages = max(1, -(-len(rows) // ROWS))
    page = min(max(page, 1), pages)
    shown = rows[(page - 1) * ROWS : page * ROWS]
    return Table(
        tuple(f"tasks:{task.name}" for task in shown),
        len(everything),
        len(rows),
        page,
        pages,
        query,
        sort if filtering.direction(sort)[0] else "",
        filtering.explained(terms),
        whole=len(shown) == len(everything),
    )


class OverviewPage:
    """`seen`: what the login of a request may see."""

    def __init__(self, seen: Callable[[Request], View], documents: Documents, renderer: Renderer) -> None:
        self._seen = seen
        self._documents = documents
        self._renderer = renderer

    async def page(self, request: Request) -> Response:
        asked = request.query_params
        number = asked.get("page", "")
        page = int(number) if number.isascii() and number.isdigit() and len(number) < 6 else 1
        query, sort = asked.get("q", "")[: filtering.MOST], asked.get("sort", "")
        shown = table(self._seen(request).tasks, query, sort, page, now_ms())
        return self._documents.answer(request, "overview", table=shown)

    async def details(self, request: Request) -> Response:
        name = request.path_params["name"]
        task = next((task for task in self._seen(request).tasks if task.name == name), None)
        if task is None:
            return refused(ProcessError("E5003", f"there is no task '{name}'"), 404)
        return HTMLResponse(self._renderer.details(task, now_ms()), headers=NO_STORE)

    def routes(self) -> list[BaseRoute]:
        return [Route("/", self.page), Route("/api/tasks/{name}/details", self.details)]
