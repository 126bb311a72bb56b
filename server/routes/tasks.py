"""Tasks and their configuration."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from server import views
from server.http import By, Config, ControlOf, Name, Version, body_of, documented, reply

router = APIRouter(tags=["tasks"])
_BODY = body_of(
    {"$ref": "#/components/schemas/TaskConfig"}, required=True, media=("application/json", "application/yaml")
)
DryRun = Annotated[bool, Query(description="check everything, write nothing")]


@router.get("/tasks", responses=documented(views.TaskList), operation_id="listTasks")
def list_tasks(control: ControlOf) -> Response:
    """Every task with its state."""
    return reply(views.TaskList(items=[views.task(view) for view in control.tasks()]))


@router.post("/tasks", status_code=201, responses=documented(views.Task, 201), openapi_extra=_BODY)
def create_task(control: ControlOf, config: Config, by: By, dry_run: DryRun = False) -> Response:
    """Creates a task from its configuration (YAML or JSON). 409 E5004 when there is one of this name."""
    control.create(config, by, dry_run)
    return Response(status_code=204) if dry_run else reply(views.task(control.task(config.name)), 201)


@router.get("/tasks/{name}", responses=documented(views.Task), operation_id="readTask")
def read_task(control: ControlOf, name: Name) -> Response:
    """One task. The ETag is the version of its configuration."""
    return reply(views.task(control.task(name)))


@router.put("/tasks/{name}", responses=documented(views.Task), openapi_extra=_BODY, operation_id="replaceTask")
def replace_task(
    control: ControlOf, name: Name, config: Config, by: By, version: Version, dry_run: DryRun = False
) -> Response:
    """Replaces the configuration; it reaches the running task without a restart. 409 E4006 when If-Match (or
    ?version=) is not the present version, 409 E1009 for what a task can't change."""
    control.replace(name, config, by, version, dry_run)
    return Response(status_code=204) if dry_run else reply(views.task(control.task(name)))


@router.delete(
    "/tasks/{name}", status_code=204, operation_id="deleteTask", responses=documented(views.Task, 202, "not yet gone")
)
def delete_task(
    control: ControlOf, name: Name, by: By, wait: Annotated[float, Query(ge=0, le=60, description="seconds")] = 10
) -> Response:
    """Stops a task everywhere and removes it with its position. 204 when it is gone; 202 when it still has contenders
    after `wait` seconds: it goes when they have withdrawn."""
    control.task(name)
    if control.delete(name, by, wait):
        return Response(status_code=204)
    return reply(views.task(control.task(name)), 202)
