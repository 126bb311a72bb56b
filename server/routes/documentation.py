"""Routes of the OpenAPI document, and of the page that shows it, from files of this package."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from replicator.errors import ProcessError

router = APIRouter(tags=["documentation"], include_in_schema=False)
page_router = APIRouter(tags=["documentation"], include_in_schema=False)
_TYPES: Final = {"docs.js": "text/javascript", "docs.css": "text/css"}


@router.get("/openapi.json", operation_id="readDocument")
def document(request: Request) -> Response:
    """Returns the OpenAPI document."""
    return JSONResponse(request.app.openapi(), headers={"cache-control": "no-store"})


@page_router.get("/docs", operation_id="readDocs")
def page() -> Response:
    """Returns the page that shows the OpenAPI document."""
    return Response(_content("docs.html"), media_type="text/html", headers={"cache-control": "no-store"})


@page_router.get("/docs/{file}", operation_id="readDocsFile")
def page_file(file: str) -> Response:
    """Returns a file of the page."""
    if file not in _TYPES:
        raise ProcessError("E5013", "there is no such file")
    return Response(_content(file), media_type=_TYPES[file], headers={"cache-control": "no-store"})


def _content(name: str) -> bytes:
    return (files("server") / "static" / name).read_bytes()
