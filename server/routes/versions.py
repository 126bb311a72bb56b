"""Routes of the versions of a task's configuration."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Request
from starlette.responses import Response

from replicator.errors import ConfigError
from server import config_changes, responses
from server.route_helpers import (
    Arguments,
    By,
    Name,
    OperationsOf,
    Version,
    VersionsOf,
    body_of,
    documented,
    only,
    reply,
)

router = APIRouter(tags=["versions"])
_NUMBER = {"type": "string", "pattern": "^[0-9]{1,10}$", "description": "number of the version"}
_TO = body_of(
    {
        "type": "object",
        "properties": {"to": _NUMBER, "reason": {"type": "string", "maxLength": 200}},
        "required": ["to"],
        "additionalProperties": False,
    },
    required=True,
)
_MOST = 10**10 - 1
Number = Annotated[int, Path(ge=0, le=_MOST, description="number of the version")]
DryRun = Annotated[bool, Query(description="check everything and return the difference, but write nothing")]


@router.get("/tasks/{name}/versions", responses=documented(responses.VersionList), operation_id="listVersions")
def list_versions(versions: VersionsOf, name: Name) -> Response:
    """Lists the versions of the configuration that are kept, oldest first: author, time and reason of each. They end
    with the task: one that is created again under the name begins with its own."""
    present, kept = versions.list(name)
    items = [responses.version_entry(record, present) for record in kept]
    return reply(responses.VersionList(name=name, items=items))


@router.get("/tasks/{name}/versions/{number}", responses=documented(responses.TaskVersion), operation_id="readVersion")
def read_version(versions: VersionsOf, name: Name, number: Number) -> Response:
    """Returns one version with its configuration. 404 E5090 if it is not kept."""
    return reply(responses.task_version(name, versions.read(name, number)))


@router.get("/tasks/{name}/diff", responses=documented(responses.VersionDiff), operation_id="compareVersions")
def compare(
    versions: VersionsOf,
    name: Name,
    before: Annotated[
        int | None, Query(alias="from", ge=0, le=_MOST, description="default: the version before `to`")
    ] = None,
    after: Annotated[int | None, Query(alias="to", ge=0, le=_MOST, description="default: the present version")] = None,
) -> Response:
    """Compares two versions of the configuration: `diff` is a unified diff of their YAML, with every default written
    out; empty if they are equal. 404 E5090 if a version is not kept."""
    first, last, text = versions.compare(name, before, after)
    return reply(responses.VersionDiff(name=name, before=first, after=last, diff=text))


@router.post(
    "/tasks/{name}/rollback",
    responses=documented(responses.VersionDiff),
    openapi_extra=_TO,
    operation_id="rollbackTask",
)
def rollback(
    request: Request,
    operations: OperationsOf,
    versions: VersionsOf,
    name: Name,
    by: By,
    arguments: Arguments,
    version: Version,
    dry_run: DryRun = False,
) -> Response:
    """Replaces the configuration by that of an earlier version, {"to": number}, with all checks of a replacement. It
    becomes a new version. Sealed secrets of that version are sealed under the present key. Returns the difference,
    empty if nothing changes. The position is not changed. 404 E5090 if the version is not kept, 422 E1041 if the
    cluster key of one of its secrets has been removed, 412 E4006 if If-Match is not the current version."""
    given = only(arguments, "to", "reason")
    text = given.get("to", "")
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise ConfigError("E1003", "no version is given", found=repr(text[:40]), wanted='{"to": "3"}')
    number = int(text)
    reason = given.get("reason", "")[:200]
    present = operations.task(name)
    config_changes.replaces(request, versions.read(name, number).config, present.config)
    wanted = present.config_version if version is None else version
    before, difference = versions.restore(name, number, by, wanted, dry_run, reason)
    return reply(responses.VersionDiff(name=name, before=before, after=number, diff=difference))
