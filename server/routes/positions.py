"""Routes of a task's position: earlier positions, setting, skipping, forking."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from replicator.config.load import parse_task
from replicator.coordination.tasks.position_changes import (
    Target,
    ToEnd,
    ToFile,
    ToGtid,
    ToPoint,
    ToTopics,
    TransactionStart,
)
from replicator.errors import ConfigError
from replicator.model.topic_offsets import parsed
from server import config_changes, responses
from server.route_helpers import (
    Arguments,
    By,
    Name,
    OperationsOf,
    PositionsOf,
    SealingOf,
    Version,
    body_of,
    documented,
    only,
    reply,
)

router = APIRouter(tags=["positions"])
_TEXT = {"type": "string", "maxLength": 200}
_LONG = {"type": "string"}


def _body(**fields: object) -> dict[str, object]:
    return body_of({"type": "object", "properties": fields, "additionalProperties": False}, required=True)


_SET = _body(
    file=_TEXT, offset=_TEXT, gtid=_LONG, offsets=_LONG, at=_TEXT, begin=_TEXT, transaction_start=_TEXT, reason=_TEXT
)
_SKIP = _body(transaction=_TEXT, reason=_TEXT)
_FORK = _body(name=_TEXT, at=_TEXT, reason=_TEXT)
DryRun = Annotated[bool, Query(description="only show what would be sent again or skipped")]


@router.get("/tasks/{name}/positions", responses=documented(responses.PositionHistory), operation_id="readPositions")
def history(positions: PositionsOf, name: Name) -> Response:
    """Returns earlier positions of the task: one per minute for a day, one per hour for a month."""
    points = [responses.position_entry(checkpoint) for checkpoint in positions.history(name)]
    return reply(responses.PositionHistory(name=name, items=points))


@router.post(
    "/tasks/{name}/position",
    responses=documented(responses.PositionChanged),
    openapi_extra=_SET,
    operation_id="setPosition",
)
def set_position(
    positions: PositionsOf,
    operations: OperationsOf,
    name: Name,
    by: By,
    arguments: Arguments,
    version: Version,
    dry_run: DryRun = False,
) -> Response:
    """Sets the position of a task that does not run, by {"file", "offset"}, {"gtid"}, {"offsets"}, {"at": time},
    {"begin": "latest"} or "earliest" (the end of the source's log when the task continues, or the beginning of what it
    has), or {"transaction_start": "true"} (the start of the transaction at the current position). 409 E5007 while the
    task runs, 409 E4006 if the position has changed meanwhile, 412 E4006 if If-Match is given and not the version of
    the configuration. The source is not asked whether it has the position: a
    wrong one stops the task when it resumes, with E2206 or E2209."""
    given = only(arguments, "file", "offset", "gtid", "offsets", "at", "begin", "transaction_start", "reason")
    operations.expect(name, version)
    target = _target(positions, name, given)
    if dry_run:
        return reply(responses.position_changed(name, positions.preview(name, target), done=False))
    move = positions.set(name, target, by, given.get("reason", "")[:200])
    return reply(responses.position_changed(name, move, done=True))


def _target(positions: PositionsOf, name: str, given: dict[str, str]) -> Target:
    if given.get("at"):
        return ToPoint(positions.find(name, given["at"]))
    if given.get("gtid"):
        return ToGtid(given["gtid"])
    if given.get("offsets"):
        return _topics(given["offsets"])
    if given.get("begin") in ("latest", "earliest"):
        return ToEnd("latest" if given["begin"] == "latest" else "earliest")
    if given.get("transaction_start") == "true":
        return TransactionStart()
    offset = given.get("offset", "")
    if given.get("file") and offset.isascii() and offset.isdigit() and 4 <= int(offset) < 1 << 63:
        return ToFile(given["file"][:255], int(offset))
    raise ConfigError(
        "E1003",
        "no position is given",
        found=", ".join(sorted(given)) or "nothing",
        wanted='{"file": ..., "offset": ...}, {"gtid": ...}, {"offsets": ...}, {"at": ...}, {"begin": "latest"}, '
        '{"begin": "earliest"} or '
        '{"transaction_start": "true"}',
    )


def _topics(text: str) -> ToTopics:
    try:
        return ToTopics(parsed(text))
    except ValueError as error:
        wanted = "TOPIC:OFFSET[,OFFSET...][;TOPIC:...]: the next offset of each partition"
        raise ConfigError("E1003", "the offsets can't be read", found=str(error), wanted=wanted) from error


@router.post("/tasks/{name}/skip", responses=documented(responses.Skipped), openapi_extra=_SKIP, operation_id="skip")
def skip(positions: PositionsOf, name: Name, by: By, arguments: Arguments, dry_run: DryRun = False) -> Response:
    """Skips the transaction that a FAILED task has failed at, {"transaction": GTID or FILE:OFFSET}, and retries the
    task. 409 E5007 if the task is not FAILED, 409 E5016 for any other transaction. The leader checks the transaction
    again before it skips it; a refusal is recorded in the history of the task."""
    given = only(arguments, "transaction", "reason")
    reason = given.get("reason", "")[:200]
    move, error = positions.skip(name, given.get("transaction", ""), by, reason, dry_run)
    return reply(responses.skipped(name, move, error, done=not dry_run))


@router.post(
    "/tasks/{name}/fork",
    status_code=201,
    responses=documented(responses.Task, 201),
    openapi_extra=_FORK,
    operation_id="forkTask",
)
def fork(
    request: Request,
    operations: OperationsOf,
    positions: PositionsOf,
    sealing: SealingOf,
    name: Name,
    by: By,
    arguments: Arguments,
    dry_run: DryRun = False,
) -> Response:
    """Creates a task, {"name": ...}, with the configuration and the quarantined tables of this one. It starts at the
    position that this task had {"at": time}."""
    given = only(arguments, "name", "at", "reason")
    data, orders = positions.forked(name, given.get("name", ""), given.get("at", ""))
    config = sealing.copied(parse_task(data), name)
    config_changes.writes(request, config)
    visible = config_changes.visible(request)
    operations.create(config, by, dry_run, orders, given.get("reason", "")[:200], visible)
    return Response(status_code=204) if dry_run else reply(responses.task(operations.task(config.name)), 201)
