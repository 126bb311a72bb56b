"""Starting an HTTP process: addresses, a port in use, headers, a clean stop on SIGTERM."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import httpx
import pytest

from dev import plain_http
from replicator.errors import ProcessError
from replicator.telemetry.http import Address, bind, parse_listen

PROGRAM = """
import sys
from starlette.applications import Starlette
from starlette.responses import PlainTextResponse, StreamingResponse
from starlette.routing import Route
from replicator.telemetry.http import Listen, serve
import asyncio
over = False
def stop():
    global over
    over = True
async def endless():
    while not over:
        yield b"tick"
        await asyncio.sleep(0.05)
async def home(request):
    return PlainTextResponse("hello", headers={"X-Frame-Options": "SAMEORIGIN", "X-Client": request.client.host})
async def stream(request):
    return StreamingResponse(endless())
serve(Starlette(routes=[Route("/", home), Route("/stream", stream)]), Listen("127.0.0.1:0"), "probe",
      ready=lambda address: print(address.url, flush=True), stopping=stop)
print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:8080", ("127.0.0.1", 8080)),
        (":0", ("127.0.0.1", 0)),
        ("[::1]:9000", ("::1", 9000)),
        ("monitor.example:80", ("monitor.example", 80)),
    ],
)
def test_parse_listen(text: str, expected: tuple[str, int]) -> None:
    assert parse_listen(text)[:2] == expected


@pytest.mark.parametrize("text", ["", "8080", "host", "host:", "host:70000", "::1:80", "host:-1", "a:b:1"])
def test_parse_listen_refuses(text: str) -> None:
    with pytest.raises(ProcessError) as caught:
        parse_listen(text)
    assert caught.value.code == "E5012"


def test_url_of_a_wildcard_is_reachable() -> None:
    assert Address("0.0.0.0", 80).url == "http://127.0.0.1:80"
    assert Address("::", 80).url == "http://[::1]:80"


def test_port_in_use() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken, pytest.raises(ProcessError) as caught:
        bind(Address("127.0.0.1", taken.getsockname()[1]))
    assert caught.value.code == "E5001"


def test_address_of_another_machine() -> None:
    with pytest.raises(ProcessError) as caught:
        bind(Address("203.0.113.7", 0), insecure_http=True)
    assert caught.value.code == "E5012"


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_off_loopback_nothing_listens_unless_told_to(host: str) -> None:
    with pytest.raises(ProcessError) as caught:
        bind(Address(host, 0))
    assert caught.value.code == "E5021" and "--tls-certificate" in caught.value.fix
    bind(Address(host, 0, "https")).close()
    bind(Address(host, 0), insecure_http=True).close()


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.8.7", "localhost", "::1"])
def test_on_loopback_something_listens(host: str) -> None:
    bind(Address(host, 0)).close()


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_serves_with_security_headers_and_stops_cleanly(how: signal.Signals) -> None:
    with subprocess.Popen([sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            answer = plain_http.get(url, headers={"x-forwarded-for": "192.0.2.9"})
            assert (answer.text, answer.headers["x-client"]) == ("hello", "127.0.0.1")
            rebound = plain_http.get(url, headers={"host": "evil.example"})
            assert (rebound.status_code, rebound.headers["x-content-type-options"]) == (421, "nosniff")
            assert "script-src 'self'" in answer.headers["content-security-policy"]
            assert answer.headers["referrer-policy"] == "same-origin", "with no-referrer, forms have no Origin"
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers.get_list("x-frame-options") == ["SAMEORIGIN"]
            with httpx.stream("GET", url + "/stream", trust_env=False) as stream:
                next(stream.iter_bytes())
                process.send_signal(how)
                assert process.stdout.readline() == "stopped\n"
            assert process.wait(5) == 0
        finally:
            process.kill()
