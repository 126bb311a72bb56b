"""Requests to allowed addresses: redirections, names in certificates, several addresses of a name."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest

from dev.servers.authority import Authority
from replicator.errors import ConfigError
from replicator.host import access
from replicator.net.http_transport import CheckedTransport
from tests.unit.net.test_connections import resolver


class Web:
    """Answers `/to/URL` with a redirection there, anything else with the Host header that it got."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.hosts: list[str] = []
        web = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                web.hosts.append(self.headers["Host"])
                self.send_response(302 if self.path.startswith("/to/") else 200)
                if self.path.startswith("/to/"):
                    self.send_header("location", self.path.removeprefix("/to/"))
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: object) -> None:
                return

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        if tls is not None:
            self.server.socket = tls.wrap_socket(self.server.socket, server_side=True)
        self.port: int = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()


@pytest.fixture
def web() -> Iterator[Web]:
    made = Web()
    yield made
    made.server.shutdown()
    made.server.server_close()


def client(verify: ssl.SSLContext | None = None) -> httpx.Client:
    return httpx.Client(
        transport=CheckedTransport(verify or ssl.create_default_context()), trust_env=False, follow_redirects=True
    )


def test_the_name_of_the_url_is_kept(monkeypatch: pytest.MonkeyPatch, web: Web) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, "127.0.0.0/8 ::1")
    resolver(monkeypatch, ["::1", "127.0.0.1"])
    with client() as http:
        assert http.get(f"http://schemas.example.com:{web.port}/").status_code == 200
    assert web.hosts == [f"schemas.example.com:{web.port}"]


@pytest.mark.parametrize("target", ["http://169.254.169.254/latest/", "http://[::1]:1/", "http://0xa9fea9fe/"])
def test_a_redirection_elsewhere_is_refused(monkeypatch: pytest.MonkeyPatch, web: Web, target: str) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, f"127.0.0.1:{web.port}")
    with client() as http, pytest.raises(ConfigError) as refused:
        http.get(f"http://127.0.0.1:{web.port}/to/{target}")
    assert refused.value.code == "E1050"
    assert len(web.hosts) == 1


def test_the_list_is_read_for_each_request(monkeypatch: pytest.MonkeyPatch, web: Web) -> None:
    """A connection that was kept is no exception."""
    with client() as http:
        http.get(f"http://127.0.0.1:{web.port}/")
        monkeypatch.setenv(access.ALLOW_OUTGOING, "127.0.0.1")
        http.get(f"http://127.0.0.1:{web.port}/")
        monkeypatch.setenv(access.ALLOW_OUTGOING, "10.0.0.0/8")
        with pytest.raises(ConfigError):
            http.get(f"http://127.0.0.1:{web.port}/")
    assert len(web.hosts) == 2


def test_the_certificate_has_to_carry_the_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ca")
    served = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    served.load_cert_chain(*authority.leaf("schemas.example.com"))
    web = Web(served)
    monkeypatch.setenv(access.ALLOW_OUTGOING, "127.0.0.1")
    resolver(monkeypatch, ["127.0.0.1"])
    with client(ssl.create_default_context(cafile=str(authority.ca))) as http:
        assert http.get(f"https://schemas.example.com:{web.port}/").status_code == 200
        with pytest.raises(httpx.ConnectError):
            http.get(f"https://other.example.com:{web.port}/")
    web.server.shutdown()
    web.server.server_close()


def test_a_name_that_does_not_exist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(access.ALLOW_OUTGOING, "10.0.0.0/8")

    def look_up(*_: object, **__: object) -> None:
        raise OSError("unknown")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    with client() as http, pytest.raises(httpx.ConnectError):
        http.get("http://nowhere.example.com/")
