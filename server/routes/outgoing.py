"""Routes of the cluster's list of outgoing addresses."""

from __future__ import annotations

from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response

from replicator.coordination.outgoing import Found
from replicator.errors import ConfigError
from replicator.model.audit import Difference
from replicator.model.decoding import from_json
from replicator.model.principal import Principal
from replicator.net.outgoing import MOST_ENTRIES, NOTHING
from server import outgoing_responses, task_scope
from server.outgoing import refused_by
from server.request_facts import facts_of
from server.route_helpers import By, LoginOf, OperationsOf, OutgoingOf, Version, body_of, documented, reply
from server.task_operations import TaskOperations

router = APIRouter(tags=["cluster"])
_LONGEST: Final = 300
_BODY: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "entries": {
            "type": "array",
            "items": {"type": "string", "minLength": 1, "maxLength": _LONGEST},
            "minItems": 1,
            "maxItems": MOST_ENTRIES,
            "description": "HOST, *.DOMAIN, ADDRESS or NETWORK, each with or without :PORT; `none` alone: nothing",
        }
    },
    "required": ["entries"],
    "additionalProperties": False,
}
Reason = Annotated[str, Query(description="recorded with the list and in the audit", max_length=200)]
DryRun = Annotated[bool, Query(description="check everything and return the tasks concerned, but write nothing")]


class Entries(msgspec.Struct, forbid_unknown_fields=True):
    entries: list[str]


async def _entries(request: Request) -> list[str]:
    try:
        found = from_json(await request.body(), Entries).entries
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        text = str(error) if isinstance(error, msgspec.ValidationError) else "not JSON"
        wanted = '{"entries": ["10.0.0.0/8", "*.example.com"]}'
        raise ConfigError("E1003", "the body of the request is not valid", found=text, wanted=wanted) from None
    return [each[: _LONGEST + 1].strip() for each in found]


@router.get("/cluster/outgoing", responses=documented(outgoing_responses.Outgoing), operation_id="readOutgoing")
def read_outgoing(outgoing: OutgoingOf, operations: OperationsOf, login: LoginOf) -> Response:
    """Returns the cluster's list of outgoing addresses, and the tasks with addresses that it never allows. The ETag is
    its version."""
    found = outgoing.read()
    return _answer(found, found.record.entries, operations, login)


@router.put(
    "/cluster/outgoing",
    responses=documented(outgoing_responses.Outgoing),
    openapi_extra=body_of(_BODY, required=True),
    operation_id="replaceOutgoing",
)
def replace_outgoing(
    request: Request,
    outgoing: OutgoingOf,
    operations: OperationsOf,
    login: LoginOf,
    by: By,
    version: Version,
    entries: Annotated[list[str], Depends(_entries)],
    dry_run: DryRun = False,
    reason: Reason = "",
) -> Response:
    """Replaces the list: Cores and Servers obey it within seconds. Open connections stay; the next one of a task to an
    address that is not allowed stops the task with E1050. Such addresses in configurations are in `refused`. 422 E1051
    for an invalid entry, 412 E4006 if If-Match is not the current version."""
    before = outgoing.read()
    refused_by(entries, ())  # raises for an entry that is not valid
    if dry_run:
        return _answer(before, tuple(entries), operations, login)
    found = outgoing.write(entries, by, reason, before.version if version is None else version)
    facts_of(request.scope).changes = [_difference(before, found)]
    return _answer(found, found.record.entries, operations, login)


@router.delete("/cluster/outgoing", status_code=204, operation_id="removeOutgoing")
def remove_outgoing(request: Request, outgoing: OutgoingOf, by: By, version: Version, reason: Reason = "") -> Response:
    """Removes the list: the cluster allows every address, and the lists of hosts remain. 412 E4006 if If-Match is not
    the current version."""
    before = outgoing.read()
    found = outgoing.write(None, by, reason, before.version if version is None else version)
    facts_of(request.scope).changes = [_difference(before, found)]
    return Response(status_code=204)


def _difference(before: Found, after: Found) -> Difference:
    return Difference("outgoing", _shown(before.record.entries), _shown(after.record.entries))


def _shown(entries: tuple[str, ...] | None) -> str | None:
    return None if entries is None else ", ".join(entries) or NOTHING


def _answer(found: Found, entries: tuple[str, ...] | None, operations: TaskOperations, login: Principal) -> Response:
    """`entries`: those that are shown."""
    seen = [view for view in operations.tasks() if task_scope.includes(login, view.config)]
    never = refused_by(entries, ((view.name, view.config) for view in seen)) if entries is not None else []
    record = found.record
    return reply(
        outgoing_responses.Outgoing(
            limited=entries is not None,
            entries=list(entries or ()),
            version=found.version,
            changed_by=record.by,
            changed_ms=record.time_ms,
            reason=record.reason,
            refused=[outgoing_responses.refused_address(each.task, each.destination) for each in never],
        )
    )
