"""Sealed secrets over the API: written, never read back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from replicator.config import cluster_keys
from replicator.config.sealed import Place, key_of, sealed_fields, unseal
from replicator.coordination.installation import installation_id
from tests.support.api import TASK, World
from tests.unit.server.test_tasks import NAME, code

SECRET = "hunter2-hunter2"


@pytest.fixture
def made(world: World) -> World:
    world.http.post("/tasks", content=TASK)
    return world


@pytest.fixture
def keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "keys"
    cluster_keys.add(file)
    monkeypatch.setenv(cluster_keys.VARIABLE, str(file))
    return file


def config(world: World, name: str = NAME) -> dict[str, Any]:
    found: dict[str, Any] = world.http.get(f"/tasks/{name}").json()["config"]
    return found


def seal(world: World, **more: str) -> Any:
    return world.http.post(f"/tasks/{NAME}/secrets", json={"field": "source.password", "secret": SECRET, **more})


def opened(world: World, file: Path, name: str = NAME) -> str:
    place = Place(installation_id(world.bus.coordinator, world.bus.layout), name, "source.password")
    return unseal(cluster_keys.read(file), config(world, name)["source"]["password"], place)


def test_it_is_sealed_and_not_shown(made: World, keys: Path) -> None:
    answer = seal(made, reason="rotated")
    assert answer.status_code == 200
    assert answer.json()["items"] == [
        {"field": "source.password", "source": f"sealed, key {cluster_keys.read(keys).sealing}"}
    ]
    assert opened(made, keys) == SECRET
    assert made.http.get(f"/tasks/{NAME}").json()["version"] == 1
    for path in (f"/tasks/{NAME}", f"/tasks/{NAME}/history", f"/tasks/{NAME}/versions/1", "/audit", "/tasks"):
        assert SECRET not in made.http.get(path).text, path


def test_a_server_without_a_key_says_how_to_get_one(made: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(cluster_keys.VARIABLE, raising=False)
    answer = seal(made)
    assert code(answer) == (422, "E1041") and "cluster new-key" in answer.text and SECRET not in answer.text


@pytest.mark.parametrize("field", ["source.user", "source", "", "sink.sasl.password", "source.tls.key", "no.where"])
def test_only_a_secret_of_the_task(made: World, keys: Path, field: str) -> None:
    answer = seal(made, field=field)
    assert (
        answer.status_code == 422 and answer.json()["error"]["code"] in ("E1044", "E1003") and SECRET not in answer.text
    )
    assert config(made)["source"]["password"] == "env:REPL_PASSWORD"


def test_an_old_version_is_not_overwritten(made: World, keys: Path) -> None:
    assert seal(made).status_code == 200
    answer = made.http.post(
        f"/tasks/{NAME}/secrets", json={"field": "source.password", "secret": "x"}, headers={"if-match": '"0"'}
    )
    assert code(answer) == (412, "E4006") and opened(made, keys) == SECRET


def test_a_new_key_seals_all_anew_and_again_nothing(made: World, keys: Path) -> None:
    seal(made)
    before = dict(sealed_fields(config(made)))
    new, _ = cluster_keys.add(keys)
    assert made.http.post(f"/tasks/{NAME}/secrets/renew", json={}).json()["fields"] == ["source.password"]
    after = dict(sealed_fields(config(made)))
    assert before.keys() == after.keys() and key_of(after["source.password"]) == new and opened(made, keys) == SECRET
    assert made.http.post(f"/tasks/{NAME}/secrets/renew", json={}).json()["fields"] == []
    assert made.http.get(f"/tasks/{NAME}").json()["version"] == 2


def test_a_fork_is_another_task_and_has_its_own(made: World, keys: Path) -> None:
    seal(made)
    made.http.post(f"/tasks/{NAME}/position", json={"begin": "latest"})
    assert made.http.post(f"/tasks/{NAME}/fork", json={"name": "second"}).status_code == 201
    assert opened(made, keys, "second") == SECRET
    assert config(made, "second")["source"]["password"] != config(made)["source"]["password"]
