"""What operators ask of a running task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from replicator.errors import ConfigError
from server import responses
from server.route_helpers import Arguments, By, Name, OperationsOf, body_of, documented, only, reply

router = APIRouter(tags=["actions"])
_TEXT = {"type": "string", "maxLength": 200}
_REASON = body_of({"type": "object", "properties": {"reason": _TEXT}, "additionalProperties": False}, required=False)
_ON = body_of(
    {"type": "object", "properties": {"on": _TEXT, "reason": _TEXT}, "additionalProperties": False}, required=False
)
DryRun = Annotated[bool, Query(description="say who would take over, change nothing")]
_RETRY = body_of(
    {
        "type": "object",
        "properties": {"take_over": {"type": "string", "enum": ["true", "false"]}},
        "additionalProperties": False,
    },
    required=False,
)
_TO = body_of({"type": "object", "properties": {"to": _TEXT}, "additionalProperties": False}, required=False)


@router.post(
    "/tasks/{name}/pause", responses=documented(responses.Task), openapi_extra=_REASON, operation_id="pauseTask"
)
def pause(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Stops at a transaction boundary and stays so until resumed, over fail-overs too."""
    operations.pause(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/resume", responses=documented(responses.Task), openapi_extra=_REASON, operation_id="resumeTask"
)
def resume(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Goes on from where it was paused."""
    operations.resume(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/switchover",
    status_code=202,
    responses=documented(responses.Accepted, 202),
    openapi_extra=_TO,
    operation_id="switchoverTask",
)
def switchover(operations: OperationsOf, name: Name, by: By, arguments: Arguments, dry_run: DryRun = False) -> Response:
    """Hands over to a standby ({"to": host}, by default the next in line). 409 E5007 when there is no healthy one."""
    record, host = operations.switchover(name, only(arguments, "to").get("to", ""), by, dry_run)
    return reply(responses.Accepted(id=record.id if record else "", task=name, verb="switchover", to=host), 202)


@router.post("/maintenance", responses=documented(responses.Maintained), openapi_extra=_ON, operation_id="maintainAll")
def maintain_all(operations: OperationsOf, by: By, arguments: Arguments) -> Response:
    """The same for all tasks."""
    return _maintain(operations, "", by, arguments)


@router.post(
    "/tasks/{name}/maintenance",
    responses=documented(responses.Maintained),
    openapi_extra=_ON,
    operation_id="maintainTask",
)
def maintain(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """{"on": "true"}: the RUNNING instance stays and no standby is promoted; {"on": "false"}: ends it."""
    return _maintain(operations, name, by, arguments)


def _maintain(operations: OperationsOf, name: str, by: str, arguments: dict[str, str]) -> Response:
    given = only(arguments, "on", "reason")
    on = _flag(given, "on", "true")
    operations.maintenance(name, on, by, given.get("reason", "")[:200])
    return reply(responses.Maintained(task=name, on=on))


def _flag(arguments: dict[str, str], key: str, default: str) -> bool:
    wanted = arguments.get(key, default)
    if wanted not in ("true", "false"):
        what = f"`{key}` is neither true nor false"
        raise ConfigError("E1003", what, found=repr(wanted[:40]), wanted="true or false")
    return wanted == "true"


@router.post(
    "/tasks/{name}/retry",
    status_code=202,
    responses=documented(responses.Accepted, 202),
    openapi_extra=_RETRY,
    operation_id="retryTask",
)
def retry(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Tries a FAILED task again. 409 E5007 when it is not FAILED. {"take_over": "true"}: failed for E3111, it goes on
    from the sink's position, with an epoch above the one there; 409 E5007 when that is not why it failed."""
    record = operations.retry(name, by, _flag(only(arguments, "take_over"), "take_over", "false"))
    return reply(responses.Accepted(id=record.id, task=name, verb=record.verb), 202)
