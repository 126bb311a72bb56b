"""The page of one task, /tasks/NAME, with a tab for each question that an operator has.

/tasks/NAME/TAB               the page
/api/tasks/NAME/TAB           the same as JSON
/api/tasks/NAME/TAB.html      the tab without the frame, for the script that keeps it current
/api/tasks/NAME/history       points of the charts
/api/tasks/NAME/history.txt   the history, as `replicator task history` prints it
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.answers import json_answer, refused
from monitor.charts import Charts
from monitor.documents import NO_STORE, Documents
from monitor.formatting import task_page
from monitor.render import Renderer
from monitor.task_pages.tab import Asked, Link, Tab, name_of
from monitor.task_pages.timeline_tab import TimelineTab
from monitor.view import View
from replicator.errors import ProcessError

Handler = Callable[[Request], Awaitable[Response]]


class TaskPages:
    """
    Args:
        tabs: in their order; the first one has the address of the task.
        seen: what the login of a request may see.
        charts: for the points.
        timeline: for the history as text.
    """

    def __init__(
        self,
        tabs: Sequence[Tab],
        seen: Callable[[Request], View],
        documents: Documents,
        renderer: Renderer,
        charts: Charts,
        timeline: TimelineTab,
        root: str,
    ) -> None:
        self._tabs = tabs
        self._seen = seen
        self._documents = documents
        self._renderer = renderer
        self._charts = charts
        self._timeline = timeline
        self._root = root

    def routes(self) -> list[BaseRoute]:
        found: list[BaseRoute] = []
        for tab in self._tabs:
            api = f"/api/tasks/{{name}}/{name_of(tab)}"
            found += [
                Route(f"/tasks/{{name}}{'/' if tab.key else ''}{tab.key}", self._page(tab)),
                Route(api, self._json(tab)),
                Route(f"{api}.html", self._part(tab)),
            ]
        return [
            *found,
            Route("/api/tasks/{name}/history", self._answering(self._points)),
            Route("/api/tasks/{name}/history.txt", self._answering(self._text)),
        ]

    def _page(self, tab: Tab) -> Handler:
        async def page(request: Request) -> Response:
            asked = self._asked(request)
            if asked is None:
                known = bool(self._seen(request).read_ms)
                text = self._renderer.no_task(self._root, request.path_params["name"], known=known)
                return HTMLResponse(text, 404 if known else 503, headers=NO_STORE)
            try:
                content = await tab.content(asked)
            except ProcessError as error:
                return self._documents.refused(request, error, task_name=asked.task.name)
            home = task_page(asked.task.name)
            links = tuple(Link(f"{home}/{one.key}" if one.key else home, one.title, one is tab) for one in self._tabs)
            query = f"?{request.url.query}" if request.url.query else ""
            return self._documents.answer(
                request,
                "task_page",
                task_name=asked.task.name,
                task=asked.task,
                tabs=links,
                tab=content,
                tab_name=name_of(tab),
                tab_title=tab.title,
                part=f"/api{home}/{name_of(tab)}.html{query}",
                every_ms=int(tab.every_s * 1000),
                home=home,
            )

        return page

    def _json(self, tab: Tab) -> Handler:
        async def answer(asked: Asked) -> Response:
            return json_answer(await tab.content(asked))

        return self._answering(answer)

    def _part(self, tab: Tab) -> Handler:
        async def answer(asked: Asked) -> Response:
            values = {"task": asked.task, "tab": await tab.content(asked), "home": task_page(asked.task.name)}
            text = self._renderer.part(f"task_pages/{name_of(tab)}", asked.now_ms, **values)
            return HTMLResponse(text, headers=NO_STORE)

        return self._answering(answer)

    async def _points(self, asked: Asked) -> Response:
        return json_answer(await self._charts.points(asked.task.name, asked.query))

    async def _text(self, asked: Asked) -> Response:
        return PlainTextResponse(await self._timeline.text(asked), headers=NO_STORE)

    def _answering(self, answer: Callable[[Asked], Awaitable[Response]]) -> Handler:
        async def handler(request: Request) -> Response:
            asked = self._asked(request)
            if asked is None:
                return refused(_no_task(request), 404)
            try:
                return await answer(asked)
            except ProcessError as error:
                return refused(error, 422)

        return handler

    def _asked(self, request: Request) -> Asked | None:
        view, name = self._seen(request), request.path_params["name"]
        task = next((task for task in view.tasks if task.name == name), None)
        return Asked(task, view, request.query_params, int(time.time() * 1000)) if task is not None else None


def _no_task(request: Request) -> ProcessError:
    return ProcessError("E5003", f"there is no task '{request.path_params['name']}'")
