"""The pages /machines and /machines/NAME, the same as JSON, and the points of a machine's charts."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.answers import json_answer, refused
from monitor.charts import Charts
from monitor.documents import NO_STORE, Documents
from monitor.history.history import History
from monitor.history.online import OnlineRate
from monitor.history.series import machine_key
from monitor.machines_seen import MachineRow, TaskOn, changes_on, rows, tasks_on
from monitor.render import Renderer
from monitor.role_changes import Change
from monitor.shared_reads import SharedReads
from monitor.view import MonitorView, ServerView, View
from replicator.coordination.clock import now_ms
from replicator.errors import ProcessError

ONLINE_SECONDS: Final = 60.0
"""Online rates are counted again after this time."""
_PARTS: Final = {"state": "machines/one_state", "rest": "machines/one_part"}
_MOST_READS: Final = 3000


class MachineList(msgspec.Struct, frozen=True):
    """Everything of /machines."""

    read_ms: int
    machines: tuple[MachineRow, ...]
    servers: tuple[ServerView, ...]
    monitors: tuple[MonitorView, ...]


class MachineReport(msgspec.Struct, frozen=True):
    """Everything of /machines/NAME but its charts. changes: the newest first."""

    read_ms: int
    machine: MachineRow
    tasks: tuple[TaskOn, ...]
    changes: tuple[Change, ...]


class MachinePages:
    """
    Args:
        seen: what the login of a request may see.
        changes: of a task, the newest first.
    """

    def __init__(
        self,
        seen: Callable[[Request], View],
        documents: Documents,
        renderer: Renderer,
        history: History,
        changes: Callable[[str], Sequence[Change]],
    ) -> None:
        self._seen = seen
        self._documents = documents
        self._renderer = renderer
        self._history = history
        self._changes = changes
        self._charts = Charts(history)
        self._rates = SharedReads(_MOST_READS)

    # Pages

    async def list_page(self, request: Request) -> Response:
        found = await self._list(request)
        if "part" in request.query_params:
            return self._part("machines/list_part", found=found)
        return self._documents.answer(request, "machines/list", found=found)

    async def page(self, request: Request) -> Response:
        name = request.path_params["name"]
        try:
            report, words = (
                await self._report(request),
                await self._charts.words(machine_key(name), request.query_params),
            )
        except ProcessError as error:
            known = bool(self._seen(request).read_ms)
            if error.code != "E5123":
                return self._documents.refused(request, error)
            status = 404 if known else 503
            values = {"name": name, "known": known}
            return self._documents.answer(request, "machines/missing", status=status, **values)
        values = {"report": report, "words": words, "machine": report.machine.machine}
        if "part" in request.query_params:
            return self._part(_PARTS.get(request.query_params["part"], _PARTS["rest"]), **values)
        return self._documents.answer(request, "machines/one", **values)

    def _part(self, template: str, **values: Any) -> Response:
        return HTMLResponse(self._renderer.part(template, now_ms(), **values), headers=NO_STORE)

    # JSON

    async def list_json(self, request: Request) -> Response:
        return json_answer(await self._list(request))

    async def one_json(self, request: Request) -> Response:
        try:
            return json_answer(await self._report(request))
        except ProcessError as error:
            return refused(error, 404)

    async def points(self, request: Request) -> Response:
        try:
            self._row(request, ())
            key = machine_key(request.path_params["name"])
            return json_answer(await self._charts.points(key, request.query_params))
        except ProcessError as error:
            return refused(error, 404 if error.code == "E5123" else 422)

    # What they are made of

    async def _list(self, request: Request) -> MachineList:
        view = self._seen(request)
        found = [(machine, await self._online(machine.host)) for machine in view.machines]
        return MachineList(view.read_ms, rows(view, found), view.servers, view.monitors)

    async def _report(self, request: Request) -> MachineReport:
        """Raises ProcessError E5123."""
        view = self._seen(request)
        self._row(request, ())
        row = self._row(request, await self._online(request.path_params["name"]))
        host = row.machine.host
        return MachineReport(
            view.read_ms, row, tasks_on(view, host), changes_on(host, (self._changes(task.name) for task in view.tasks))
        )

    def _row(self, request: Request, online: tuple[OnlineRate, ...]) -> MachineRow:
        """Raises ProcessError E5123."""
        view, name = self._seen(request), request.path_params["name"]
        for machine in view.machines:
            if machine.host == name:
                return rows(view, [(machine, online)])[0]
        raise ProcessError("E5123", f"there is no machine '{name[:100]}'", fix="/machines lists those that are known.")

    async def _online(self, name: str) -> tuple[OnlineRate, ...]:
        read = await self._rates.get(name, lambda: self._history.online(name, time.time()), ONLINE_SECONDS)
        return cast("tuple[OnlineRate, ...]", read.value)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/machines", self.list_page),
            Route("/machines/{name}", self.page),
            Route("/api/machines", self.list_json),
            Route("/api/machines/{name}", self.one_json),
            Route("/api/machines/{name}/history", self.points),
        ]

    def close(self) -> None:
        self._charts.close()
        self._rates.close()
