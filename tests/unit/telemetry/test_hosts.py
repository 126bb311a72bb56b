"""Who may ask, decided from headers alone."""

from __future__ import annotations

import socket

import pytest

from replicator.errors import ProcessError
from replicator.telemetry import hosts

LOOPBACK = hosts.names("127.0.0.1", "127.0.0.1", ["bus.example"])
WILDCARD = hosts.names("0.0.0.0", "0.0.0.0", ["Bus.Example."])
NAMED = hosts.names("core1", "192.0.2.7")


def status(own: hosts.Names, *headers: tuple[str, str], method: str = "GET") -> int:
    refused = hosts.refusal(method, [(name.encode(), value.encode()) for name, value in headers], own)
    return refused[0] if refused else 200


@pytest.mark.parametrize(
    ("host", "loopback", "wildcard"),
    [
        ("localhost", 200, 200),
        ("localhost:8081", 200, 200),
        ("LocalHost.", 200, 200),
        ("127.0.0.1:8081", 200, 200),
        ("127.1.2.3", 200, 200),
        ("[::1]:8081", 200, 200),
        ("[::ffff:127.0.0.1]", 200, 200),
        ("bus.example", 200, 200),
        ("BUS.example:443", 200, 200),
        ("192.0.2.7:8081", 421, 200),
        ("[2001:db8::1]", 421, 200),
        ("evil.example", 421, 421),
        ("bus.example.evil.example", 421, 421),
        ("localhost.evil.example", 421, 421),
        ("2130706433", 421, 421),
        ("127.1", 421, 421),
        ("0x7f000001", 421, 421),
        ("localhost:8081:1", 421, 421),
        ("localhost@evil.example", 421, 421),
        ("evil.example@localhost", 421, 421),
        ("localhost/", 421, 421),
        ("localhost, evil.example", 421, 421),
        (" localhost", 421, 421),
        ("[::1", 421, 421),
        ("::1", 421, 421),
        ("", 421, 421),
        (":80", 421, 421),
    ],
)
def test_host(host: str, loopback: int, wildcard: int) -> None:
    assert (status(LOOPBACK, ("host", host)), status(WILDCARD, ("host", host))) == (loopback, wildcard)


def test_no_host_and_two_hosts() -> None:
    assert status(LOOPBACK) == 421
    assert status(LOOPBACK, ("host", "localhost"), ("host", "localhost")) == 421
    assert status(LOOPBACK, ("host", "localhost"), ("Host", "evil.example")) == 421


def test_the_name_that_we_listen_on_and_the_machines_own() -> None:
    assert status(NAMED, ("host", "core1:80")) == 200
    own = socket.gethostname().lower()
    assert status(WILDCARD, ("host", own)) == 200
    assert status(LOOPBACK, ("host", f"{own}.example")) == 421


def test_pages_of_somebody_else_may_look_and_change_nothing() -> None:
    """Looking is what a link does; what it answers the page does not get to see (no CORS)."""
    host = ("host", "localhost:80")
    foreign = [("origin", "http://evil.example"), ("origin", "null"), ("sec-fetch-site", "cross-site")]
    for header in foreign:
        assert status(LOOPBACK, host, header) == 200
        for method in ("POST", "PUT", "DELETE", "PATCH", "BREW"):
            assert status(LOOPBACK, host, header, method=method) == 403
    for header in (("origin", "http://localhost:80"), ("origin", "https://bus.example"), ("sec-fetch-site", "none")):
        assert status(LOOPBACK, host, header, method="POST") == 200
    assert status(LOOPBACK, host, ("origin", "http://localhost:80"), foreign[0], method="POST") == 403
    assert status(LOOPBACK, host, method="POST") == 200, "not a browser"


@pytest.mark.parametrize("name", ["", "a b", "http://bus", "*", "a,b"])
def test_an_allowed_host_is_a_name(name: str) -> None:
    with pytest.raises(ProcessError, match="--allowed-host"):
        hosts.names("0.0.0.0", "0.0.0.0", [name])
