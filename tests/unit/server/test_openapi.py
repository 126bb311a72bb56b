"""The OpenAPI document says what the API does."""

from __future__ import annotations

from typing import Any

import anyio
import httpx
import jsonschema
import pytest
from referencing import Registry
from referencing.jsonschema import DRAFT202012

from replicator.assembly.table_definitions import TableDefinitions
from server.access_control import MAX_BODY
from server.app import Access, create_app
from tests.support.api import TASK, TOKEN, World

NAME = "copy_hot_item"
GTID = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9"


@pytest.fixture
def document(world: World) -> dict[str, Any]:
    made: dict[str, Any] = world.http.get("/openapi.json").json()
    return made


def refs(node: Any) -> set[str]:
    if isinstance(node, dict):
        found = {node["$ref"]} if isinstance(node.get("$ref"), str) else set()
        return found.union(*map(refs, node.values()))
    return set().union(*map(refs, node)) if isinstance(node, list) else set()


def test_every_reference_resolves_and_every_operation_has_a_name(document: dict[str, Any]) -> None:
    names = [ref.removeprefix("#/components/schemas/") for ref in refs(document)]
    assert set(names) <= set(document["components"]["schemas"])
    operations = [operation["operationId"] for methods in document["paths"].values() for operation in methods.values()]
    assert len(operations) == len(set(operations))
    assert document["security"] == [{"token": []}, {"user": []}]


def test_answers_are_as_documented(world: World, document: dict[str, Any]) -> None:
    registry: Any = Registry().with_resource("urn:doc", DRAFT202012.create_resource(document))

    def check(answer: httpx.Response, path: str, method: str) -> None:
        responses = document["paths"][f"/api/v1{path}"][method]["responses"]
        described = responses.get(str(answer.status_code), responses["default"])
        schema = described["content"][answer.headers["content-type"]]["schema"]
        whole = {"$ref": "urn:doc" + schema["$ref"]}
        jsonschema.Draft202012Validator(whole, registry=registry).validate(answer.json())

    http = world.http
    check(http.post("/tasks", content=TASK), "/tasks", "post")
    world.core("host-a").stand(NAME, "running", position="binlog.000001:4")
    world.core("host-b").stand(NAME, "standby")
    refused = http.post("/tasks", content="name: [")
    assert "error" in refused.json()
    check(refused, "/tasks", "post")
    check(http.get("/tasks"), "/tasks", "get")
    check(http.get(f"/tasks/{NAME}"), "/tasks/{name}", "get")
    check(http.put(f"/tasks/{NAME}", content=TASK.replace("3306", "1")), "/tasks/{name}", "put")
    check(http.post(f"/tasks/{NAME}/switchover"), "/tasks/{name}/switchover", "post")
    check(http.get(f"/tasks/{NAME}/positions"), "/tasks/{name}/positions", "get")
    check(http.post(f"/tasks/{NAME}/position?dry_run=true", json={"gtid": GTID}), "/tasks/{name}/position", "post")
    check(http.post(f"/tasks/{NAME}/position", json={"gtid": GTID}), "/tasks/{name}/position", "post")
    check(http.post(f"/tasks/{NAME}/skip", json={"transaction": GTID}), "/tasks/{name}/skip", "post")
    check(http.post(f"/tasks/{NAME}/fork", json={"name": "second"}), "/tasks/{name}/fork", "post")
    check(http.get(f"/tasks/{NAME}/schema"), "/tasks/{name}/schema", "get")
    check(http.post(f"/tasks/{NAME}/schema", json={"statement": "x"}), "/tasks/{name}/schema", "post")
    check(http.post(f"/tasks/{NAME}/maintenance", json={"on": "true"}), "/tasks/{name}/maintenance", "post")
    check(http.post("/maintenance", json={"on": "true"}), "/maintenance", "post")
    check(http.get("/tasks?selector=env"), "/tasks", "get")
    check(http.get(f"/tasks/{NAME}/versions"), "/tasks/{name}/versions", "get")
    check(http.get(f"/tasks/{NAME}/versions/0"), "/tasks/{name}/versions/{number}", "get")
    check(http.get(f"/tasks/{NAME}/versions/99"), "/tasks/{name}/versions/{number}", "get")
    check(http.get(f"/tasks/{NAME}/diff?from=0&to=1"), "/tasks/{name}/diff", "get")
    check(http.post(f"/tasks/{NAME}/rollback", json={"to": "0"}), "/tasks/{name}/rollback", "post")
    check(http.post(f"/tasks/{NAME}/restart"), "/tasks/{name}/restart", "post")
    check(http.get(f"/tasks/{NAME}/check"), "/tasks/{name}/check", "get")
    check(http.post(f"/tasks/{NAME}/check"), "/tasks/{name}/check", "post")
    check(http.get(f"/tasks/{NAME}/history"), "/tasks/{name}/history", "get")
    check(http.post(f"/tasks/{NAME}/pause"), "/tasks/{name}/pause", "post")
    check(http.get("/machines"), "/machines", "get")
    check(http.get("/health"), "/health", "get")
    check(http.delete(f"/tasks/{NAME}?wait=0"), "/tasks/{name}", "delete")
    with pytest.raises(jsonschema.ValidationError):
        check(http.get(f"/tasks/{NAME}/history"), "/tasks/{name}", "get")


async def too_large(world: World, method: str, path: str) -> tuple[int, str]:
    """Without a socket, which may be reset before the answer is read."""
    app = create_app(world.bus.coordinator, world.bus.layout, Access(TOKEN), TableDefinitions)
    headers = {"authorization": f"Bearer {TOKEN}"}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://server", headers=headers) as http:
        answer = await http.request(method, path, content=b" " * (MAX_BODY + 1))
    return answer.status_code, answer.json()["error"]["code"]


def test_every_route_is_behind_the_token_and_the_limit(world: World, document: dict[str, Any]) -> None:
    stranger = {"authorization": "Bearer somebody"}
    for path, methods in document["paths"].items():
        here = path.removeprefix("/api/v1").replace("{name}", NAME)
        for method in methods:
            refused = world.http.request(method, here, headers=stranger)
            assert refused.status_code == (200 if here == "/health" else 401), (method, path)
            if method in ("post", "put"):
                refusal = anyio.run(too_large, world, method, path.replace("{name}", NAME))
                assert refusal == (413, "E1008"), (method, path)


def test_the_configuration_s_schema_is_in_it(document: dict[str, Any]) -> None:
    body = document["paths"]["/api/v1/tasks"]["post"]["requestBody"]["content"]
    assert body["application/yaml"]["schema"] == {"$ref": "#/components/schemas/TaskConfig"}
    assert document["components"]["schemas"]["TaskConfig"]["additionalProperties"] is False


def test_every_body_and_answer_has_a_valid_example(document: dict[str, Any]) -> None:
    registry: Any = Registry().with_resource("urn:doc", DRAFT202012.create_resource(document))

    def check(content: dict[str, Any], where: str) -> None:
        given = content.get("examples", {}).values()
        values = [content["example"]] if "example" in content else [one["value"] for one in given]
        assert values, f"{where} has no example"
        for value in values:
            schema = absolute(content["schema"])
            jsonschema.Draft202012Validator(schema, registry=registry).validate(value)

    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            contents = list(operation.get("requestBody", {}).get("content", {}).values())
            answers = [one for status, one in operation["responses"].items() if status != "default"]
            for content in [*contents, *(each for one in answers for each in one.get("content", {}).values())]:
                check(content, f"{method} {path}")


def absolute(node: Any) -> Any:
    if isinstance(node, dict):
        return {k: "urn:doc" + v if k == "$ref" and isinstance(v, str) else absolute(v) for k, v in node.items()}
    return [absolute(one) for one in node] if isinstance(node, list) else node


def test_errors_are_documented_by_code(document: dict[str, Any]) -> None:
    replace = document["paths"]["/api/v1/tasks/{name}"]["put"]
    content = "application/problem+json"
    codes = {
        status: list(one["content"][content].get("examples", {}))
        for status, one in replace["responses"].items()
        if status > "3"
    }
    assert codes["401"] == ["E5006"] and codes["403"] == ["E5072"] and codes["404"] == ["E5003"]
    assert codes["409"] == ["E1009", "E4006", "E4078"] and codes["503"] == ["E4001"] and codes["413"] == ["E1008"]
    assert codes["412"] == ["E4006"] and "412" in document["paths"]["/api/v1/users/{name}"]["delete"]["responses"]
    assert "412" not in document["paths"]["/api/v1/cutovers"]["post"]["responses"]
    assert "412" not in document["paths"]["/api/v1/tasks/{name}/maintenance"]["post"]["responses"]
    assert replace["x-role"] == "admin"
    health = document["paths"]["/api/v1/health"]["get"]
    assert health["security"] == [] and "x-role" not in health and "401" not in health["responses"]


def test_page_of_the_document_loads_nothing_from_elsewhere(world: World) -> None:
    url = world.bus.url
    page = world.http.get(f"{url}/docs")
    assert page.headers["content-type"].startswith("text/html")
    for name in ("docs.js", "docs.css"):
        assert f"/docs/{name}" in page.text
        assert world.http.get(f"{url}/docs/{name}").status_code == 200
    text = page.text + world.http.get(f"{url}/docs/docs.js").text
    assert "innerHTML" not in text and "://" not in text and "onclick" not in text and "style=" not in text
    assert world.http.get(f"{url}/docs/..%2Fapp.py").status_code == 404
    assert world.http.get(f"{url}/docs/docs.html").status_code == 404
