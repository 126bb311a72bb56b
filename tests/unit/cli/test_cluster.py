"""Identities on the command line, and processes that refuse an unprotected ZooKeeper."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import httpx
import pytest
from click.testing import CliRunner

from monitor.app import create_app
from replicator.cli.cluster.tree import IDENTITY
from replicator.cli.main import main
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Identity
from replicator.zookeeper.access import WARNING, of_environment
from server.warning_header import NAME, with_warnings


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Options go into the environment."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    before = dict(os.environ)
    yield
    os.environ.clear()
    os.environ.update(before)


@pytest.mark.parametrize(
    ("text", "identity"),
    [
        ("sasl:core", Identity("sasl", "core")),
        ("digest:core:aGFzaA==", Identity("digest", "core:aGFzaA==")),
        ("x509:CN=core,O=Bus", Identity("x509", "CN=core,O=Bus")),
    ],
)
def test_identities(text: str, identity: Identity) -> None:
    assert IDENTITY.convert(text, None, None) == identity
    assert str(identity) == text


@pytest.mark.parametrize("text", ["core", "sasl:", "digest:core", "world:anyone", "ip:10.0.0.1", ""])
def test_what_is_no_identity(text: str) -> None:
    with pytest.raises(click.BadParameter):
        IDENTITY.convert(text, None, None)


def test_the_identity_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "core.conf"
    path.touch(mode=0o600)
    path.write_text("login = digest\nuser = super\npassword = admin\n")
    wanted = Identity("digest", "super:xQJmxLMiHGwaqBvst5y6rkB6HQs=")
    assert IDENTITY.convert(f"@{path}", None, None) == wanted
    shown = CliRunner().invoke(main, ["cluster", "identities", "--of", str(path)])
    assert shown.output.strip() == str(wanted)


@pytest.mark.parametrize("process", ["core", "server", "monitor"])
def test_processes_refuse_a_zookeeper_without_protection(process: str) -> None:
    done = CliRunner().invoke(main, [process, "--zookeeper", "zk.invalid:2181"])
    assert done.exit_code != 0
    assert "E4034" in done.output and "no TLS, no login" in done.output


def test_options_go_where_the_process_finds_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: list[Any] = []
    monkeypatch.setattr("monitor.process.run", lambda *given: seen.append(of_environment()))
    (tmp_path / "secret").write_text("s3cret")
    (tmp_path / "secret").chmod(0o600)
    options = ["--zookeeper-login", "sasl", "--zookeeper-user", "m", "--zookeeper-ca", str(tmp_path / "ca.pem")]
    options += ["--zookeeper-password-file", str(tmp_path / "secret"), "--insecure-zookeeper"]
    done = CliRunner().invoke(main, ["monitor", "--zookeeper", "zk:2181", *options])
    assert done.exit_code == 0, done.output
    access = seen[0]
    assert (access.login, access.user, access.secret(), access.tls, access.insecure) == (
        "sasl",
        "m",
        "s3cret",
        True,
        True,
    )


def test_answers_of_a_server_without_protection_say_so() -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"a", b"b")]})

    async def ask(warnings: list[str]) -> list[Any]:
        sent: list[Any] = []

        async def send(message: Any) -> None:
            sent.append(message)

        await with_warnings(app, warnings)({"type": "http"}, None, send)  # type: ignore[arg-type]
        return list(sent[0]["headers"])

    assert asyncio.run(ask([])) == [(b"a", b"b")]
    assert asyncio.run(ask([WARNING])) == [(b"a", b"b"), (NAME.encode(), WARNING.encode())]


def test_dashboard_and_health_of_a_monitor_without_protection_say_so() -> None:
    app = create_app(MemoryEnsemble().session(), Layout("/r"), warnings=(WARNING,))

    async def ask(path: str) -> str:
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
            return (await client.get(path)).text

    assert WARNING in asyncio.run(ask("/healthz"))
    assert "WITHOUT TLS and login" in asyncio.run(ask("/"))
