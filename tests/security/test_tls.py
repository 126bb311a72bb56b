"""TLS of the HTTP server: certificates that change, key files, client certificates, versions, and what is spoken to the
wrong port."""

from __future__ import annotations

import contextlib
import datetime
import os
import shutil
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from dev.servers.authority import Authority
from replicator.cli.main import main
from replicator.errors import ProcessError
from replicator.telemetry.connection import Times
from replicator.telemetry.hosts import PEER_CERTIFICATE, warnings
from replicator.telemetry.listen import Limits, TlsFiles
from replicator.telemetry.server_certificate import ServerCertificate
from tests.support.api import serving


async def app(scope: Any, receive: Any, send: Any) -> None:
    peer = scope["state"].get(PEER_CERTIFICATE)
    text = f"{scope['scheme']} {dict(part[0] for part in peer['subject'])['commonName'] if peer else ''}\n"
    body = "\n".join([text, *warnings(scope)]).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % len(body))]})
    await send({"type": "http.response.body", "body": body})


class Tls:
    """The files of a listener, which are replaced in place."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.authority = Authority(folder, "first")
        self.files = TlsFiles(folder / "server.pem", folder / "server.key")
        self.put(self.authority)

    def put(self, authority: Authority, lasts: datetime.timedelta = datetime.timedelta(days=30)) -> None:
        for made, path in zip(authority.leaf("127.0.0.1", lasts), self.files[:2], strict=True):
            made.chmod(0o600)
            shutil.move(made, path)

    def trusting(self, authority: Authority | None = None) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str((authority or self.authority).ca))


@pytest.fixture
def tls(tmp_path: Path) -> Tls:
    return Tls(tmp_path)


@contextlib.contextmanager
def listening(tls: Tls, **files: Any) -> Iterator[tuple[str, ServerCertificate]]:
    certificate = ServerCertificate(tls.files._replace(**files))
    with serving(app, certificate=certificate) as url:
        yield url, certificate


def get(url: str, context: ssl.SSLContext) -> httpx.Response:
    return httpx.get(url, verify=context, trust_env=False, timeout=20)


def test_https_and_its_headers(tls: Tls) -> None:
    with listening(tls) as (url, _):
        answer = get(url, tls.trusting())
        assert answer.text.split() == ["https"] and url.startswith("https://")
        assert answer.headers["strict-transport-security"] == "max-age=31536000"
        old = tls.trusting()
        with pytest.warns(DeprecationWarning):
            old.minimum_version = old.maximum_version = ssl.TLSVersion.TLSv1_1
        with pytest.raises(httpx.ConnectError):
            get(url, old)


def test_a_changed_certificate_is_used_without_dropping_connections(tls: Tls, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    second = Authority(tmp_path / "second", "second")
    with listening(tls) as (url, certificate), httpx.Client(verify=tls.trusting(), trust_env=False) as open_before:
        assert open_before.get(url).is_success
        tls.put(second)
        certificate.look()
        assert get(url, tls.trusting()).is_success, "the files may not be complete yet"
        certificate.look()
        assert get(url, tls.trusting(second)).is_success
        with pytest.raises(httpx.ConnectError):
            get(url, tls.trusting())
        assert open_before.get(url).is_success, "the connection is still there"


def test_broken_files_leave_the_former_certificate(tls: Tls) -> None:
    with listening(tls) as (url, certificate):
        first, other = tls.files.certificate.read_bytes(), tls.authority.leaf("127.0.0.2")[0].read_bytes()
        for broken in (b"rubbish", b"", other, first):
            tls.files.certificate.write_bytes(broken)
            certificate.look()
            certificate.look()
            text = get(url, tls.trusting()).text
            assert ("can't be used" in text) is (broken != first) is bool(certificate.problem)
            assert str(tls.folder) not in text
        tls.files.key.chmod(0o644)
        tls.files.key.touch()
        certificate.look()
        certificate.look()
        assert "E5081" in certificate.problem and get(url, tls.trusting()).is_success
        tls.files.key.unlink()
        certificate.look()
        certificate.look()
        assert "E5080" in certificate.problem and get(url, tls.trusting()).is_success


def test_a_certificate_that_expires_soon(tls: Tls, capsys: pytest.CaptureFixture[str]) -> None:
    assert not ServerCertificate(tls.files).warnings()
    tls.put(tls.authority, datetime.timedelta(days=3))
    certificate = ServerCertificate(tls.files)
    certificate.look()
    certificate.look()
    assert ["expires in" in line for line in certificate.warnings()] == [True]
    logged = "".join(capsys.readouterr())  # which of the two depends on what has set up the log of the process
    assert logged.count("expires soon") == 1, "once a day"
    tls.put(tls.authority, datetime.timedelta(minutes=-1))
    assert ServerCertificate(tls.files).warnings() == ["the TLS certificate has expired"]


@pytest.mark.parametrize(
    ("mode", "code"), [(0o600, ""), (0o400, ""), (0o640, "E5081"), (0o604, "E5081"), (0o622, "E5081")]
)
def test_key_files_that_others_read_are_refused(tls: Tls, mode: int, code: str) -> None:
    tls.files.key.chmod(mode)
    if not code:
        ServerCertificate(tls.files)
        return
    with pytest.raises(ProcessError) as raised:
        ServerCertificate(tls.files)
    assert raised.value.code == code and "chmod 600" in raised.value.fix


@pytest.mark.parametrize("required", ["required", "wanted"])
def test_client_certificates(tls: Tls, tmp_path: Path, required: str) -> None:
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", "other")
    with listening(tls, client_ca=tls.authority.ca, client_certificates=required) as (url, _):
        mine = tls.trusting()
        mine.load_cert_chain(*map(str, tls.authority.leaf("127.0.0.9")))
        assert get(url, mine).text.split() == ["https", "first", "leaf"]
        foreign = tls.trusting()
        foreign.load_cert_chain(*map(str, other.leaf("127.0.0.9")))
        with pytest.raises(httpx.TransportError):
            get(url, foreign)
        if required == "wanted":
            assert get(url, tls.trusting()).text.split() == ["https"]
        else:
            with pytest.raises(httpx.TransportError):
                get(url, tls.trusting())


def test_handshakes_have_a_limit_of_time_and_number(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Times, "HANDSHAKE", 0.3)
    with serving(app, certificate=ServerCertificate(tls.files), limits=Limits(connections=2)) as url:
        address = ("127.0.0.1", int(url.rpartition(":")[2]))
        for _ in range(2):  # the second round shows that places are free again
            silent = [socket.create_connection(address, timeout=20) for _ in range(2)]
            with pytest.raises(httpx.TransportError):
                get(url, tls.trusting())
            for client in silent:
                with contextlib.suppress(ConnectionResetError):
                    assert client.recv(100) == b""
                client.close()
        with socket.create_connection(address, timeout=20) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
            with contextlib.suppress(ConnectionResetError):
                assert b"200" not in plain.recv(1000)
        assert get(url, tls.trusting()).is_success


@pytest.mark.parametrize(
    ("given", "named"),
    [
        (["--tls-key", "k"], "--tls-certificate"),
        (["--tls-certificate", "c"], "--tls-key"),
        (["--tls-client-ca", "a"], "--tls-certificate"),
        (["--tls-certificate", "c", "--tls-key", "k", "--tls-client-certificates", "wanted"], "--tls-client-ca"),
    ],
)
@pytest.mark.parametrize("process", ["server", "monitor"])
def test_options_that_belong_together(process: str, given: list[str], named: str) -> None:
    result = CliRunner().invoke(main, [process, "--zookeeper", "127.0.0.1:1", *given])
    assert result.exit_code == 2 and named in result.stderr


def test_root_may_own_keys_that_a_group_reads(tls: Tls, monkeypatch: pytest.MonkeyPatch) -> None:
    if tls.files.key.stat().st_uid != 0:
        pytest.skip("requires root")
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    tls.files.key.chmod(0o640)
    ServerCertificate(tls.files)
