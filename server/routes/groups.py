"""Routes of groups of Cores: where tasks are placed, pinned and moved, and hosts that are drained."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from replicator.coordination.groups.report import GroupReport
from replicator.errors import ConfigError
from replicator.model.principal import Principal
from server import group_responses as answers
from server import task_scope
from server.request_facts import facts_of
from server.route_helpers import (
    Arguments,
    By,
    GroupsOf,
    LoginOf,
    Name,
    OperationsOf,
    body_of,
    documented,
    only,
    reply,
)

router = APIRouter(tags=["groups"])
_TEXT = {"type": "string", "maxLength": 200}
_REASON = body_of({"type": "object", "properties": {"reason": _TEXT}, "additionalProperties": False}, required=False)
_TO = body_of(
    {"type": "object", "properties": {"to": _TEXT, "reason": _TEXT}, "required": ["to"], "additionalProperties": False},
    required=True,
)
DryRun = Annotated[bool, Query(description="only show what would change")]


@router.get("/groups", responses=documented(answers.GroupList), operation_id="listGroups")
def list_groups(groups: GroupsOf, operations: OperationsOf, login: LoginOf) -> Response:
    """Lists the groups of Cores with their members, their load, and the tasks that the selector of the login
    includes."""
    found = [_visible(each, operations, login) for each in groups.groups()]
    return reply(answers.GroupList(items=[answers.group(each) for each in found]))


@router.get("/groups/{name}", responses=documented(answers.Group), operation_id="readGroup")
def read_group(groups: GroupsOf, operations: OperationsOf, login: LoginOf, name: Name) -> Response:
    """Returns one group. 404 E5120 if it has neither Cores nor tasks."""
    return reply(answers.group(_visible(groups.group(name), operations, login)))


def _visible(found: GroupReport, operations: OperationsOf, login: Principal) -> GroupReport:
    if login.selector:
        seen = {view.name for view in operations.tasks() if task_scope.includes(login, view.config)}
        found.tasks = [task for task in found.tasks if task.name in seen]
        for member in found.members:
            member.tasks = [name for name in member.tasks if name in seen]
    return found


@router.post(
    "/groups/{name}/rebalance",
    responses=documented(answers.Moves),
    openapi_extra=_REASON,
    operation_id="rebalanceGroup",
)
def rebalance(
    request: Request, groups: GroupsOf, name: Name, by: By, arguments: Arguments, dry_run: DryRun = False
) -> Response:
    """Spreads the tasks of a group over its Cores by weight. Each task that moves is handed over at a transaction
    boundary, one at a time per Core."""
    facts_of(request.scope).target = name
    reason = only(arguments, "reason").get("reason", "")[:200]
    moves = groups.rebalance(name, by, reason, dry_run=dry_run)
    return reply(answers.Moves(items=moves, done=not dry_run))


@router.post("/tasks/{name}/pin", responses=documented(answers.Moves), openapi_extra=_TO, operation_id="pinTask")
def pin(groups: GroupsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Pins a task to a Core of its group ({"to": host}): it runs there whenever that Core is online. 409 E5121 if the
    Core has no room for it."""
    host, reason = _to(arguments)
    return reply(answers.Moves(items=[groups.pin(name, host, by, reason)], done=True))


@router.post(
    "/tasks/{name}/unpin", responses=documented(answers.Moves), openapi_extra=_REASON, operation_id="unpinTask"
)
def unpin(groups: GroupsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Removes the pin of a task, which stays where it runs."""
    move = groups.unpin(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(answers.Moves(items=[move], done=True))


@router.post("/tasks/{name}/move", responses=documented(answers.Moves), openapi_extra=_TO, operation_id="moveTask")
def move(groups: GroupsOf, name: Name, by: By, arguments: Arguments, dry_run: DryRun = False) -> Response:
    """Moves a task to a Core of its group ({"to": host}), at a transaction boundary. 409 E5121 if the Core has no room
    for it."""
    host, reason = _to(arguments)
    return reply(answers.Moves(items=[groups.move(name, host, by, reason, dry_run=dry_run)], done=not dry_run))


def _to(arguments: dict[str, str]) -> tuple[str, str]:
    given = only(arguments, "to", "reason")
    if not given.get("to"):
        raise ConfigError("E1003", "`to` is missing", wanted="the host of a Core")
    return given["to"], given.get("reason", "")[:200]


@router.post(
    "/machines/{name}/drain",
    responses=documented(answers.Drain),
    openapi_extra=_REASON,
    operation_id="drainMachine",
)
def drain(request: Request, groups: GroupsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Lets the Core of a host hand over all its tasks, one after the other, and take no others until that is ended.
    Tasks that no other Core can take stay. 404 E5123 if no Core of the name is known."""
    facts_of(request.scope).target = name
    tasks = groups.drain(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(answers.Drain(host=name, draining=True, tasks=tasks))


@router.post(
    "/machines/{name}/undrain",
    responses=documented(answers.Drain),
    openapi_extra=_REASON,
    operation_id="undrainMachine",
)
def undrain(request: Request, groups: GroupsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Ends the drain of a host. Tasks stay where they are; its Core takes tasks again."""
    facts_of(request.scope).target = name
    groups.undrain(name, by, only(arguments, "reason").get("reason", "")[:200])
    return reply(answers.Drain(host=name, draining=False))
