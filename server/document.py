"""The OpenAPI document: FastAPI's, with roles, errors by code, examples, and the headers that layers read."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from replicator.codes import CODES
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError
from replicator.telemetry.hosts import problem
from server import examples, route_helpers
from server.error_responses import PRECONDITION, status_of_code
from server.permissions import RULES, has_secret

_CODE: Final = re.compile(r"\bE\d{4}\b")
_FAILURE: Final = {"$ref": "#/components/schemas/Failure"}
_PROBLEM: Final = "application/problem+json"
_DRY_RUN_WITHOUT_BODY: Final = frozenset({"createTask", "replaceTask", "forkTask", "replayTable"})
_IDEMPOTENCY: Final = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "schema": {"type": "string", "minLength": 1, "maxLength": 200, "pattern": "^[\\x21-\\x7e]+$"},
    "description": "a request that is repeated with its key within a day is not executed again, and gets the first "
    "answer, with the header idempotency-replayed",
}


def document(app: FastAPI) -> dict[str, Any]:
    made = get_openapi(title=app.title, version=app.version, routes=app.routes, description=_ABOUT)
    for path, method, operation in operations(made):
        _complete(path, method, operation)
    components = made.setdefault("components", {})
    components.setdefault("schemas", {}).update(route_helpers.schemas() | _config_schemas())
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "a token, or a JWT of the identity provider"},
        "user": {"type": "http", "scheme": "basic", "description": "a user, or the name `token` with a token"},
    }
    made["security"] = [{"token": []}, {"user": []}]
    return made


_ABOUT: Final = (
    "Creates, changes and controls tasks. `x-role` of an operation is the role that it requires; errors are problem "
    "documents (RFC 9457) with the error codes of mysql-replicator."
)


def operations(made: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in made["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def _complete(path: str, method: str, operation: dict[str, Any]) -> None:
    name = operation["operationId"]
    rule = RULES.get(name)
    if rule is None or rule.role is None:
        operation["security"] = []
    else:
        operation["x-role"] = rule.role
    if method == "post" and not has_secret(name):
        operation.setdefault("parameters", []).append(_IDEMPOTENCY)
    for content in operation.get("requestBody", {}).get("content", {}).values():
        if name in examples.BODIES:
            content["example"] = examples.BODIES[name]
    responses = operation["responses"]
    if name in _DRY_RUN_WITHOUT_BODY:
        responses["204"] = {"description": "with dry_run: nothing was found to be wrong, and nothing was changed"}
    responses.pop("422", None)  # FastAPI's form, which is not that of our errors
    for answer in responses.values():
        for content in answer.get("content", {}).values():
            schema = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
            if schema in examples.ANSWERS:
                content["example"] = examples.ANSWERS[schema]
    for status, codes in sorted(_by_status(path, method, operation).items()):
        responses[str(status)] = _error(codes, status)
    responses["default"] = {"description": "another error", "content": {_PROBLEM: {"schema": _FAILURE}}}


def _by_status(path: str, method: str, operation: dict[str, Any]) -> dict[int, list[str]]:
    """The codes that each operation of its kind can answer with, and those that its description names."""
    codes = set(_CODE.findall(operation.get("description", "")))
    if operation.get("security") != []:
        codes |= {"E4001", "E5006", "E5072"}
        if operation.get("parameters") or "requestBody" in operation:
            codes.add("E1003")
    if path.startswith("/api/v1/tasks/{name}"):
        codes.add("E5003")
    if "requestBody" in operation:
        codes |= {"E1001", "E1002", "E1008"}
    if _IDEMPOTENCY in operation.get("parameters", ()):
        codes |= {"E5074", "E5075", "E5076"}
    found: dict[int, list[str]] = {}
    for code in sorted(codes):
        status = status_of_code(code)
        if status is not None and str(status) not in operation["responses"]:
            found.setdefault(status, []).append(code)
        if code == PRECONDITION and _has_if_match(operation):
            found.setdefault(412, []).append(code)
    return found


def _has_if_match(operation: dict[str, Any]) -> bool:
    return any(each["name"] == "if-match" for each in operation.get("parameters", ()))


def _error(codes: list[str], status: int) -> dict[str, Any]:
    shown = {code: {"value": problem(ReplicatorError(code, CODES[code].title), status)} for code in codes}
    text = "; ".join(f"{code}: {CODES[code].title}" for code in codes)
    return {"description": text, "content": {_PROBLEM: {"schema": _FAILURE, "examples": shown}}}


def _config_schemas() -> dict[str, Any]:
    made = TaskConfig.model_json_schema(ref_template="#/components/schemas/{model}")
    return {**made.pop("$defs"), "TaskConfig": made}
