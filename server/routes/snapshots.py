"""Routes of snapshots that operators order of a running task."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Request
from starlette.responses import Response

from server import responses
from server.request_bodies import decoded
from server.route_helpers import (
    Arguments,
    By,
    DefinitionsOf,
    Name,
    OperationsOf,
    body_of,
    documented,
    note_arguments,
    only,
    reply,
)
from server.snapshots import SnapshotStart, Verb, change_snapshot, start_snapshot

router = APIRouter(tags=["snapshots"])

_START = body_of(
    {
        "type": "object",
        "properties": {
            "tables": {"type": "array", "items": {"type": "string", "maxLength": 200}},
            "where": {"type": "string"},
            "chunk_rows": {"type": "integer", "minimum": 1},
            "reason": {"type": "string", "maxLength": 200},
        },
        "required": ["tables"],
        "additionalProperties": False,
    },
    required=True,
)


_REASON = body_of(
    {
        "type": "object",
        "properties": {"reason": {"type": "string", "maxLength": 200}},
        "additionalProperties": False,
    },
    required=False,
)


async def _wanted(request: Request) -> SnapshotStart:
    wanted = decoded(await request.body(), SnapshotStart, '{"tables": ["database.table"]}')
    note_arguments(request, msgspec.structs.asdict(wanted))
    return wanted


Wanted = Annotated[SnapshotStart, Depends(_wanted)]


@router.post(
    "/tasks/{name}/snapshot", responses=documented(responses.Task), openapi_extra=_START, operation_id="startSnapshot"
)
def start(operations: OperationsOf, definitions: DefinitionsOf, name: Name, by: By, wanted: Wanted) -> Response:
    """Delivers the rows of {"tables": ["database.table", ...]} that exist, after the snapshots that were ordered
    before. Changes are replicated meanwhile. {"where": SQL} is a condition of the rows of each table, {"chunk_rows": N}
    the maximum number of rows of one SELECT. 422 E1003 or E2205 for a table that the task does not replicate or does
    not know; nothing is ordered then."""
    start_snapshot(operations, definitions, name, wanted, by)
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/snapshot/pause",
    responses=documented(responses.Task),
    openapi_extra=_REASON,
    operation_id="pauseSnapshot",
)
def pause(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Reads no more rows of snapshots until they are resumed. The task continues to replicate changes."""
    return _change(operations, name, "pause", by, arguments)


@router.post(
    "/tasks/{name}/snapshot/resume",
    responses=documented(responses.Task),
    openapi_extra=_REASON,
    operation_id="resumeSnapshot",
)
def resume(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Continues the paused snapshot after the last row that was delivered."""
    return _change(operations, name, "resume", by, arguments)


@router.post(
    "/tasks/{name}/snapshot/stop",
    responses=documented(responses.Task),
    openapi_extra=_REASON,
    operation_id="stopSnapshot",
)
def stop(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Ends the snapshot, also the one that a task begins with, and withdraws those that wait. Rows that were delivered
    stay."""
    return _change(operations, name, "stop", by, arguments)


def _change(operations: OperationsOf, name: str, verb: Verb, by: str, arguments: dict[str, str]) -> Response:
    change_snapshot(operations, name, verb, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(responses.task(operations.task(name)))
