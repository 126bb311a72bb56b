"""Routes of tables in quarantine and of replays."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from starlette.responses import Response

from replicator.errors import ConfigError
from server import responses
from server.quarantine import replay, replay_first, set_quarantine
from server.route_helpers import Arguments, By, DefinitionsOf, Name, OperationsOf, body_of, documented, only, reply

router = APIRouter(tags=["quarantine"])
_TEXT = {"type": "string", "maxLength": 200}


def _body(**fields: object) -> dict[str, object]:
    return body_of({"type": "object", "properties": fields, "additionalProperties": False}, required=True)


_QUARANTINE = _body(table=_TEXT, release=_TEXT)
_REPLAY = _body(table=_TEXT, name=_TEXT)
DryRun = Annotated[bool, Query(description="check everything, but write nothing")]


@router.post(
    "/tasks/{name}/quarantine",
    responses=documented(responses.Task),
    openapi_extra=_QUARANTINE,
    operation_id="quarantineTable",
)
def quarantine(
    operations: OperationsOf, definitions: DefinitionsOf, name: Name, by: By, arguments: Arguments
) -> Response:
    """Puts {"table": "database.table"} in quarantine: its rows are left out from the position at which the task
    receives the command. {"release": "true"} ends the quarantine. Applying a configuration does not change it. 422
    E1003 or E2205 for a table that the task does not replicate or does not know."""
    given = only(arguments, "table", "release")
    release = given.get("release", "false")
    if release not in ("true", "false"):
        raise ConfigError(
            "E1003", "`release` is neither true nor false", found=repr(release[:40]), wanted="true, false"
        )
    set_quarantine(operations, definitions, name, given.get("table", ""), leave_out=release == "false", by=by)
    return reply(responses.task(operations.task(name)))


@router.post(
    "/tasks/{name}/replay",
    status_code=201,
    responses=documented(responses.Task, 201),
    openapi_extra=_REPLAY,
    operation_id="replayTable",
)
def replay_table(
    operations: OperationsOf, name: Name, by: By, arguments: Arguments, dry_run: DryRun = False
) -> Response:
    """Delivers the rows of {"table": ...} that a quarantine has left out. During the quarantine the task itself
    delivers them, in order, and then continues with the table. After the release a new task, {"name": ...} or
    NAME.replay-TABLE, delivers them to the same topics, and then stops (FAILED with E5015)."""
    given = only(arguments, "table", "name")
    if replay_first(operations, name, given.get("table", ""), by=by, dry_run=dry_run):
        return Response(status_code=204) if dry_run else reply(responses.task(operations.task(name)))
    config = replay(operations.task(name), given.get("table", ""), given.get("name", ""))
    operations.create(config, by, dry_run)
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(config.name)), 201)
