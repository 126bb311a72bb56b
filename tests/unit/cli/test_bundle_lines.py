"""Log lines of all processes in a support bundle, from ZooKeeper and from a Server."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from replicator.cli.bundle.archive import BundleFile
from replicator.cli.bundle.log_lines import MOST_PROCESSES, add_log_lines
from replicator.cli.bundle.parts import ProcessLine
from replicator.coordination.logs.answers import LogAnswers
from replicator.errors import ProcessError
from replicator.telemetry.log import get_logger
from replicator.zookeeper.log_service import LogService
from tests.support.api import TASK, World
from tests.unit.cli.conftest import Cli

SECRET = "hunter2-MARKER"


class Lines:
    """`Parts`, as far as it is asked here. `silent`: ids that do not answer."""

    def __init__(self, online: Sequence[ProcessLine], silent: Sequence[str] = (), error: bool = False) -> None:
        self._online, self._silent, self._error = list(online), silent, error
        self.asked: list[int] = []

    def processes(self) -> list[ProcessLine]:
        return self._online

    def lines(self, ids: Sequence[str]) -> dict[str, str]:
        self.asked.append(len(ids))
        if self._error:
            raise ProcessError("E5072", "viewer may not do this")
        return {each: f"line of {each}\npassword={SECRET}\n" for each in ids if each not in self._silent}


def bundled(lines: Any, tmp_path: Path, hosts: Sequence[str] = (), histories: Sequence[Any] = ()) -> dict[str, str]:
    bundle = BundleFile()
    add_log_lines(bundle, lines, hosts, histories)
    bundle.write(tmp_path / "b.zip", "head")
    with zipfile.ZipFile(tmp_path / "b.zip") as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_lines_and_who_is_away(tmp_path: Path) -> None:
    online = [
        ProcessLine("core", "a/b", 1, "1"),
        ProcessLine("core", "a/b~12ab", 2, "2"),
        ProcessLine("monitor", "m", 3, "3"),
        ProcessLine("core", "odd", 4, ""),
    ]
    histories = [[{"record": {"host": "gone", "kind": "running"}}, {"record": {"host": "a/b"}}], [{"host": "b2~0000"}]]
    texts = bundled(Lines(online, silent=["3"]), tmp_path, histories=histories)
    assert {name for name in texts if name.startswith("logs")} == {
        "logs/core-a%2Fb-1.log",
        "logs/core-a%2Fb~12ab-2.log",
    } or (
        {name for name in texts if name.startswith("logs")} == {"logs/core-a%2Fb-1.log", "logs/core-a%2Fb%7E12ab-2.log"}
    )
    readme = texts["README.txt"]
    assert "line of 1" in texts["logs/core-a%2Fb-1.log"] and SECRET not in "".join(texts.values())
    for away in (
        "logs of gone:",
        "logs of b2:",
        "monitor on m, pid 3, has not sent",
        "core on odd, pid 4, has not sent",
    ):
        assert away in readme, readme
    assert "logs of a/b:" not in readme


def test_only_hosts_that_are_named(tmp_path: Path) -> None:
    online = [ProcessLine("core", "a", 1, "1"), ProcessLine("core", "b", 2, "2"), ProcessLine("server", "a", 3, "3")]
    texts = bundled(Lines(online), tmp_path, hosts=["a", "c"], histories=[[{"host": "gone"}]])
    assert {name for name in texts if name.startswith("logs")} == {"logs/core-a-1.log", "logs/server-a-3.log"}
    assert "logs of c:" in texts["README.txt"] and "gone" not in texts["README.txt"]


def test_the_number_is_bounded_and_a_refusal_is_noted_once(tmp_path: Path) -> None:
    online = [ProcessLine("core", f"h{number}", number, str(number)) for number in range(MOST_PROCESSES + 3)]
    lines = Lines(online)
    texts = bundled(lines, tmp_path)
    assert sum(name.startswith("logs/") for name in texts) == MOST_PROCESSES and sum(lines.asked) == MOST_PROCESSES
    assert texts["README.txt"].count("give --host") == 3
    refusing = Lines(online, error=True)
    readme = bundled(refusing, tmp_path)["README.txt"]
    assert len(refusing.asked) == 1 and readme.count("E5072") == 1


@pytest.fixture
def lived(world: World) -> Iterator[World]:
    """A task, and a Core that answers."""
    assert world.http.post("/tasks", content=TASK).status_code == 201
    core = world.core("host-a").stand("copy_hot_item", "running")
    answers = LogAnswers(core.coordinator, world.bus.layout, lambda: core.guid, lambda: f"password={SECRET}\n".encode())
    service = LogService(core.coordinator, answers, get_logger("test")).start()
    yield world
    service.stop()


def made(cli: Cli, tmp_path: Path, *arguments: str) -> dict[str, str]:
    path = tmp_path / "server.zip"
    done = cli("bundle", "--via-server", "--file", str(path), *arguments)
    assert done.exit_code == 0, done.stderr
    with zipfile.ZipFile(path) as file:
        return {name: file.read(name).decode() for name in file.namelist()}


def test_a_bundle_of_a_server_has_what_the_login_may_see(
    cli: Cli, lived: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = made(cli, tmp_path)
    folder = "tasks/copy_hot_item"
    assert {
        f"{folder}/configuration.json",
        f"{folder}/history.json",
        "machines.json",
        "logs/core-host-a-42.log",
    } <= set(texts)
    assert "password=***" in texts["logs/core-host-a-42.log"] and SECRET not in "".join(texts.values())
    assert '"env:REPL_PASSWORD"' in texts[f"{folder}/configuration.json"]

    def login(role: str, selector: str = "") -> None:
        wanted = {"name": f"{role}{len(selector)}", "role": role, "selector": selector}
        secret = lived.http.post("/tokens", json=wanted).json()["token"]["secret"]
        monkeypatch.setenv("REPLICATOR_TOKEN", secret)

    login("viewer")
    texts = made(cli, tmp_path)
    assert f"{folder}/history.json" in texts and "logs: E5072" in texts["README.txt"]
    assert not [name for name in texts if name.startswith("logs/")]
    login("operator", "env=prod")
    texts = made(cli, tmp_path, "copy_hot_item")
    assert not [name for name in texts if name.startswith(("logs/", "tasks/"))], "it has no label"
    assert "E5003" in texts["README.txt"]
    login("operator")
    assert "logs/core-host-a-42.log" in made(cli, tmp_path)
    monkeypatch.setenv("REPLICATOR_TOKEN", "wrong")
    assert "E5006" in made(cli, tmp_path)["README.txt"]


def test_it_needs_one_of_the_two(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("REPLICATOR_ZOOKEEPER", raising=False)
    done = cli("bundle")
    assert done.exit_code == 2 and "--via-server" in done.stderr
