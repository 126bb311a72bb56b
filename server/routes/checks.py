"""Routes of the checks that the Core of a task does."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from server import responses
from server.check_responses import CheckResult, check_result
from server.route_helpers import Arguments, By, ChecksOf, Name, body_of, documented, only, reply

router = APIRouter(tags=["checks"])
_NOTHING = body_of({"type": "object", "properties": {}, "additionalProperties": False}, required=False)


@router.get("/tasks/{name}/check", responses=documented(CheckResult), operation_id="readCheck")
def read_check(checks: ChecksOf, name: Name) -> Response:
    """Returns what the last check of a task has found. The Core that leads the task does one each day, and when it is
    ordered."""
    return reply(check_result(name, checks.last(name)))


@router.post(
    "/tasks/{name}/check",
    status_code=202,
    responses=documented(responses.Accepted, 202),
    openapi_extra=_NOTHING,
    operation_id="checkTask",
)
def order_check(checks: ChecksOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Orders a check of a task by the Core that leads it, with the network and the secrets of its host. Nothing is
    changed at source and sink. 409 E5007 without such a Core, or without a configuration. The result has the id of this
    answer as its `order`."""
    only(arguments)
    record = checks.order(name, by)
    return reply(responses.Accepted(id=record.id, task=name, verb=record.verb), 202)
