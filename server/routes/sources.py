"""Routes of the sources of tasks, and of their maintenance locks."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from replicator.coordination.layout import unescape
from replicator.errors import ConfigError
from server.request_facts import facts_of
from server.route_helpers import Arguments, By, LoginOf, SourcesOf, body_of, documented, only, reply
from server.source_operations import Source, SourceList

MOST_SECONDS = 30 * 86_400
router = APIRouter(tags=["sources"])
_BODY = body_of(
    {
        "type": "object",
        "properties": {
            "reason": {"type": "string", "maxLength": 200},
            "for_s": {"type": "string", "pattern": "^[0-9]{1,7}$", "description": "seconds; default: until unlocked"},
        },
        "additionalProperties": False,
    },
    required=False,
)


def _source(
    request: Request,
    source: Annotated[str, Path(description="host:port or ddns:APP/DOMAIN, escaped with %XX", max_length=400)],
) -> str:
    name = unescape(source)
    facts_of(request.scope).target = name
    return name


SourceOf = Annotated[str, Depends(_source)]


@router.get("/sources", responses=documented(SourceList), operation_id="listSources")
def list_sources(sources: SourcesOf, login: LoginOf) -> Response:
    """Lists the sources of the tasks that the login may see, with these tasks and their maintenance locks."""
    return reply(SourceList(items=list(sources.all(login))))


@router.get("/sources/{source}", responses=documented(Source), operation_id="readSource")
def read_source(sources: SourcesOf, login: LoginOf, source: SourceOf) -> Response:
    """Returns one source. 404 E5163 if no task reads it and it is not locked."""
    return reply(sources.read(source, login))


@router.put("/sources/{source}/lock", responses=documented(Source), openapi_extra=_BODY, operation_id="lockSource")
def lock_source(sources: SourcesOf, login: LoginOf, by: By, source: SourceOf, arguments: Arguments) -> Response:
    """Locks a source for maintenance: the tasks that read it pause at a transaction boundary, and no other one begins
    to read it. The lock stays until it is removed, or for `for_s` seconds. `stopped` of each task shows when it has
    paused. 409 E5161 if it is locked already."""
    given = only(arguments, "reason", "for_s")
    seconds = given.get("for_s", "0")
    if not (seconds.isascii() and seconds.isdigit() and len(seconds) <= 7 and int(seconds) <= MOST_SECONDS):
        what = "`for_s` is not a number of seconds"
        raise ConfigError("E1003", what, found=repr(seconds[:20]), wanted=f"at most {MOST_SECONDS}")
    return reply(sources.lock(source, by, given.get("reason", "")[:200], int(seconds), login))


@router.delete("/sources/{source}/lock", status_code=204, operation_id="unlockSource")
def unlock_source(sources: SourcesOf, source: SourceOf) -> Response:
    """Removes the maintenance lock of a source: its tasks continue where they have paused. 404 E5162 if it is not
    locked."""
    sources.unlock(source)
    return Response(status_code=204)
