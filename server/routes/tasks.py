"""Routes of tasks and their configuration."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from server import config_changes, responses, task_scope
from server.route_helpers import (
    By,
    Config,
    LoginOf,
    MaxAge,
    Name,
    OperationsOf,
    Reason,
    SelectorOf,
    Version,
    body_of,
    documented,
    reply,
)

router = APIRouter(tags=["tasks"])
_BODY = body_of(
    {"$ref": "#/components/schemas/TaskConfig"}, required=True, media=("application/json", "application/yaml")
)
DryRun = Annotated[bool, Query(description="check everything, but write nothing")]


@router.get("/tasks", responses=documented(responses.TaskList), operation_id="listTasks")
def list_tasks(operations: OperationsOf, selector: SelectorOf, login: LoginOf, max_age: MaxAge) -> Response:
    """Lists the tasks with their state: all that the login may see, or those of them whose labels the selector matches.
    422 E1031 for an invalid selector."""
    seen = [view for view in operations.tasks(max_age) if task_scope.includes(login, view.config)]
    return reply(responses.TaskList(items=[responses.task(view) for view in seen if selector.matches(view.labels)]))


@router.post(
    "/tasks",
    status_code=201,
    responses=documented(responses.Task, 201),
    openapi_extra=_BODY,
    operation_id="createTask",
)
def create_task(
    request: Request, operations: OperationsOf, config: Config, by: By, dry_run: DryRun = False, reason: Reason = ""
) -> Response:
    """Creates a task from its configuration (YAML or JSON). 409 E5004 if the task exists. A login with a selector gets
    the same answer for every name that a task has which it cannot see."""
    config_changes.writes(request, config)
    operations.create(config, by, dry_run, reason=reason, visible=config_changes.visible(request))
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(config.name)), 201)


@router.get("/tasks/{name}", responses=documented(responses.Task), operation_id="readTask")
def read_task(operations: OperationsOf, name: Name, max_age: MaxAge) -> Response:
    """Returns one task. The ETag is the version of its configuration."""
    return reply(responses.task(operations.task(name, max_age)))


@router.put("/tasks/{name}", responses=documented(responses.Task), openapi_extra=_BODY, operation_id="replaceTask")
def replace_task(
    request: Request,
    operations: OperationsOf,
    name: Name,
    config: Config,
    by: By,
    version: Version,
    dry_run: DryRun = False,
    reason: Reason = "",
    edit_token: Annotated[int | None, Query(ge=0, lt=1 << 63, description="write only under this edit lock")] = None,
) -> Response:
    """Replaces the configuration. The running task applies it without a restart. 412 E4006 if If-Match is not the
    current version, 409 if it is ?version= that is not, 409 E1009 for keys that cannot be changed, 409 E4078 if the
    edit lock of ?edit_token= is lost."""
    present = operations.task(name)
    config_changes.writes(request, config, present.config)
    expected = present.config_version if version is None else version
    operations.replace(name, config, by, expected, dry_run, reason, edit_token=edit_token)
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(name)))


@router.delete(
    "/tasks/{name}",
    status_code=204,
    operation_id="deleteTask",
    responses=documented(responses.Task, 202, "deletion not finished"),
)
def delete_task(
    request: Request,
    operations: OperationsOf,
    name: Name,
    by: By,
    login: LoginOf,
    version: Version,
    wait: Annotated[float, Query(ge=0, le=60, description="seconds")] = 10,
    reason: Reason = "",
    purge: Annotated[bool, Query(description="later tasks of the name ignore the position left at the sink")] = False,
) -> Response:
    """Stops a task on all Cores and removes it with its position. 204 when it is removed; 202 if Cores still take part
    in its election after `wait` seconds: it is removed when they have left. Its history is removed, too: `reason` is in
    the audit. 412 E4006 if If-Match is given and not the version of the configuration."""
    present = operations.task(name)
    config_changes.removes(request, present.config)
    if version is None and login.selector:
        version = present.config_version  # a change of the labels in between may take the task away from this login
    if operations.delete(name, by, wait, reason, purge=purge, version=version):
        return Response(status_code=204)
    return reply(responses.task(operations.task(name)), 202)
