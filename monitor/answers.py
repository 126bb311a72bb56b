"""Answers in JSON, also of requests that are refused."""

from __future__ import annotations

import msgspec
from starlette.responses import Response

from monitor.documents import NO_STORE
from replicator.errors import ProcessError
from replicator.telemetry.hosts import problem


def json_answer(value: object) -> Response:
    return Response(msgspec.json.encode(value), media_type="application/json", headers=NO_STORE)


def refused(error: ProcessError, status: int) -> Response:
    """As a problem document (RFC 9457)."""
    body = {**error.to_dict(), **problem(error, status)}
    return Response(msgspec.json.encode(body), status, media_type="application/problem+json", headers=NO_STORE)
