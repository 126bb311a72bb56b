"""Routes of tokens and users."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from fastapi import APIRouter, Depends, Path, Request
from starlette.responses import Response

from replicator.config.labels import MAX_SELECTOR
from replicator.coordination.clock import now_ms
from replicator.errors import ConfigError
from replicator.model.audit import Difference
from replicator.model.decoding import from_json
from replicator.model.principal import ROLES
from server import access_responses
from server.request_facts import facts_of
from server.route_helpers import By, LoginsOf, Version, body_of, documented, reply

router = APIRouter(tags=["logins"])
_NAME = {"type": "string", "minLength": 1, "maxLength": 64, "pattern": r"^[A-Za-z0-9][A-Za-z0-9._@-]*$"}
_ROLE = {"type": "string", "enum": list(ROLES)}
_SELECTOR = {"type": "string", "maxLength": MAX_SELECTOR, "default": "", "example": "env=prod"}
_PASSWORD = {"type": "string", "minLength": 12, "maxLength": 1024, "format": "password"}
_EXPIRES = {"type": "integer", "minimum": 0, "maximum": 316_224_000, "default": 0}
Name = Annotated[str, Path(description="name of the token or user")]
T = TypeVar("T", bound=msgspec.Struct)


def _body(required: tuple[str, ...], **fields: object) -> dict[str, Any]:
    schema = {"type": "object", "properties": fields, "required": list(required), "additionalProperties": False}
    return body_of(schema, required=True)


class NewToken(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    role: str
    selector: str = ""
    expires_s: int = 0


class NewUser(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    password: str
    role: str
    selector: str = ""


class NewPassword(msgspec.Struct, forbid_unknown_fields=True):
    password: str


class NewRole(msgspec.Struct, forbid_unknown_fields=True):
    role: str
    selector: str = ""


def _parsed(raw: bytes, kind: type[T]) -> T:
    """Errors do not quote the body: it may have a password."""
    try:
        return from_json(raw, kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        wanted = f"a JSON object with {', '.join(kind.__struct_fields__)}"
        found = str(error) if isinstance(error, msgspec.ValidationError) else "not JSON"
        raise ConfigError("E1003", "the body of the request is not valid", found=found, wanted=wanted) from None


async def _new_token(request: Request) -> NewToken:
    return _parsed(await request.body(), NewToken)


async def _new_user(request: Request) -> NewUser:
    return _parsed(await request.body(), NewUser)


async def _new_password(request: Request) -> NewPassword:
    return _parsed(await request.body(), NewPassword)


async def _new_role(request: Request) -> NewRole:
    return _parsed(await request.body(), NewRole)


@router.get("/login", responses=documented(access_responses.Login), operation_id="readLogin")
def read_login(request: Request) -> Response:
    """Returns the login of this request: name, role and selector."""
    return reply(access_responses.login(facts_of(request.scope).known))


@router.get("/tokens", responses=documented(access_responses.TokenList), operation_id="listTokens")
def list_tokens(logins: LoginsOf) -> Response:
    """Lists the tokens, without their secrets. The token in the file of the Server is not among them."""
    at = now_ms()
    return reply(access_responses.TokenList(items=[access_responses.token(one, at) for one in logins.tokens()]))


@router.post(
    "/tokens",
    status_code=201,
    responses=documented(access_responses.TokenCreated, 201),
    openapi_extra=_body(("name", "role"), name=_NAME, role=_ROLE, selector=_SELECTOR, expires_s=_EXPIRES),
    operation_id="createToken",
)
def create_token(
    request: Request, logins: LoginsOf, by: By, wanted: Annotated[NewToken, Depends(_new_token)]
) -> Response:
    """Creates a token. Its secret is in this answer only. `expires_s`: seconds from now, 0 for never; `selector`:
    limits the token to tasks with these labels. 409 E5070 if a token has this name."""
    facts = facts_of(request.scope)
    facts.target = wanted.name[:64]
    made = logins.create_token(wanted.name, wanted.role, wanted.selector, wanted.expires_s, by)
    facts.changes = _created(made.record.role, made.record.selector, made.record.expires_ms)
    token = access_responses.token(made.record, made.record.created_ms, made.secret)
    return reply(access_responses.TokenCreated(token=token), 201)


def _created(role: str, selector: str, expires_ms: int = 0) -> list[Difference]:
    made = [Difference("role", None, role), Difference("selector", None, selector)]
    return [*made, Difference("expires_ms", None, expires_ms)] if expires_ms else made


@router.delete("/tokens/{name}", status_code=204, operation_id="revokeToken")
def revoke_token(logins: LoginsOf, name: Name) -> Response:
    """Revokes a token: requests with it are refused, in every Server and Monitor within a second. 404 E5071 if there is
    no token of this name."""
    logins.revoke_token(name)
    return Response(status_code=204)


@router.get("/users", responses=documented(access_responses.UserList), operation_id="listUsers")
def list_users(logins: LoginsOf) -> Response:
    """Lists the users: people with a password."""
    return reply(access_responses.UserList(items=[access_responses.user(node) for node in logins.users()]))


@router.post(
    "/users",
    status_code=201,
    responses=documented(access_responses.User, 201),
    openapi_extra=_body(("name", "password", "role"), name=_NAME, password=_PASSWORD, role=_ROLE, selector=_SELECTOR),
    operation_id="createUser",
)
def create_user(request: Request, logins: LoginsOf, by: By, wanted: Annotated[NewUser, Depends(_new_user)]) -> Response:
    """Creates a user. 409 E5070 if a user has this name."""
    facts = facts_of(request.scope)
    facts.target = wanted.name[:64]
    made = logins.create_user(wanted.name, wanted.password, wanted.role, wanted.selector, by)
    facts.changes = _created(made.record.role, made.record.selector)
    return reply(access_responses.user(made), 201)


@router.put(
    "/users/{name}/password",
    responses=documented(access_responses.User),
    openapi_extra=_body(("password",), password=_PASSWORD),
    operation_id="setPassword",
)
def set_password(
    logins: LoginsOf, name: Name, version: Version, wanted: Annotated[NewPassword, Depends(_new_password)]
) -> Response:
    """Sets the password of a user, who may also do it. 412 E4006 if If-Match is not the current version."""
    return reply(access_responses.user(logins.set_password(name, wanted.password, version)))


@router.put(
    "/users/{name}/role",
    responses=documented(access_responses.User),
    openapi_extra=_body(("role",), role=_ROLE, selector=_SELECTOR),
    operation_id="setUserRole",
)
def set_role(
    request: Request,
    logins: LoginsOf,
    name: Name,
    version: Version,
    wanted: Annotated[NewRole, Depends(_new_role)],
) -> Response:
    """Sets the role of a user, and the selector that limits it. 412 E4006 if If-Match is not the current version."""
    node, facts_of(request.scope).changes = logins.set_role(name, wanted.role, wanted.selector, version)
    return reply(access_responses.user(node))


@router.delete("/users/{name}", status_code=204, operation_id="removeUser")
def remove_user(logins: LoginsOf, name: Name, version: Version) -> Response:
    """Removes a user. 404 E5071 if there is no user of this name, 412 E4006 if If-Match is given and not the current
    version."""
    logins.remove_user(name, version)
    return Response(status_code=204)
