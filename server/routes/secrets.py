"""Routes of the secrets of a task. None gives a secret back."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from replicator.errors import ConfigError
from server import config_changes, responses
from server.route_helpers import Arguments, By, Name, OperationsOf, SealingOf, Version, body_of, documented, only, reply
from server.sealing import secrets_of

router = APIRouter(tags=["secrets"])
_SET = body_of(
    {
        "type": "object",
        "properties": {
            "field": {"type": "string", "maxLength": 100, "description": "such as source.password"},
            "secret": {"type": "string", "maxLength": 65536, "description": "the secret itself; use HTTPS"},
            "reason": {"type": "string", "maxLength": 200},
        },
        "required": ["field", "secret"],
        "additionalProperties": False,
    },
    required=True,
)


@router.get("/tasks/{name}/secrets", responses=documented(responses.SecretList), operation_id="listSecrets")
def list_secrets(operations: OperationsOf, name: Name) -> Response:
    """Lists the fields of the task that hold secrets, and where each comes from: env, file, or sealed with a key."""
    found = secrets_of(operations.task(name).config or {})
    items = [responses.Secret(field=field, source=source) for field, source in found.items()]
    return reply(responses.SecretList(name=name, items=items))


@router.post(
    "/tasks/{name}/secrets", responses=documented(responses.SecretList), openapi_extra=_SET, operation_id="setSecret"
)
def set_secret(
    request: Request,
    operations: OperationsOf,
    sealing: SealingOf,
    name: Name,
    by: By,
    arguments: Arguments,
    version: Version,
) -> Response:
    """Seals a secret under the cluster's key and writes it into the configuration, as an ordinary change. Only Cores of
    this installation can open it, for this task and field. 422 E1041 if the Server has no cluster key, E1044 for a
    field that is no secret."""
    given = only(arguments, "field", "secret", "reason")
    view = operations.task(name)
    if view.config is None:
        raise ConfigError("E1044", f"task '{name}' has no configuration", wanted="a configured task")
    config = sealing.set(view.config, given.get("field", ""), given.get("secret", ""))
    config_changes.writes(request, config, view.config)
    reason = given.get("reason", "")[:200]
    operations.replace(name, config, by, view.config_version if version is None else version, reason=reason)
    return list_secrets(operations, name)


@router.post("/tasks/{name}/secrets/renew", responses=documented(responses.Renewed), operation_id="renewSecrets")
def renew_secrets(request: Request, operations: OperationsOf, sealing: SealingOf, name: Name, by: By) -> Response:
    """Seals the secrets of the task under the first key of the cluster key file. A worker that runs is not
    restarted, as its secrets are the same. Does nothing where they are sealed so already."""
    view = operations.task(name)
    config, changed = sealing.renewed(view.config or {})
    if config is not None:
        config_changes.writes(request, config, view.config)
        operations.replace(name, config, by, view.config_version, reason="secrets sealed under another key")
    return reply(responses.Renewed(name=name, fields=changed))
