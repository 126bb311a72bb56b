"""What operators ask of a running task."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server import views
from server.http import Arguments, By, ControlOf, Name, body_of, documented, only, reply

router = APIRouter(tags=["actions"])
_TEXT = {"type": "string", "maxLength": 200}
_REASON = body_of({"type": "object", "properties": {"reason": _TEXT}, "additionalProperties": False}, required=False)
_TO = body_of({"type": "object", "properties": {"to": _TEXT}, "additionalProperties": False}, required=False)


@router.post("/tasks/{name}/pause", responses=documented(views.Task), openapi_extra=_REASON, operation_id="pauseTask")
def pause(control: ControlOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Stops at a transaction boundary and stays so until resumed, over fail-overs too."""
    control.pause(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(views.task(control.task(name)))


@router.post("/tasks/{name}/resume", responses=documented(views.Task), openapi_extra=_REASON, operation_id="resumeTask")
def resume(control: ControlOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Goes on from where it was paused."""
    control.resume(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(views.task(control.task(name)))


@router.post(
    "/tasks/{name}/switchover",
    status_code=202,
    responses=documented(views.Accepted, 202),
    openapi_extra=_TO,
    operation_id="switchoverTask",
)
def switchover(control: ControlOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Hands over to a standby ({"to": host}, by default the next in line). 409 E5007 when there is no healthy one."""
    record, host = control.switchover(name, only(arguments, "to").get("to", ""), by)
    return reply(views.Accepted(id=record.id, task=name, verb=record.verb, to=host), 202)


@router.post(
    "/tasks/{name}/retry", status_code=202, responses=documented(views.Accepted, 202), operation_id="retryTask"
)
def retry(control: ControlOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Tries a FAILED task again. 409 E5007 when it is not FAILED."""
    only(arguments)
    record = control.retry(name, by)
    return reply(views.Accepted(id=record.id, task=name, verb=record.verb), 202)
