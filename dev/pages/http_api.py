"""docs/api.md: the Server's HTTP API, from its OpenAPI document."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from dev.pages.markdown import row, table
from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from server.app import create_routes

_HEAD = """# HTTP API of the Server

Made from the Server's OpenAPI document by `make docs`; do not edit. The document itself is at
`GET /api/v1/openapi.json`.

The document is shown at `GET /docs`. Every request except `GET /api/v1/health` requires a login: `Authorization: Bearer
TOKEN`, or a user with HTTP Basic; [operations.md](operations.md#logins-and-roles)
describes roles and selectors. Responses are JSON. Times are milliseconds since 1970 (`_ms`) or seconds
(`_s`). Errors have the same form at every status, that of RFC 9457
(`application/problem+json`) with the members `error` and `errors`; [errors.md](errors.md) lists the codes:

```json
{"type": "urn:mysql-replicator:error:E5003", "title": "no such task", "status": 404, "detail": "E5003 process: ...",
 "error": {"code": "E5003", "what": "...", "found": "...", "wanted": "...", "fix": "...", "position": ""}, "errors": []}
```

```sh
API=http://127.0.0.1:8080/api/v1
curl -H "Authorization: Bearer $TOKEN" $API/tasks/copy_hot_item
curl -H "Authorization: Bearer $TOKEN" -H "content-type: application/yaml" --data-binary @shop.yaml $API/tasks
curl -H "Authorization: Bearer $TOKEN" -H "content-type: application/json" -d '{"reason": "new switches"}' \\
     $API/tasks/copy_hot_item/pause
```

Requests with `GET`, and `PUT` with `If-Match` (the `ETag` of the last response), may be repeated. So may `POST` with a
header `Idempotency-Key`, a new unique text for each request: within a day a repetition with the same key is not
executed, and gets the first answer again, from any Server, with `idempotency-replayed: true`. Another one with that key
is refused (E5074), and so is a repetition while the first request has no answer yet (E5075). Keys are not kept of
requests that nothing was executed of for lack of ZooKeeper (503, E4001). A request that has
the parameter `dry_run` changes nothing with `dry_run=true`, and some of them then answer 204 without a body; requests
without this parameter ignore it.
"""


def page() -> str:
    document = _document()
    parts = [_HEAD, "## Requests", "", *table("request", "what it does")]
    operations = list(_operations(document))
    parts += [row(f"[`{verb} {path}`](#{_anchor(verb, path)})", _first(one)) for verb, path, one in operations]
    for verb, path, one in operations:
        role = f" Requires the role {one['x-role']}." if "x-role" in one else ""
        parts += ["", f"### {verb} {path}", "", f"{one.get('description', '').strip()}{role}", *_details(one)]
    parts += ["", "## Responses"]
    for name, schema in sorted(document["components"]["schemas"].items()):
        if name in _answered(operations, document):
            parts += _schema(name, schema)
    return "\n".join(parts) + "\n"


def _document() -> dict[str, Any]:
    document: dict[str, Any] = create_routes(MemoryEnsemble().session(), Layout(), TableDefinitions).openapi()
    return document


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, verbs in document["paths"].items():
        for verb, operation in verbs.items():
            yield verb.upper(), path, operation


def _anchor(verb: str, path: str) -> str:
    kept = (c for c in f"{verb} {path}".lower() if c.isalnum() or c in " _-")
    return "".join(kept).replace(" ", "-")


def _first(operation: dict[str, Any]) -> str:
    return str(operation.get("description", "")).split(". ")[0].rstrip(".") + "."


def _details(operation: dict[str, Any]) -> Iterator[str]:
    parameters = [one for one in operation.get("parameters", ()) if one["in"] != "path"]
    fields = _fields(operation)
    if parameters or fields:
        yield ""
        yield from table("given as", "name", "type", "meaning")
    for one in parameters:
        yield row(one["in"], f"`{one['name']}`", _type(one["schema"]), one.get("description", ""))
    for name, schema in fields.items():
        yield row("body", f"`{name}`", _type(schema), schema.get("description", ""))
    yield ""
    yield from (_answer(status, one) for status, one in operation["responses"].items() if status != "default")


def _fields(operation: dict[str, Any]) -> dict[str, Any]:
    content = operation.get("requestBody", {}).get("content", {})
    for media, what in content.items():
        schema = what["schema"]
        if "$ref" in schema:
            return {f"the document ({', '.join(content)})": {"$ref": schema["$ref"]}}
        if schema.get("properties"):
            return dict(schema["properties"])
        return {media: schema}
    return {}


def _answer(status: str, response: dict[str, Any]) -> str:
    content: dict[str, Any] = response.get("content", {})
    if status >= "400":
        return f"- {status}: {response['description']}"
    schema = next((media["schema"] for media in content.values()), None)
    return f"- {status}: {_type(schema) if schema else 'no body'}"


def _answered(operations: list[tuple[str, str, dict[str, Any]]], document: dict[str, Any]) -> set[str]:
    """Names of the schemas that requests and answers use, with those inside them, without TaskConfig."""
    schemas, found = document["components"]["schemas"], set[str]()
    used = [(operation["responses"], operation.get("requestBody")) for _, _, operation in operations]
    waiting = [name for part in used for name in _references(list(part)) if name != "TaskConfig"]
    while waiting:
        name = waiting.pop()
        if name in found:
            continue
        found.add(name)
        waiting += _references(schemas[name])
    return found


def _references(node: Any) -> Iterator[str]:
    if isinstance(node, dict):
        if "$ref" in node:
            yield str(node["$ref"]).rpartition("/")[2]
        node = list(node.values())
    if isinstance(node, list):
        for one in node:
            yield from _references(one)


def _schema(name: str, schema: dict[str, Any]) -> Iterator[str]:
    yield from ("", f"### {name}", "")
    if schema.get("description"):
        yield from (" ".join(schema["description"].split()), "")
    yield from table("field", "type", "default")
    required = schema.get("required", ())
    for key, one in schema.get("properties", {}).items():
        yield row(f"`{key}`", _type(one), "" if key in required else f"`{json.dumps(one.get('default'))}`")


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return "[task configuration](configuration.md)" if name == "TaskConfig" else f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(map(_type, schema["anyOf"]))
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"map of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any"))
