"""Tasks and their configuration."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from server import responses
from server.route_helpers import By, Config, Name, OperationsOf, Version, body_of, documented, reply

router = APIRouter(tags=["tasks"])
_BODY = body_of(
    {"$ref": "#/components/schemas/TaskConfig"}, required=True, media=("application/json", "application/yaml")
)
DryRun = Annotated[bool, Query(description="check everything, write nothing")]


@router.get("/tasks", responses=documented(responses.TaskList), operation_id="listTasks")
def list_tasks(operations: OperationsOf) -> Response:
    """Every task with its state."""
    return reply(responses.TaskList(items=[responses.task(view) for view in operations.tasks()]))


@router.post("/tasks", status_code=201, responses=documented(responses.Task, 201), openapi_extra=_BODY)
def create_task(operations: OperationsOf, config: Config, by: By, dry_run: DryRun = False) -> Response:
    """Creates a task from its configuration (YAML or JSON). 409 E5004 when there is one of this name."""
    operations.create(config, by, dry_run)
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(config.name)), 201)


@router.get("/tasks/{name}", responses=documented(responses.Task), operation_id="readTask")
def read_task(operations: OperationsOf, name: Name) -> Response:
    """One task. The ETag is the version of its configuration."""
    return reply(responses.task(operations.task(name)))


@router.put("/tasks/{name}", responses=documented(responses.Task), openapi_extra=_BODY, operation_id="replaceTask")
def replace_task(
    operations: OperationsOf, name: Name, config: Config, by: By, version: Version, dry_run: DryRun = False
) -> Response:
    """Replaces the configuration; it reaches the running task without a restart. 409 E4006 when If-Match (or
    ?version=) is not the present version, 409 E1009 for what a task can't change."""
    operations.replace(name, config, by, version, dry_run)
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(name)))


@router.delete(
    "/tasks/{name}",
    status_code=204,
    operation_id="deleteTask",
    responses=documented(responses.Task, 202, "not yet gone"),
)
def delete_task(
    operations: OperationsOf, name: Name, by: By, wait: Annotated[float, Query(ge=0, le=60, description="seconds")] = 10
) -> Response:
    """Stops a task everywhere and removes it with its position. 204 when it is gone; 202 when it still has contenders
    after `wait` seconds: it goes when they have withdrawn."""
    operations.task(name)
    if operations.delete(name, by, wait):
        return Response(status_code=204)
    return reply(responses.task(operations.task(name)), 202)
