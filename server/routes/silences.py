"""Routes of silences: which alerts the Monitors send no messages of."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from replicator.alerts.silence import LONGEST_S, Matchers, check
from replicator.alerts.silence import Silence as Stored
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError, NodeMissing, ProcessError
from replicator.model.audit import Difference
from replicator.model.decoding import from_json
from replicator.model.principal import Principal
from server import silence_responses, task_scope
from server.request_facts import facts_of
from server.route_helpers import By, LoginOf, OperationsOf, SilencesOf, body_of, documented, note_arguments, reply
from server.task_operations import TaskOperations

router = APIRouter(tags=["alerts"])
_TEXT: Final[dict[str, Any]] = {"type": "string", "maxLength": 200}
_BODY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "rule": {"type": "string", "maxLength": 64, "description": "name of a rule"},
        "task": {**_TEXT, "description": "name of a task"},
        "machine": {**_TEXT, "description": "name of a host"},
        "labels": {"type": "object", "additionalProperties": _TEXT, "description": "of the task or of the rule"},
        "seconds": {"type": "integer", "minimum": 1, "maximum": LONGEST_S},
        "reason": {**_TEXT, "minLength": 1},
    },
    "required": ["seconds", "reason"],
    "additionalProperties": False,
}
Id = Annotated[str, Path(description="id of the silence, from the list", max_length=64)]
Why = Annotated[str, Query(description="recorded in the audit", max_length=200)]


class Wanted(msgspec.Struct, forbid_unknown_fields=True):
    """The body of a request."""

    seconds: int
    reason: str
    rule: str = ""
    task: str = ""
    machine: str = ""
    labels: dict[str, str] = {}

    @property
    def matchers(self) -> Matchers:
        return Matchers(rule=self.rule, task=self.task, machine=self.machine, labels=self.labels)


async def _wanted(request: Request) -> Wanted:
    try:
        found = from_json(await request.body(), Wanted)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = str(error) if isinstance(error, msgspec.ValidationError) else "not JSON"
        wanted = '{"rule": "BusLag", "task": "NAME", "seconds": 7200, "reason": "..."}'
        raise ConfigError("E1003", "the body of the request is not valid", found=text, wanted=wanted) from None
    note_arguments(request, {"silenced": str(found.matchers), "seconds": found.seconds, "reason": found.reason})
    facts_of(request.scope).target = found.task or found.machine or found.rule
    return found


@router.get("/alerts/silences", responses=documented(silence_responses.SilenceList), operation_id="listSilences")
def list_silences(silences: SilencesOf, operations: OperationsOf, login: LoginOf) -> Response:
    """Lists the silences that are in force; for a login with a selector, those of its tasks."""
    found = [each for each in silences.list() if each.until_ms > now_ms()]
    if login.selector:
        seen = {view.name for view in operations.tasks() if task_scope.includes(login, view.config)}
        found = [each for each in found if each.matchers.task in seen]
    return reply(silence_responses.SilenceList(items=[silence_responses.item(each) for each in found]))


@router.post(
    "/alerts/silences",
    status_code=201,
    responses=documented(silence_responses.Silence, 201),
    openapi_extra=body_of(_BODY, required=True),
    operation_id="silenceAlerts",
)
def silence_alerts(
    silences: SilencesOf,
    operations: OperationsOf,
    login: LoginOf,
    by: By,
    wanted: Annotated[Wanted, Depends(_wanted)],
) -> Response:
    """Silences the alerts that match all of rule, task, machine and labels that are given: the Monitors show them and
    send no messages of them. A login with a selector has to name one of its tasks. 422 E5185 for a silence without a
    matcher, an end or a reason."""
    check(wanted.matchers, wanted.seconds, wanted.reason)
    _check_scope(login, operations, wanted.task)
    found = silences.add(wanted.matchers, wanted.seconds, by, wanted.reason)
    return reply(silence_responses.one(found), 201)


@router.delete("/alerts/silences/{id}", status_code=204, operation_id="unsilenceAlerts")
def unsilence_alerts(
    request: Request,
    silences: SilencesOf,
    operations: OperationsOf,
    login: LoginOf,
    id: Id,  # noqa: A002 - as in the path
    reason: Why = "",
) -> Response:
    """Ends a silence before its time. 404 E5184 if it does not exist."""
    found = silences.read(id)
    try:
        _check_scope(login, operations, found.matchers.task)
    except (NodeMissing, ProcessError):
        raise ProcessError("E5184", f"there is no silence '{id[:40]}'") from None
    silences.remove(id)
    facts = facts_of(request.scope)
    facts.target, facts.reason = found.id, reason
    facts.changes = [Difference("silence", _shown(found), None)]
    return Response(status_code=204)


def _shown(found: Stored) -> str:
    return f"{found.matchers}: {found.reason}"


def _check_scope(login: Principal, operations: TaskOperations, task: str) -> None:
    """Raises ProcessError E5072, NodeMissing E5003."""
    if not login.selector:
        return
    if not task:
        raise ProcessError(
            "E5072",
            f"{login.label} may not silence alerts of all tasks",
            found=f"a role for tasks with {login.selector}, and no task",
            wanted="the name of a task",
        )
    if not any(view.name == task and task_scope.includes(login, view.config) for view in operations.tasks()):
        raise NodeMissing("E5003", f"there is no task '{task}'")
