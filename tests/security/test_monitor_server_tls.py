"""The Monitor's connection to the Server over TLS: it verifies the certificate before it sends a login."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from dev.servers.authority import Authority
from monitor.server_api import Answer, ServerApi
from replicator.assembly.table_definitions import TableDefinitions
from replicator.cli.task import client_tls
from replicator.telemetry.listen import TlsFiles
from replicator.telemetry.server_certificate import ServerCertificate
from server.app import Access, create_app
from tests.support.api import TOKEN, serving
from tests.unit.monitor.scene import Bus


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "own")


@pytest.fixture
def server(authority: Authority) -> Iterator[str]:
    certificate, key = authority.leaf("127.0.0.1")
    key.chmod(0o600)
    bus = Bus()
    app = create_app(bus.session(), bus.layout, Access(TOKEN), TableDefinitions)
    with serving(app, certificate=ServerCertificate(TlsFiles(certificate, key))) as url:
        yield url


def asked(server: str) -> Answer:
    api = ServerApi(server, client_tls.context(server), seconds=5.0)
    try:
        return asyncio.run(api.ask("GET", "/login", authorization=f"Bearer {TOKEN}", address="192.0.2.1"))
    finally:
        api.close()


def test_a_certificate_of_the_authority(server: str, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATOR_CA_FILE", str(authority.ca))
    answer = asked(server)
    assert (answer.status, answer.error) == (200, {}) and answer.content["label"] == "token:server"


def test_an_authority_that_is_not_trusted(server: str) -> None:
    assert asked(server).error["code"] == "E5086"


def test_another_name(server: str, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REPLICATOR_CA_FILE", str(authority.ca))
    assert asked(server.replace("127.0.0.1", "localhost")).error["code"] == "E5087"


def test_a_server_without_tls(authority: Authority) -> None:
    bus = Bus()
    app = create_app(bus.session(), bus.layout, Access(TOKEN), TableDefinitions)
    with serving(app) as url:
        answer = asked(url.replace("http://", "https://"))
    assert answer.error["code"] in ("E5005", "E5089") and not answer.unknown  # it may close the connection
