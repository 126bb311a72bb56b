"""The page of alerts, /alerts, what its script puts in place, and the same as JSON."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.access import PRINCIPAL, Access
from monitor.alerts.sender import Sender
from monitor.alerts.service import Alerts
from monitor.alerts.shown import AlertsView, limited
from monitor.answers import json_answer
from monitor.documents import NO_STORE, Documents
from monitor.forms import fields, is_of
from monitor.render import Renderer
from monitor.view import View
from replicator.config.labels import Selector, parse_selector
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError, ProcessError
from replicator.model.principal import Principal


class AlertsPage:
    """
    Args:
        seen: what the login of a request may see.
        access: None: everybody may do everything.
    """

    def __init__(
        self,
        seen: Callable[[Request], View],
        documents: Documents,
        renderer: Renderer,
        alerts: Alerts,
        sender: Sender,
        access: Access | None,
    ) -> None:
        self._sender = sender
        self._access = access
        self._seen = seen
        self._documents = documents
        self._renderer = renderer
        self._alerts = alerts

    async def page(self, request: Request) -> Response:
        return self._documents.answer(request, "alerts", **self._values(request))

    async def body(self, request: Request) -> Response:
        session = self._access.session(request.scope) if self._access is not None else None
        csrf = session.csrf if session is not None else ""
        text = self._renderer.part("alerts_body", now_ms(), csrf=csrf, **self._values(request))
        return HTMLResponse(text, headers=NO_STORE)

    async def test(self, request: Request) -> Response:
        """Sends a test message of a route, for an operator with a session of this page."""
        form = await fields(request) or {}
        if not (self._may_test(request) and self._is_ours(request, form)):
            return PlainTextResponse("This login may not send test messages.\n", 403, headers=NO_STORE)
        try:
            await asyncio.to_thread(self._sender.test, form.get("route", ""))
        except ProcessError as error:
            return PlainTextResponse(f"{error}\n", 404 if error.code == "E5184" else 502, headers=NO_STORE)
        return RedirectResponse("/alerts#h-routes", 303, headers=NO_STORE)

    def _may_test(self, request: Request) -> bool:
        principal: Principal | None = request.scope.get(PRINCIPAL)
        if self._access is None or not self._access.required:
            return True
        return principal is not None and principal.may("operator") and not principal.selector

    def _is_ours(self, request: Request, form: dict[str, str]) -> bool:
        """Not sent by a page of another site; where there is no session, its Origin has been compared."""
        session = self._access.session(request.scope) if self._access is not None else None
        return session is None or is_of(session, form)

    async def json(self, request: Request) -> Response:
        return json_answer(self._visible(request)[0])

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/alerts", self.page),
            Route("/alerts/body", self.body),
            Route("/api/alerts", self.json),
            Route("/alerts/test", self.test, methods=["POST"]),
        ]

    def _values(self, request: Request) -> dict[str, Any]:
        view, whole = self._visible(request)
        return {"alerts": view, "may_test": whole and self._may_test(request)}

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
