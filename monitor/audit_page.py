"""The audit: who did what, when, from where, and with which result. The Server is asked with the login of the person.

/audit                           the page, newest entries first; its filter is in the address
/audit/export.json, export.csv   all entries that the filter selects
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from monitor.access import Access, refusal
from monitor.actions.catalog import Rights
from monitor.audit_export import OUTCOMES, Filter, as_csv, filter_of, params_of
from monitor.documents import NO_STORE, Documents
from monitor.person import UNLOCKED_SECONDS, Person, person_of
from monitor.person_api import PersonApi
from monitor.server_api import Answer
from replicator.coordination.clock import now_ms
from replicator.errors import ProcessError
from replicator.telemetry.hosts import client_address

SHOWN: Final = 50
_AT_ONCE: Final = 1000
_MOST_REQUESTS: Final = 10
"""For an export: the Server keeps 6,000 entries."""


class AuditPage:
    """`api`: None: the Monitor has no Server, and the page says where the audit is."""

    def __init__(
        self,
        rights: Callable[[Request], Rights],
        access: Access | None,
        documents: Documents,
        api: PersonApi | None,
    ) -> None:
        self._rights = rights
        self._access = access
        self._documents = documents
        self._api = api

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/audit", self.page, methods=["GET"]),
            Route("/audit/export.{kind}", self.export, methods=["GET"]),
        ]

    async def page(self, request: Request) -> Response:
        wanted, person = filter_of(request.query_params), person_of(request, self._access)
        if self._api is None or person is None or not self._rights(request).may_audit:
            return self._shown(request, wanted, "blocked", status=200 if self._api is None else 403)
        if not person.authorization:
            return self._shown(request, wanted, "unlock")
        try:
            params = params_of(wanted, now_ms())
        except ValueError as error:
            return self._shown(request, wanted, "wrong", problem=str(error), status=422)
        before = _number(request.query_params.get("before", ""))
        answer = await self._read(request, person, params, before, SHOWN + 1)
        if answer.error:
            return self._shown(request, wanted, "refused", error=answer.error, status=answer.status or 502)
        items: list[dict[str, Any]] = answer.content.get("items", [])[::-1]
        older = str(items[SHOWN - 1]["number"]) if len(items) > SHOWN else ""
        return self._shown(request, wanted, "list", items=items[:SHOWN], older=older, newest=not before)

    async def export(self, request: Request) -> Response:
        kind, person = request.path_params["kind"], person_of(request, self._access)
        if kind not in ("json", "csv"):
            return refusal(ProcessError("E5013", "there is no such export", wanted="json, csv"), 404)
        if self._api is None or person is None or not self._rights(request).may_audit or not person.authorization:
            fix = "Open the page of the audit first." if person is not None else "`replicator audit -o json`."
            return refusal(ProcessError("E5072", "the audit can't be exported with this login", fix=fix), 403)
        try:
            params = params_of(filter_of(request.query_params), now_ms())
        except ValueError as error:
            return refusal(ProcessError("E5133", str(error)), 422)
        items: list[dict[str, Any]] = []
        before = 0
        for _ in range(_MOST_REQUESTS):
            answer = await self._read(request, person, params, before, _AT_ONCE)
            if answer.error:
                return Response(msgspec.json.encode({"error": answer.error}), answer.status or 502, NO_STORE)
            found: list[dict[str, Any]] = answer.content.get("items", [])
            items = [*found, *items]
            if len(found) < _AT_ONCE:
                break
            before = int(found[0]["number"])
        if kind == "csv":
            return _attachment(as_csv(items).encode(), "text/csv; charset=utf-8", "audit.csv")
        body = msgspec.json.format(msgspec.json.encode({"apiVersion": "v1", "kind": "Audit", "items": items}), indent=2)
        return _attachment(body, "application/json", "audit.json")

    async def _read(self, request: Request, person: Person, params: dict[str, str], before: int, limit: int) -> Answer:
        assert self._api is not None  # noqa: S101
        wanted = params | {"limit": str(limit)} | ({"before": str(before)} if before else {})
        return await self._api.ask(person, client_address(request.scope), "GET", "/audit", params=wanted)

    def _shown(self, request: Request, wanted: Filter, stage: str, *, status: int = 200, **values: Any) -> Response:
        given = {name: text for name, text in msgspec.structs.asdict(wanted).items() if text}
        defaults: dict[str, Any] = {"items": [], "older": "", "newest": True, "error": {}, "problem": ""}
        return self._documents.answer(
            request,
            "audit",
            status=status,
            stage=stage,
            wanted=wanted,
            outcomes=OUTCOMES,
            query=urlencode(given),
            after="/audit" + (f"?{urlencode(given)}" if given else ""),
            minutes=round(UNLOCKED_SECONDS / 60),
            command=" ".join(["replicator audit", *_server(self._rights(request).server)]),
            **(defaults | values),
        )


def _server(address: str) -> list[str]:
    return ["--server", address] if address else []


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


def _attachment(body: bytes, media_type: str, name: str) -> Response:
    headers = NO_STORE | {"content-disposition": f'attachment; filename="{name}"'}
    return Response(body, headers=headers, media_type=media_type)
