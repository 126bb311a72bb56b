"""The command line over HTTPS: what it trusts, and what it says of a connection that fails."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dev.servers.authority import Authority
from replicator.cli import contexts
from replicator.cli.task.client import Client, find_token
from replicator.errors import ProcessError
from replicator.telemetry.listen import TlsFiles
from replicator.telemetry.server_certificate import ServerCertificate
from tests.support.api import serving

TOKEN = "x" * 40


async def app(scope: Any, receive: Any, send: Any) -> None:
    body = json.dumps({"apiVersion": "v1", "items": []}).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


@pytest.fixture(autouse=True)
def variables(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("REPLICATOR_CONFIG", str(tmp_path / "contexts.json"))
    monkeypatch.setenv(contexts.CONTEXT, "")
    for name in (contexts.CA_FILE, contexts.CERTIFICATE, contexts.KEY):
        monkeypatch.setenv(name, "")


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "own")


def files(authority: Authority, host: str = "127.0.0.1", days: float = 30.0, **more: Any) -> TlsFiles:
    certificate, key = authority.leaf(host, datetime.timedelta(days=days))
    key.chmod(0o600)
    return TlsFiles(certificate, key, **more)


def failure(url: str) -> ProcessError:
    with pytest.raises(ProcessError) as raised, Client(url, TOKEN) as client:
        client.tasks()
    assert TOKEN not in str(raised.value)
    return raised.value


@pytest.fixture
def https(authority: Authority) -> Iterator[str]:
    with serving(app, certificate=ServerCertificate(files(authority))) as url:
        yield url


def test_a_trusted_server(https: str, authority: Authority, monkeypatch: pytest.MonkeyPatch) -> None:
    assert failure(https).code == "E5086", "the system does not know its authority"
    monkeypatch.setenv(contexts.CA_FILE, str(authority.ca))
    with Client(https, TOKEN) as client:
        assert client.tasks()["items"] == []


@pytest.mark.parametrize(("host", "days", "code"), [("127.0.0.2", 30, "E5087"), ("127.0.0.1", -0.01, "E5088")])
def test_certificates_that_do_not_hold(
    authority: Authority, monkeypatch: pytest.MonkeyPatch, host: str, days: float, code: str
) -> None:
    monkeypatch.setenv(contexts.CA_FILE, str(authority.ca))
    with serving(app, certificate=ServerCertificate(files(authority, host, days))) as url:
        assert failure(url).code == code


def test_http_and_https_mixed_up(https: str) -> None:
    found = failure(https.replace("https", "http"))
    assert found.code == "E5089" and https in found.fix
    with serving(app) as plain:
        found = failure(plain.replace("http", "https"))
        assert found.code == "E5089" and plain in found.fix


def test_a_server_that_requires_certificates(
    authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(contexts.CA_FILE, str(authority.ca))
    given = files(authority, client_ca=authority.ca)
    with serving(app, certificate=ServerCertificate(given)) as url:
        refused = failure(url)
        assert refused.code in ("E5005", "E5086") and "--client-certificate" in refused.fix
        mine = files(authority, "127.0.0.9")
        monkeypatch.setenv(contexts.CERTIFICATE, str(mine.certificate))
        monkeypatch.setenv(contexts.KEY, str(mine.key))
        with Client(url, TOKEN) as client:
            assert client.tasks()["items"] == []


def test_authority_and_certificate_of_a_context_are_for_its_server_alone(authority: Authority) -> None:
    mine = files(authority, "127.0.0.9")
    given = files(authority, client_ca=authority.ca)
    with (
        serving(app, certificate=ServerCertificate(given)) as url,
        serving(app, certificate=ServerCertificate(files(authority))) as other,
    ):
        context = contexts.Context(url, "", str(authority.ca), str(mine.certificate), str(mine.key))
        contexts.save(contexts.Contexts("own", {"own": context}))
        with Client(url, find_token(None, url)) as client:
            assert client.tasks()["items"] == [], "the certificate is the login"
        assert failure(other).code == "E5086"


def test_files_that_can_not_be_used(authority: Authority, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("MARKER")
    rubbish.chmod(0o600)
    mine = files(authority, "127.0.0.9")
    mine.key.chmod(0o644)
    for given, code in (
        ({contexts.CA_FILE: tmp_path / "no.pem"}, "E5080"),
        ({contexts.CA_FILE: rubbish}, "E5080"),
        ({contexts.CERTIFICATE: rubbish}, "E5080"),
        ({contexts.KEY: mine.key}, "E5080"),
        ({contexts.CERTIFICATE: mine.certificate, contexts.KEY: mine.key}, "E5081"),
        ({contexts.CERTIFICATE: mine.certificate, contexts.KEY: rubbish}, "E5080"),
    ):
        with monkeypatch.context() as patch:
            for name, path in given.items():
                patch.setenv(name, str(path))
            found = failure("https://127.0.0.1:1")
            assert found.code == code and "MARKER" not in str(found), given
