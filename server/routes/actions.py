"""Routes of operators' commands to a task."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from replicator.errors import ConfigError
from server import responses
from server.route_helpers import Arguments, By, Name, OperationsOf, Version, body_of, documented, only, reply

router = APIRouter(tags=["actions"])
_TEXT = {"type": "string", "maxLength": 200}
_REASON = body_of({"type": "object", "properties": {"reason": _TEXT}, "additionalProperties": False}, required=False)
_ON = body_of(
    {"type": "object", "properties": {"on": _TEXT, "reason": _TEXT}, "additionalProperties": False}, required=False
)
DryRun = Annotated[bool, Query(description="only show which host would take over")]
Checked = Annotated[bool, Query(description="check everything, but change nothing")]
_RETRY = body_of(
    {
        "type": "object",
        "properties": {"take_over": {"type": "string", "enum": ["true", "false"]}, "reason": _TEXT},
        "additionalProperties": False,
    },
    required=False,
)
_TO = body_of(
    {"type": "object", "properties": {"to": _TEXT, "reason": _TEXT}, "additionalProperties": False}, required=False
)


@router.post(
    "/tasks/{name}/pause", responses=documented(responses.Task), openapi_extra=_REASON, operation_id="pauseTask"
)
def pause(
    operations: OperationsOf, name: Name, by: By, arguments: Arguments, version: Version, dry_run: Checked = False
) -> Response:
    """Pauses a task at a transaction boundary. It stays paused, also after a fail-over, until it is resumed. 412 E4006
    if If-Match is given and not the version of the configuration."""
    operations.expect(name, version)
    operations.pause(name, by, only(arguments, "reason").get("reason", "")[:200], dry_run)
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/resume", responses=documented(responses.Task), openapi_extra=_REASON, operation_id="resumeTask"
)
def resume(
    operations: OperationsOf, name: Name, by: By, arguments: Arguments, version: Version, dry_run: Checked = False
) -> Response:
    """Resumes a task from the position at which it was paused. 412 E4006 if If-Match is given and not the version of
    the configuration."""
    operations.expect(name, version)
    operations.resume(name, by, only(arguments, "reason").get("reason", "")[:200], dry_run)
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/switchover",
    status_code=202,
    responses=documented(responses.Accepted, 202),
    openapi_extra=_TO,
    operation_id="switchoverTask",
)
def switchover(
    operations: OperationsOf, name: Name, by: By, arguments: Arguments, version: Version, dry_run: DryRun = False
) -> Response:
    """Hands a task over to a standby ({"to": host}, by default the next in the queue). 409 E5007 if no standby is
    healthy, 412 E4006 if If-Match is given and not the version of the configuration."""
    given = only(arguments, "to", "reason")
    operations.expect(name, version)
    record, host = operations.switchover(name, given.get("to", ""), by, dry_run, given.get("reason", "")[:200])
    return reply(responses.Accepted(id=record.id if record else "", task=name, verb="switchover", to=host), 202)


@router.post(
    "/tasks/{name}/restart",
    status_code=202,
    responses=documented(responses.Accepted, 202),
    openapi_extra=_REASON,
    operation_id="restartTask",
)
def restart(
    operations: OperationsOf, name: Name, by: By, arguments: Arguments, version: Version, dry_run: Checked = False
) -> Response:
    """Restarts the worker of a task on the same Core: it ends at a transaction boundary, and another one continues from
    there, in the same term. 409 E5007 unless the task runs or is about to, 412 E4006 if If-Match is given and not the
    version of the configuration. The outcome is in the history, as `restart` or `refused`."""
    operations.expect(name, version)
    record = operations.restart(name, by, only(arguments, "reason").get("reason", "")[:200], dry_run)
    return reply(responses.Accepted(id=record.id if record else "", task=name, verb="restart"), 202)


@router.post("/maintenance", responses=documented(responses.Maintained), openapi_extra=_ON, operation_id="maintainAll")
def maintain_all(operations: OperationsOf, by: By, arguments: Arguments) -> Response:
    """Starts or ends maintenance of all tasks, as for one task."""
    return _maintain(operations, "", by, arguments)


@router.post(
    "/tasks/{name}/maintenance",
    responses=documented(responses.Maintained),
    openapi_extra=_ON,
    operation_id="maintainTask",
)
def maintain(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Starts ({"on": "true"}) or ends ({"on": "false"}) maintenance: the RUNNING instance continues and no standby is
    promoted."""
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
def retry(
    operations: OperationsOf, name: Name, by: By, arguments: Arguments, version: Version, dry_run: Checked = False
) -> Response:
    """Retries a FAILED task. 409 E5007 if it is not FAILED. With {"take_over": "true"} a task that failed with E3111
    continues from the position at the sink, with a higher epoch; 409 E5007 if it failed for another reason. 412 E4006
    if If-Match is given and not the version of the configuration."""
    given = only(arguments, "take_over", "reason")
    operations.expect(name, version)
    take_over, reason = _flag(given, "take_over", "false"), given.get("reason", "")[:200]
    record = operations.retry(name, by, take_over, reason, dry_run)
    return reply(responses.Accepted(id=record.id if record else "", task=name, verb="retry"), 202)
