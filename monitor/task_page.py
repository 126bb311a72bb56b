"""The page of one task, /tasks/NAME, the points of its charts, and its timeline."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.documents import NO_STORE, Documents
from monitor.history.history import Chart, History
from monitor.history.steps import SPANS
from monitor.history.summary import Summary, summaries
from monitor.render import Renderer
from monitor.role_changes import Change
from monitor.timeline import Timeline, timeline
from monitor.view import TaskRow, View
from replicator.errors import ProcessError
from replicator.telemetry.hosts import problem

DEFAULT_SPAN: Final = "15m"


class Charts(msgspec.Struct, frozen=True):
    """For the template. span: that is shown; spans: that there are; summary: by series; stored: over a restart;
    problem: why figures are not stored at present."""

    span: str
    spans: tuple[str, ...]
    summary: tuple[Summary, ...]
    timeline: Timeline
    stored: bool
    problem: str


class TaskPage:
    """
    Args:
        seen: what the login of a request may see.
        renderer: of the page that says that there is no such task.
        changes: of a task, the newest first.
    """

    def __init__(
        self,
        seen: Callable[[Request], View],
        documents: Documents,
        renderer: Renderer,
        history: History,
        changes: Callable[[str], Sequence[Change]],
        root: str,
    ) -> None:
        self._changes = changes
        self._seen = seen
        self._documents = documents
        self._renderer = renderer
        self._history = history
        self._root = root

    async def page(self, request: Request) -> Response:
        task = self._task(request)
        if task is None:
            known = bool(self._seen(request).read_ms)
            text = self._renderer.no_task(self._root, request.path_params["name"], known=known)
            return HTMLResponse(text, 404 if known else 503, headers=NO_STORE)
        try:
            chart = await self._chart(request, task.name)
        except ProcessError as error:
            return _refused(error)
        charts = Charts(
            chart.span,
            tuple(SPANS),
            summaries(chart),
            self._timeline(task, chart.span),
            self._history.stored,
            self._history.problem,
        )
        return self._documents.answer(request, "task_page", task_name=task.name, task=task, charts=charts)

    async def points(self, request: Request) -> Response:
        task = self._task(request)
        if task is None:
            return _refused(_no_task(request), 404)
        try:
            chart = await self._chart(request, task.name)
        except ProcessError as error:
            return _refused(error)
        return Response(msgspec.json.encode(chart), media_type="application/json", headers=NO_STORE)

    async def events(self, request: Request) -> Response:
        task = self._task(request)
        if task is None:
            return _refused(_no_task(request), 404)
        try:
            found = self._timeline(task, _span(request))
        except ProcessError as error:
            return _refused(error)
        return Response(msgspec.json.encode(found), media_type="application/json", headers=NO_STORE)

    def _timeline(self, task: TaskRow, span: str) -> Timeline:
        now_ms = int(time.time() * 1000)
        return timeline(task, self._changes(task.name), now_ms - SPANS[span] * 1000, now_ms)

    def _task(self, request: Request) -> TaskRow | None:
        name = request.path_params["name"]
        return next((task for task in self._seen(request).tasks if task.name == name), None)

    async def _chart(self, request: Request, task: str) -> Chart:
        return await asyncio.to_thread(self._history.chart, task, _span(request), time.time())

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/tasks/{name}", self.page),
            Route("/api/tasks/{name}/history", self.points),
            Route("/api/tasks/{name}/timeline", self.events),
        ]


def _span(request: Request) -> str:
    span = request.query_params.get("span", DEFAULT_SPAN)
    if span not in SPANS:
        raise ProcessError("E5132", f"there is no chart of '{span[:20]}'", found=span[:20], wanted=", ".join(SPANS))
    return span


def _no_task(request: Request) -> ProcessError:
    return ProcessError("E5003", f"there is no task '{request.path_params['name']}'")


def _refused(error: ProcessError, status: int = 422) -> Response:
    body = {**error.to_dict(), **problem(error, status)}
    return Response(msgspec.json.encode(body), status, media_type="application/problem+json", headers=NO_STORE)
