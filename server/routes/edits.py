"""Routes of the lock that a person holds who edits a task."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.overview import ClaimView
from replicator.errors import ConfigError
from server import responses
from server.edit_locks import LEASE_S
from server.request_facts import facts_of
from server.route_helpers import Arguments, By, Name, OperationsOf, body_of, documented, only, reply

router = APIRouter(tags=["edit locks"])
_TEXT = {"type": "string", "maxLength": 100}
_PID = {"type": "string", "pattern": "^[0-9]{1,10}$", "description": "process on that host"}
_HOLDER = {"host": _TEXT, "pid": _PID}
_BEGIN = body_of(
    {
        "type": "object",
        "properties": _HOLDER | {"force": {"type": "string", "enum": ["true", "false"]}},
        "required": ["host", "pid"],
        "additionalProperties": False,
    },
    required=True,
)
_END = body_of(
    {"type": "object", "properties": _HOLDER, "required": ["host", "pid"], "additionalProperties": False}, required=True
)


@router.get("/tasks/{name}/edit", responses=documented(responses.EditLock), operation_id="readEditLock")
def read_edit_lock(operations: OperationsOf, name: Name) -> Response:
    """Returns who edits a task. `held` is false while no person does."""
    operations.task(name)
    return reply(_view(name, operations.edits.holder(name)))


@router.put(
    "/tasks/{name}/edit",
    responses=documented(responses.EditLock),
    openapi_extra=_BEGIN,
    operation_id="beginEdit",
)
def begin_edit(request: Request, operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Takes the lock to edit a task, for a process of the login, and keeps it for 30 s; to be repeated every 10 s or
    so. 409 E4077 if another process has it; {"force": "true"} takes it from that one. ?edit_token= of replaceTask
    writes only while the lock is held."""
    operations.task(name)
    given = only(arguments, "host", "pid", "force")
    owner, force = _owner(given, by), given.get("force", "false")
    if force not in ("true", "false"):
        raise ConfigError("E1003", "`force` is neither true nor false", found=repr(force[:40]), wanted="true, false")
    before = operations.edits.holder(name)
    found = operations.edits.begin(name, owner, force=force == "true")
    facts_of(request.scope).repeated = before is not None and before.path == found.path
    return reply(_view(name, found))


@router.delete("/tasks/{name}/edit", status_code=204, openapi_extra=_END, operation_id="endEdit")
def end_edit(operations: OperationsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Gives up the lock to edit a task. Has no effect where the process does not have it."""
    operations.edits.end(name, _owner(only(arguments, "host", "pid"), by))
    return Response(status_code=204)


def _owner(given: dict[str, str], by: str) -> Owner:
    host, pid = given.get("host", ""), given.get("pid", "")
    if not host.isprintable() or not 1 <= len(host) <= 100 or not (pid.isascii() and pid.isdigit() and len(pid) <= 10):
        what = "the request does not name a process"
        raise ConfigError("E1003", what, found=repr(f"{host} {pid}"[:80]), wanted='{"host": "laptop", "pid": "4711"}')
    return Owner(by=by, host=host, pid=int(pid))


def _view(name: str, found: ClaimView | None) -> responses.EditLock:
    if found is None:
        return responses.EditLock(task=name, held=False)
    return responses.EditLock(
        task=name,
        held=True,
        token=found.token,
        by=found.by,
        host=found.host,
        pid=found.pid,
        since_ms=found.since_ms,
        lease_s=LEASE_S,
    )
