"""Sealed secrets over the API: written, never read back."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from replicator.backup.archive import Backup
from replicator.backup.restore import Restore
from replicator.backup.tree_backup import back_up
from replicator.config import cluster_keys
from replicator.config.sealed import Place, key_of, sealed_fields, unseal
from replicator.coordination.installation import installation_id
from replicator.coordination.layout import Layout
from replicator.coordination.tasks.registry import Registry
from replicator.errors import ConfigError, ProcessError
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
    wanted = {"field": "source.password", "secret": SECRET, **more}
    return world.http.post(f"/tasks/{NAME}/secrets", json=wanted)


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


def without(file: Path, id_: str) -> None:
    """The key is retired."""
    keys = cluster_keys.read(file)
    others = [base64.b64encode(key).decode() for key in keys.keys.values() if cluster_keys.id_of(key) != id_]
    file.write_text("\n".join(others) + "\n")
    assert id_ not in cluster_keys.read(file).keys


def rollback(world: World, to: int, **more: Any) -> Any:
    return world.http.post(f"/tasks/{NAME}/rollback", json={"to": str(to)}, **more)


def test_a_rollback_to_a_secret_that_was_only_sealed_again_keeps_the_present_one(made: World, keys: Path) -> None:
    seal(made)
    old = cluster_keys.read(keys).sealing
    new, _ = cluster_keys.add(keys)
    assert made.http.post(f"/tasks/{NAME}/secrets/renew", json={}).status_code == 200
    assert made.http.put(f"/tasks/{NAME}", json=config(made) | {"labels": {"a": "b"}}).status_code == 200
    without(keys, old)
    answer = rollback(made, 1)
    assert answer.status_code == 200 and "password" not in answer.json()["diff"] and SECRET not in answer.text
    assert key_of(config(made)["source"]["password"]) == new and opened(made, keys) == SECRET


def test_a_rollback_to_a_former_secret_seals_it_under_the_present_key(made: World, keys: Path) -> None:
    seal(made)
    new, _ = cluster_keys.add(keys)
    assert seal(made, secret="another-secret").status_code == 200
    assert rollback(made, 1, params={"dry_run": "true"}).status_code == 200
    assert rollback(made, 1).status_code == 200
    assert opened(made, keys) == SECRET and key_of(config(made)["source"]["password"]) == new


def test_a_rollback_to_a_secret_of_a_retired_key_is_refused(made: World, keys: Path) -> None:
    seal(made)
    old = cluster_keys.read(keys).sealing
    cluster_keys.add(keys)
    assert seal(made, secret="another-secret").status_code == 200
    without(keys, old)
    for params in ({}, {"dry_run": "true"}):
        assert code(rollback(made, 1, params=params)) == (422, "E1041")
    assert opened(made, keys) == "another-secret" and made.http.get(f"/tasks/{NAME}").json()["version"] == 2
    assert rollback(made, 0).status_code == 200, "a version without sealed secrets"


def test_a_rollback_on_a_server_without_keys(made: World, keys: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seal(made)
    text = config(made)["source"]["password"]
    assert rollback(made, 0).status_code == 200
    monkeypatch.delenv(cluster_keys.VARIABLE)
    assert rollback(made, 1).status_code == 200 and config(made)["source"]["password"] == text


def test_a_sealed_secret_opens_in_its_installation_alone(made: World, keys: Path, tmp_path: Path) -> None:
    seal(made)
    zk, old, new = made.bus.coordinator, made.bus.layout, Layout("/restored")
    back_up(zk, old, tmp_path / "backup")
    with Backup(tmp_path / "backup") as backup:
        Restore(zk, new, backup, "me").run(())
    held = Registry(zk, new).read(NAME).record.config
    assert held is not None
    text, place = held["source"]["password"], Place(installation_id(zk, new), NAME, "source.password")
    assert unseal(cluster_keys.read(keys), text, place) == SECRET, "an empty root becomes the same installation"
    other = Layout("/other")
    assert installation_id(zk, other) != installation_id(zk, old)
    with pytest.raises(ConfigError, match="E1040") as raised:
        unseal(cluster_keys.read(keys), text, place._replace(installation=installation_id(zk, other)))
    assert SECRET not in str(raised.value) and text not in str(raised.value)
    with Backup(tmp_path / "backup") as backup, pytest.raises(ProcessError, match="E5104"):
        Registry(zk, other).create("x", {"name": "x"}, "me")
        Restore(zk, other, backup, "me").run(())
