"""Routes of tables in quarantine and of replays."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from replicator.errors import ConfigError
from server import config_changes, responses
from server.quarantine import replay, replay_first, set_quarantine
from server.route_helpers import (
    Arguments,
    By,
    DefinitionsOf,
    Name,
    OperationsOf,
    SealingOf,
    Version,
    body_of,
    documented,
    only,
    reply,
)

router = APIRouter(tags=["quarantine"])
_TEXT = {"type": "string", "maxLength": 200}


def _body(**fields: object) -> dict[str, object]:
    return body_of({"type": "object", "properties": fields, "additionalProperties": False}, required=True)


_QUARANTINE = _body(table=_TEXT, release=_TEXT, reason=_TEXT)
_REPLAY = _body(table=_TEXT, name=_TEXT, reason=_TEXT)
DryRun = Annotated[bool, Query(description="check everything, but write nothing")]


@router.post(
    "/tasks/{name}/quarantine",
    responses=documented(responses.Task),
    openapi_extra=_QUARANTINE,
    operation_id="quarantineTable",
)
def quarantine(
    operations: OperationsOf, definitions: DefinitionsOf, name: Name, by: By, arguments: Arguments, version: Version
) -> Response:
    """Puts {"table": "database.table"} in quarantine: its rows are left out from the position at which the task
    receives the command. {"release": "true"} ends the quarantine. Applying a configuration does not change it. 422
    E1003 or E2205 for a table that the task does not replicate or does not know, 412 E4006 if If-Match is given and
    not the version of the configuration."""
    operations.expect(name, version)
    given = only(arguments, "table", "release", "reason")
    release = given.get("release", "false")
    if release not in ("true", "false"):
        raise ConfigError(
            "E1003", "`release` is neither true nor false", found=repr(release[:40]), wanted="true, false"
        )
    table, reason = given.get("table", ""), given.get("reason", "")[:200]
    set_quarantine(operations, definitions, name, table, leave_out=release == "false", by=by, reason=reason)
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/replay",
    status_code=201,
    responses=documented(responses.Task, 201),
    openapi_extra=_REPLAY,
    operation_id="replayTable",
)
def replay_table(
    request: Request,
    operations: OperationsOf,
    sealing: SealingOf,
    name: Name,
    by: By,
    arguments: Arguments,
    dry_run: DryRun = False,
) -> Response:
    """Delivers the rows of {"table": ...} that a quarantine has left out. During the quarantine the task itself
    delivers them, in order, and then continues with the table. After the release a new task, {"name": ...} or
    NAME.replay-TABLE, delivers them to the same topics, and then stops (FAILED with E5015)."""
    given = only(arguments, "table", "name", "reason")
    table, reason = given.get("table", ""), given.get("reason", "")[:200]
    if replay_first(operations, name, table, by=by, dry_run=dry_run, reason=reason):
        return Response(status_code=204) if dry_run else reply(responses.task(operations.task(name)))
    config = sealing.copied(replay(operations.task(name), table, given.get("name", "")), name)
    config_changes.writes(request, config)
    operations.create(config, by, dry_run, reason=reason)
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(config.name)), 201)
