"""/docs: the documentation that comes with the program, of the release that runs. /codes/CODE: an error code.

/docs             what there is
/docs/PAGE        a page, /docs/deploy/alerts.yaml and others: a file as text
/codes/CODE       what an error means, what to do, where it is written about, and which tasks have it
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Final

from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import BaseRoute, Route

from monitor.documentation.markdown import html
from monitor.documentation.places import docs_page
from monitor.documents import Documents
from monitor.filtering import codes_of
from monitor.view import View
from replicator.codes import CODES
from replicator.documentation import pages

_PICTURES: Final = frozenset({".png"})


class DocumentationPages:
    """`seen`: what the login of a request may see."""

    def __init__(self, seen: Callable[[Request], View], documents: Documents) -> None:
        self._seen = seen
        self._documents = documents

    async def index(self, request: Request) -> Response:
        return await self._shown(request, pages.pages()["README"])

    async def page(self, request: Request) -> Response:
        name = request.path_params["name"]
        path = pages.find(name)
        if path is None:
            return self._documents.answer(request, "documentation/missing", status=404, name=name)
        if path.suffix == ".md":
            return await self._shown(request, path)
        # As text, whatever it is: nothing that this address sends may run in a browser.
        return FileResponse(path, media_type="image/png" if path.suffix in _PICTURES else "text/plain; charset=utf-8")

    async def _shown(self, request: Request, path: Path) -> Response:
        text = await asyncio.to_thread(path.read_text, encoding="utf-8")
        content = await asyncio.to_thread(html, text, "docs")
        return self._documents.answer(
            request,
            "documentation/page",
            content=content,
            name=path.stem,
            heading=pages.title(path),
            others=_others(),
        )

    async def code(self, request: Request) -> Response:
        code = request.path_params["code"].upper()
        entry = CODES.get(code)
        if entry is None:
            return self._documents.answer(request, "documentation/missing", status=404, name=code)
        return self._documents.answer(
            request,
            "documentation/code",
            code=code,
            entry=entry,
            places=await asyncio.to_thread(_places, code),
            tasks=[task for task in self._seen(request).tasks if code in codes_of(task)],
        )

    def routes(self) -> list[BaseRoute]:
        return [
            Route("/docs", self.index),
            Route("/docs/{name:path}", self.page),
            Route("/codes/{code}", self.code),
        ]


@lru_cache(maxsize=1)
def _others() -> tuple[tuple[str, str], ...]:
    """(address, title) of all pages, by title."""
    found = ((docs_page(name), pages.title(path)) for name, path in pages.pages().items() if name != "README")
    return tuple(sorted(found, key=lambda one: one[1].lower()))


@lru_cache(maxsize=1024)
def _places(code: str) -> tuple[tuple[str, str], ...]:
    """(address, page and heading) of the sections that name it."""
    titles = {name: pages.title(path) for name, path in pages.pages().items()}
    return tuple(
        (f"{docs_page(name)}#{pages.anchor(heading)}", f"{titles[name]}: {heading}")
        for name, heading in pages.mentions(code)
    )
