"""What a task knows of its source's tables, and telling it."""

from __future__ import annotations

from fastapi import APIRouter
from starlette.responses import Response

from replicator.errors import ConfigError
from server.http import Arguments, By, Name, SchemasOf, body_of, documented, only, reply
from server.schemas import Schema

router = APIRouter(tags=["schema"])
_TOLD = body_of(
    {
        "type": "object",
        "properties": {"statement": {"type": "string"}, "reason": {"type": "string", "maxLength": 200}},
        "required": ["statement"],
        "additionalProperties": False,
    },
    required=True,
)


@router.get("/tasks/{name}/schema", responses=documented(Schema), operation_id="readSchema")
def read_schema(schemas: SchemasOf, name: Name) -> Response:
    """The tables that the task knows, as of the last statement that it has seen."""
    return reply(schemas.read(name))


@router.post("/tasks/{name}/schema", responses=documented(Schema), openapi_extra=_TOLD, operation_id="tellTable")
def tell_table(schemas: SchemasOf, name: Name, by: By, arguments: Arguments) -> Response:
    """Tells a task that does not run of a table, {"statement": "CREATE TABLE database.table (...)"}, as of where it
    stands. 409 E5007 while it runs, 422 E5014 for a statement that can't be taken."""
    given = only(arguments, "statement", "reason")
    if not given.get("statement", "").strip():
        raise ConfigError("E1003", "no statement is given", wanted='{"statement": "CREATE TABLE ..."}')
    schemas.tell(name, given["statement"], by, given.get("reason", "")[:200])
    return reply(schemas.read(name))
