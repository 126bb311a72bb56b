"""Routes of cut-overs: several tasks that stop at one position."""

from __future__ import annotations

from typing import Annotated

import msgspec
from fastapi import APIRouter, Depends, Path, Query, Request
from starlette.responses import Response

from replicator.coordination.cutovers.store import MOST_TASKS
from replicator.errors import ConfigError
from server import cutover_responses as answers
from server.cutovers import MOST_SECONDS, Wanted
from server.request_bodies import decoded
from server.request_facts import facts_of
from server.route_helpers import By, CutoversOf, LoginOf, body_of, documented, note_arguments, reply

router = APIRouter(tags=["cut-overs"])
DryRun = Annotated[bool, Query(description="only show what would stop, and what prevents it")]
_BODY = body_of(
    {
        "type": "object",
        "properties": {
            "tasks": {
                "type": "array",
                "items": {"type": "string", "minLength": 1, "maxLength": 200},
                "minItems": 1,
                "maxItems": MOST_TASKS,
            },
            "timeout_s": {"type": "number", "exclusiveMinimum": 0, "maximum": MOST_SECONDS},
            "resume": {"type": "boolean"},
            "keep": {"type": "boolean"},
            "reason": {"type": "string", "maxLength": 200},
        },
        "required": ["tasks"],
        "additionalProperties": False,
    },
    required=True,
)


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    tasks: list[Annotated[str, msgspec.Meta(min_length=1, max_length=200)]]
    timeout_s: Annotated[float, msgspec.Meta(gt=0, le=MOST_SECONDS)] = 60.0
    resume: bool = False
    keep: bool = False
    reason: str = ""


async def _wanted(request: Request) -> Wanted:
    body = decoded(await request.body(), _Body, '{"tasks": ["NAME"], "timeout_s": 60}')
    note_arguments(request, msgspec.structs.asdict(body))
    tasks = tuple(dict.fromkeys(body.tasks))
    if not 1 <= len(tasks) <= MOST_TASKS:
        raise ConfigError("E1003", f"a cut-over of {len(tasks)} tasks", wanted=f"1 to {MOST_TASKS} tasks")
    return Wanted(tasks=tasks, timeout_s=body.timeout_s, resume=body.resume, keep=body.keep, reason=body.reason[:200])


def _id(request: Request, cutover: Annotated[str, Path(description="id of a cut-over", max_length=60)]) -> str:
    facts_of(request.scope).target = cutover
    return cutover


IdOf = Annotated[str, Depends(_id)]


@router.get("/cutovers", responses=documented(answers.CutoverList), operation_id="listCutovers")
def list_cutovers(cutovers: CutoversOf, login: LoginOf) -> Response:
    """Lists the newest 50 cut-overs, as far as the selector of the login includes all their tasks."""
    return reply(answers.CutoverList(items=[answers.cutover(node) for node in cutovers.list(login)]))


@router.post(
    "/cutovers",
    status_code=202,
    responses=documented(answers.Cutover, 202),
    openapi_extra=_BODY,
    operation_id="beginCutover",
)
def begin_cutover(
    request: Request,
    cutovers: CutoversOf,
    login: LoginOf,
    by: By,
    wanted: Annotated[Wanted, Depends(_wanted)],
    dry_run: DryRun = False,
) -> Response:
    """Stops several tasks together: those of one source at the same position, the others at a transaction boundary.
    If not all of them have stopped within `timeout_s`, or one fails, those that were stopped continue. The Servers
    carry it out; GET shows how far it is. 409 E5150 if a task can't take part."""
    node = cutovers.begin(wanted, by, login, dry_run=dry_run)
    facts_of(request.scope).target = node.id
    return reply(answers.cutover(node), 202)


@router.get("/cutovers/{cutover}", responses=documented(answers.Cutover), operation_id="readCutover")
def read_cutover(cutovers: CutoversOf, login: LoginOf, id_: IdOf) -> Response:
    """Returns one cut-over. 404 E5153 for an unknown id."""
    return reply(answers.cutover(cutovers.read(id_, login)))


@router.delete(
    "/cutovers/{cutover}", status_code=202, responses=documented(answers.Cutover, 202), operation_id="cancelCutover"
)
def cancel_cutover(cutovers: CutoversOf, login: LoginOf, by: By, id_: IdOf) -> Response:
    """Cancels a cut-over: its tasks continue (with `keep`, they stay paused). 409 E5154 if it is over."""
    return reply(answers.cutover(cutovers.cancel(id_, by, login)), 202)
