"""/changes: all changes that the Monitor knows."""

from __future__ import annotations

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from monitor.documents import Documents


class ChangesPage:
    def __init__(self, documents: Documents) -> None:
        self._documents = documents

    async def page(self, request: Request) -> Response:
        return self._documents.answer(request, "changes")

    def routes(self) -> list[BaseRoute]:
        return [Route("/changes", self.page)]
