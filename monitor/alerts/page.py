"""The page of alerts, /alerts, what its script puts in place, and the same as JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.access import PRINCIPAL
from monitor.alerts.service import Alerts
from monitor.alerts.shown import AlertsView, limited
from monitor.documents import NO_STORE, Documents
from monitor.render import Renderer
from monitor.view import View
from replicator.config.labels import Selector, parse_selector
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError
from replicator.model.principal import Principal


class AlertsPage:
    """
    Args:
        seen: what the login of a request may see.
    """

    def __init__(
        self, seen: Callable[[Request], View], documents: Documents, renderer: Renderer, alerts: Alerts
    ) -> None:
        self._seen = seen
        self._documents = documents
        self._renderer = renderer
        self._alerts = alerts

    async def page(self, request: Request) -> Response:
        return self._documents.answer(request, "alerts", **self._values(request))

    async def body(self, request: Request) -> Response:
        text = self._renderer.part("alerts_body", **self._values(request))
        return HTMLResponse(text, headers=NO_STORE)

    async def json(self, request: Request) -> Response:
        return Response(msgspec.json.encode(self._visible(request)[0]), media_type="application/json", headers=NO_STORE)

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/alerts", self.page),
            Route("/alerts/body", self.body),
            Route("/api/alerts", self.json),
        ]

    def _values(self, request: Request) -> dict[str, Any]:
        view, whole = self._visible(request)
        return {"alerts": view, "whole": whole, "now": now_ms()}

    def _visible(self, request: Request) -> tuple[AlertsView, bool]:
        """What the login may see, and whether that is everything."""
        principal: Principal | None = request.scope.get(PRINCIPAL)
        view = self._alerts.view
        if principal is None or not principal.selector:
            return view, True
        names = frozenset(task.name for task in self._seen(request).tasks)
        return limited(view, names, _parsed(principal.selector)), False


def _parsed(text: str) -> Selector | None:
    try:
        return parse_selector(text)
    except ConfigError:
        return None
