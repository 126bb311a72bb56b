"""Routes of the table definitions of a task."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from replicator.errors import ConfigError
from server.route_helpers import Arguments, By, DefinitionsOf, Name, body_of, documented, only, reply
from server.table_definitions import Schema

router = APIRouter(tags=["schema"])
_DEFINITION = body_of(
    {
        "type": "object",
        "properties": {"statement": {"type": "string"}, "reason": {"type": "string", "maxLength": 200}},
        "required": ["statement"],
        "additionalProperties": False,
    },
    required=True,
)


@router.get("/tasks/{name}/schema", responses=documented(Schema), operation_id="readSchema")
def read_schema(definitions: DefinitionsOf, name: Name) -> Response:
    """Returns the table definitions of the task, as of the last statement that it has read."""
    return reply(definitions.read(name))


@router.post(
    "/tasks/{name}/schema", responses=documented(Schema), openapi_extra=_DEFINITION, operation_id="defineTable"
)
def define_table(definitions: DefinitionsOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Supplies a table definition, {"statement": "CREATE TABLE database.table (...)"}, to a task that does not run, as
    of its current position. 409 E5007 while it runs, 422 E5014 if the statement cannot be parsed."""
    given = only(arguments, "statement", "reason")
    if not given.get("statement", "").strip():
        raise ConfigError("E1003", "no statement is given", wanted='{"statement": "CREATE TABLE ..."}')
    definitions.define(name, given["statement"], by, given.get("reason", "")[:200])
    return reply(definitions.read(name))
