"""Sealed secrets: they open at their own place alone, under a key that the host has."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.config import cluster_keys, sealed, secrets
from replicator.config.cluster_keys import ClusterKeys
from replicator.config.load import parse_task
from replicator.config.sealed import Place, key_of, number_of, resealed, seal, unseal, with_field, without_keys
from replicator.errors import ConfigError

OLD, NEW = ClusterKeys([b"o" * 32]), ClusterKeys([b"n" * 32, b"o" * 32])
HERE = Place("0b5c91d2e4f6", "orders", "source.password")
SOURCE: dict[str, Any] = {"type": "mysql", "user": "replicator", "password": "env:REPL_PASSWORD"}
TASK: dict[str, Any] = {"name": "orders", "source": SOURCE, "sink": {"type": "kafka", "bootstrap_servers": ["k:9092"]}}


@pytest.fixture(autouse=True)
def process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sealed, "_places", {})
    monkeypatch.setattr(secrets, "_first", {})
    monkeypatch.delenv(cluster_keys.VARIABLE, raising=False)


@given(st.text(max_size=200), st.text(max_size=20), st.text(max_size=20))
def test_it_opens_at_its_place(secret: str, task: str, field: str) -> None:
    place = Place("0b5c91d2e4f6", task, field)
    text = seal(OLD, secret, place)
    assert unseal(NEW, text, place) == secret and (secret not in text or len(secret) < 3)
    assert seal(OLD, secret, place) != text, "two alike can't be told to be so"


@pytest.mark.parametrize(
    "there",
    [HERE._replace(installation="3f0c9a1be27d"), HERE._replace(task="crm"), HERE._replace(field="sink.password"),
     Place("0b5c91d2e4f6", "orders.source", "password")],
)  # fmt: skip
def test_it_does_not_open_at_another_place(there: Place) -> None:
    with pytest.raises(ConfigError, match="E1040"):
        unseal(OLD, seal(OLD, "s3cret", HERE), there)


def test_what_was_changed_does_not_open() -> None:
    text = seal(OLD, "s3cret", HERE)
    head, number, body = text.rsplit(":", 2)
    other = seal(OLD, "s3cret", HERE)
    for bent in (
        f"{head}:{number_of(other)}:{body}",
        text[:-6] + ("AAAAAA" if text[-6:] != "AAAAAA" else "BBBBBB"),
        f"{head}:{number}:AAAA",
        f"{head}:{number}:A",
    ):
        with pytest.raises(ConfigError, match="E1040"):
            unseal(OLD, bent, HERE)


def test_a_key_that_is_not_here_is_named() -> None:
    text = seal(NEW, "s3cret", HERE)
    with pytest.raises(ConfigError, match="E1041") as raised:
        unseal(OLD, text, HERE)
    assert key_of(text) in str(raised.value) and OLD.sealing in raised.value.found and "s3cret" not in str(raised.value)


def test_a_new_key_keeps_the_number_and_another_place_does_not() -> None:
    text = seal(OLD, "s3cret", HERE)
    again = resealed(NEW, text, HERE)
    assert (unseal(NEW, again, HERE), key_of(again), number_of(again)) == ("s3cret", NEW.sealing, number_of(text))
    copy = resealed(NEW, text, HERE, HERE._replace(task="crm"))
    assert unseal(NEW, copy, HERE._replace(task="crm")) == "s3cret" and number_of(copy) != number_of(text)


def test_a_configuration_is_the_same_under_another_key_only() -> None:
    text = seal(OLD, "s3cret", HERE)
    config = with_field(TASK, "source.password", text)
    again = with_field(TASK, "source.password", resealed(NEW, text, HERE))
    other = with_field(TASK, "source.password", seal(OLD, "s3cret", HERE))
    assert without_keys(config) == without_keys(again) != without_keys(other)
    assert parse_task(config).name == "orders" and TASK["source"] is SOURCE


def test_a_process_opens_what_it_was_given_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys"
    cluster_keys.add(file)
    text = seal(cluster_keys.read(file), "s3cret", HERE)
    with pytest.raises(ConfigError, match="E1042"):
        secrets.resolve(text)
    sealed.bind(with_field(TASK, "source.password", text), HERE.installation)
    with pytest.raises(ConfigError, match="E1041"):
        secrets.resolve(text)
    monkeypatch.setenv(cluster_keys.VARIABLE, str(file))
    assert secrets.resolve(text) == "s3cret"


def test_a_copy_in_another_task_of_the_process_does_not_open_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "keys"
    cluster_keys.add(file)
    monkeypatch.setenv(cluster_keys.VARIABLE, str(file))
    text = seal(cluster_keys.read(file), "s3cret", HERE)
    sealed.bind(with_field({**TASK, "name": "thief"}, "source.password", text), HERE.installation)
    with pytest.raises(ConfigError, match="E1040"):
        secrets.resolve(text)


@pytest.mark.parametrize(
    "copy",
    [
        {"name": "orders", "source": {"password": "env:REPL_PASSWORD"}, "sink": {"sasl": {"password": "SEALED"}}},
        {"name": "thief", "source": {"password": "SEALED"}},
    ],
)
@pytest.mark.parametrize("owner_first", [True, False])
def test_a_copy_beside_the_original_does_not_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, copy: dict[str, Any], owner_first: bool
) -> None:
    file = tmp_path / "keys"
    cluster_keys.add(file)
    monkeypatch.setenv(cluster_keys.VARIABLE, str(file))
    text = seal(cluster_keys.read(file), "s3cret", HERE)
    owner = with_field(TASK, "source.password", text)
    thief = json.loads(json.dumps(copy).replace("SEALED", text))
    for data in (owner, thief) if owner_first else (thief, owner):
        sealed.bind(data, HERE.installation)
        sealed.bind(data, HERE.installation)  # a task that is started again
    with pytest.raises(ConfigError, match=r"E1040.*the same value in") as raised:
        secrets.resolve(text)
    assert "s3cret" not in str(raised.value)


def test_a_value_twice_in_one_configuration_does_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "keys"
    cluster_keys.add(file)
    monkeypatch.setenv(cluster_keys.VARIABLE, str(file))
    text = seal(cluster_keys.read(file), "s3cret", HERE)
    data = {"name": "orders", "source": {"password": text}, "sink": {"sasl": {"password": text}}}
    sealed.bind(data, HERE.installation)
    with pytest.raises(ConfigError, match="E1040"):
        secrets.resolve(text)


def test_key_files(tmp_path: Path) -> None:
    file = tmp_path / "below" / "keys"
    first, count = cluster_keys.add(file)
    assert count == 1 and stat.S_IMODE(file.stat().st_mode) == 0o600
    second, count = cluster_keys.add(file)
    keys = cluster_keys.read(file)
    assert (count, keys.sealing, list(keys.keys)) == (2, second, [second, first])
    file.chmod(0o640)
    with pytest.raises(ConfigError, match=r"E1043.*0640.*chmod 600"):
        cluster_keys.read(file)


@pytest.mark.parametrize("content", ["", "# nothing\n", "not base64!\n", "c2hvcnQ=\n"])
def test_files_without_a_key(tmp_path: Path, content: str) -> None:
    file = tmp_path / "keys"
    file.write_text(content)
    file.chmod(0o600)
    with pytest.raises(ConfigError, match="E1043") as raised:
        cluster_keys.read(file)
    assert content.strip() == "" or content.strip() not in str(raised.value)
    with pytest.raises(ConfigError, match="E1043"):
        cluster_keys.read(tmp_path / "none")


def test_secrets_that_change_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPL_ONE", "a")
    assert secrets.resolve("env:REPL_ONE") == "a" and not secrets.changed()
    monkeypatch.setenv("REPL_ONE", "b")
    assert secrets.changed()
    assert secrets.resolve("env:REPL_ONE") == "b" and secrets.changed(), "others may still have the first one"
    monkeypatch.delenv("REPL_ONE")
    assert not secrets.changed(), "none is no other one"
