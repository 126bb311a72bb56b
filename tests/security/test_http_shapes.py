"""Shapes of requests at the socket of the real HTTP server: smuggled, slow, large, too many, of another site."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.telemetry.connection import Times
from replicator.telemetry.listen import Limits
from server.access_control import limited
from tests.support.api import serving

HOST = b"Host: localhost\r\n"
GOOD = b"GET / HTTP/1.1\r\n" + HOST + b"\r\n"


class App:
    """Answers with the body that it has read, and notes the requests that reached it."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.gone = threading.Event()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.seen.append(scope["path"])
        if scope["path"] == "/ignore":
            body = b"ignored"
        else:
            body = b""
            more = True
            while more:
                message = await receive()
                if message["type"] == "http.disconnect":
                    self.gone.set()
                    return
                body += message["body"]
                more = message["more_body"]
        if scope["path"] == "/large":
            body = b"x" * 50_000_000
        status = 401 if scope["path"] == "/refused" else 200
        headers = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[App, str]]:
    app = App()
    with serving(app, free_logins=5) as url:
        yield app, url


@pytest.fixture
def app(served: tuple[App, str]) -> App:
    served[0].seen.clear()
    served[0].gone.clear()
    return served[0]


@pytest.fixture
def url(served: tuple[App, str]) -> str:
    return served[1]


def connected(url: str) -> socket.socket:
    host, _, port = url.partition("://")[2].partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def exchange(url: str, *parts: bytes) -> bytes:
    """All that the server answers until it closes the connection, or until nothing comes for a second."""
    with connected(url) as client:
        for part in parts:
            client.sendall(part)
        client.settimeout(1)
        return everything(client)


def everything(client: socket.socket) -> bytes:
    found = b""
    with contextlib.suppress(TimeoutError, ConnectionResetError):
        while data := client.recv(65536):
            found += data
    return found


def code(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]), json.loads(body)["error"]["code"]


CLOSE = b"Connection: close\r\n"
CHUNKED = b"Transfer-Encoding: chunked\r\n"
SMUGGLED = [
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\n" + CHUNKED + b"\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"Content-Length: 4\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 5\r\n\r\nabcde",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4\r\nContent-Length: 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 4, 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: +4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length : 4\r\n\r\nabcd",
    b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.1\r\n" + HOST + b"Transfer-Encoding:\x0bchunked\r\n\r\n0\r\n\r\n",
    b"POST / HTTP/1.0\r\n" + HOST + CHUNKED + b"\r\n0\r\n\r\n",
    b"GET / HTTP/1.1\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\nHost: localhost\n\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\nContent-Length: 4\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\rContent-Length: 4\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: a\r\n Content-Length: 4\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"X: \0\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b": x\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
    b"GET http://evil.example/ HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET  / HTTP/1.1\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1 \r\n" + HOST + b"\r\n",
    b"GET / HTTP/2.0\r\n" + HOST + b"\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"\r\n" + GOOD,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\n\n",
]


@pytest.mark.parametrize("request_", SMUGGLED)
def test_a_request_that_can_be_read_in_two_ways_is_refused(url: str, app: App, request_: bytes) -> None:
    answer = exchange(url, request_, GOOD)
    assert code(answer) == (400, "E5082")
    assert answer.count(b"HTTP/1.1 ") == 1 and b"connection: close" in answer and not app.seen


def test_what_is_valid_passes_in_any_pieces(url: str, app: App) -> None:
    chunked = b"POST /a HTTP/1.1\r\n" + HOST + CHUNKED + CLOSE + b"\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    for request_ in (chunked, b"POST /b HTTP/1.1\r\n" + HOST + CLOSE + b"Content-Length: 5\r\n\r\nabcde"):
        for pieces in ([request_], [request_[i : i + 1] for i in range(len(request_))]):
            answer = exchange(url, *pieces)
            assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"\r\n\r\nabcde"), answer
    with connected(url) as client:
        for _ in range(3):  # one connection for all
            client.sendall(GOOD)
            assert client.recv(65536).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    "first",
    [
        GOOD,
        b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\nab",
        b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\n2\r\nab\r\n0\r\n\r\n",
    ],
)
def test_what_follows_a_request_is_not_served(url: str, app: App, first: bytes) -> None:
    answer = exchange(url, first + b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n")
    assert answer.count(b"HTTP/1.1 200") == 1 and app.seen == ["/"]


IGNORED = b"POST /ignore HTTP/1.1\r\n" + HOST


def answered(client: socket.socket, request_: bytes, body: bytes) -> None:
    client.sendall(request_)
    found = b""
    while not found.endswith(b"\r\n\r\n" + body):
        more = client.recv(65536)
        assert more, found
        found += more
    assert found.startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (IGNORED + b"Content-Length: 5\r\n\r\nab", [b"cde"]),
        (IGNORED + b"Content-Length: 5\r\n\r\n", [b"a", b"bcd", b"e"]),
        (IGNORED + CHUNKED + b"\r\n2\r\nab", [b"\r\n3\r\ncd", b"e\r\n0\r", b"\n\r\n"]),
        (IGNORED + b"Content-Length: 900000\r\n\r\n", [b"x" * 450_000] * 2),
    ],
)
def test_the_rest_of_a_body_behind_its_answer_is_dropped(url: str, app: App, begin: bytes, rest: list[bytes]) -> None:
    """The client, which sends head and body apart, can use its connection again."""
    with connected(url) as client:
        for _ in range(2):
            answered(client, begin, b"ignored")
            for piece in rest:
                client.sendall(piece)
                time.sleep(0.02)
            answered(client, GOOD, b"")
    assert app.seen == ["/ignore", "/"] * 2


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (IGNORED + CHUNKED + b"\r\n2\r\nab", b"\r\nzz\r\nGET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"),
        (IGNORED + b"Content-Length: 9000000\r\n\r\n", b"x" * 9_000_000),
    ],
)
def test_more_than_the_rest_of_a_body_ends_the_connection(url: str, app: App, begin: bytes, rest: bytes) -> None:
    with connected(url) as client:
        answered(client, begin, b"ignored")
        with contextlib.suppress(OSError):
            client.sendall(rest)
        assert everything(client) == b""
    assert app.seen == ["/ignore"]


@pytest.mark.parametrize(
    ("begin", "rest"),
    [
        (IGNORED + b"Content-Length: 5\r\n\r\nab", b"cde"),
        (IGNORED + CHUNKED + b"\r\n2\r\nab", b"\r\n0\r\n\r\n"),
    ],
)
def test_a_request_right_behind_the_rest_is_one_like_any_other(url: str, app: App, begin: bytes, rest: bytes) -> None:
    with connected(url) as client:
        answered(client, begin, b"ignored")
        answered(client, rest + GOOD, b"")
        answered(client, begin, b"ignored")
        client.sendall(rest + b"GET / HTTP/1.1\nHost: localhost\n\n")
        assert code(everything(client)) == (400, "E5082")
    assert app.seen == ["/ignore", "/", "/ignore"]


def test_a_rest_that_does_not_come_ends_the_connection(url: str, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Times, "LINGER", 0.3)
    with connected(url) as client:
        answered(client, IGNORED + b"Content-Length: 5\r\n\r\nab", b"ignored")
        assert everything(client) == b"", "no second answer"


def test_a_body_that_is_not_framed_as_declared(url: str, app: App) -> None:
    assert code(exchange(url, b"POST / HTTP/1.1\r\n" + HOST + CHUNKED + b"\r\nzz\r\nab\r\n")) == (400, "E5082")
    assert app.gone.wait(10)


def test_large_heads(url: str, app: App) -> None:
    long = b"X-Long: " + b"x" * 33_000 + b"\r\n"
    many = b"".join(b"X-%d: x\r\n" % i for i in range(101))
    for request_ in (b"GET / HTTP/1.1\r\n" + HOST + long, b"GET / HTTP/1.1\r\n" + HOST + many + b"\r\n"):
        assert code(exchange(url, request_)) == (431, "E5082")
    assert not app.seen


def test_slow_heads_and_bodies(url: str, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    """What drips is cut off at a time that does not move."""
    monkeypatch.setattr(Times, "HEAD", 0.4)
    monkeypatch.setattr(Times, "BODY", 0.4)
    for head in (b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\n" + HOST + b"Content-Length: 1000\r\n\r\n"):
        with connected(url) as client:
            answers: list[bytes] = []
            reader = threading.Thread(target=lambda found=answers, to=client: found.append(everything(to)))
            client.sendall(head)
            reader.start()
            ends = time.monotonic() + 20
            while reader.is_alive() and time.monotonic() < ends:
                with contextlib.suppress(OSError):
                    client.sendall(b"x")
                time.sleep(0.05)
            assert not reader.is_alive()
            assert code(answers[0]) == (408, "E5083")
    with connected(url) as client:  # nothing at all: no answer either
        assert everything(client) == b""
    assert app.gone.wait(10), "the application hears that the rest never comes"


def test_clients_that_do_not_read(url: str, app: App, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Times, "WRITE", 0.3)
    with connected(url) as client:
        client.sendall(b"GET /large HTTP/1.1\r\n" + HOST + b"\r\n")
        time.sleep(1)
        with contextlib.suppress(ConnectionResetError):
            assert len(everything(client)) < 50_000_000


def test_idle_connections_make_place(app: App) -> None:
    with serving(app, limits=Limits(connections=3)) as url, contextlib.ExitStack() as stack:
        idle = []
        for _ in range(3):
            client = stack.enter_context(connected(url))
            client.sendall(GOOD)
            assert client.recv(65536).startswith(b"HTTP/1.1 200")
            idle.append(client)
        assert exchange(url, GOOD).startswith(b"HTTP/1.1 200")
        assert idle[0].recv(1) == b"", "the one that was idle longest"
        idle[2].sendall(GOOD)
        assert idle[2].recv(65536).startswith(b"HTTP/1.1 200")


def test_too_many_connections(app: App) -> None:
    with serving(app, limits=Limits(connections=3)) as url, contextlib.ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(connected(url)).sendall(b"GET")
        answer = exchange(url, GOOD)
        assert code(answer) == (503, "E5084") and b"retry-after" in answer


@pytest.mark.parametrize("host", [b"evil.example", b"192.0.2.7", b"localhost.evil.example"])
def test_dns_rebinding(url: str, app: App, host: bytes) -> None:
    answer = exchange(url, b"GET / HTTP/1.1\r\nHost: " + host + b"\r\n\r\n")
    assert code(answer) == (421, "E5020") and not app.seen


def test_a_page_of_another_site(url: str, app: App) -> None:
    page = b"Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\n"
    answer = exchange(url, b"POST / HTTP/1.1\r\n" + HOST + page + b"Content-Length: 0\r\n\r\n")
    assert code(answer) == (403, "E5020") and not app.seen


def test_failed_logins_are_slowed_down(url: str, app: App) -> None:
    def ask(path: bytes, secret: bytes) -> bytes:
        login = CLOSE + b"Authorization: Bearer " + secret + b"\r\n\r\n"
        return exchange(url, b"GET " + path + b" HTTP/1.1\r\n" + HOST + login)

    assert ask(b"/", b"right").startswith(b"HTTP/1.1 200")
    for _ in range(5):
        assert ask(b"/refused", b"wrong").startswith(b"HTTP/1.1 401")
    asked = len(app.seen)
    answer = ask(b"/refused", b"wrong")
    assert code(answer) == (429, "E5085") and b"retry-after: " in answer
    assert len(app.seen) == asked, "it is not even looked at"
    assert ask(b"/", b"right").startswith(b"HTTP/1.1 200"), "a login that was accepted is not locked out"


def test_half_of_a_body_is_not_a_request() -> None:
    """The client has gone: what it sent may be valid, and is not all that it wanted."""
    reached: list[Any] = []
    messages = iter([{"type": "http.request", "body": b"name: a\n", "more_body": True}, {"type": "http.disconnect"}])

    async def inner(scope: Any, receive: Any, send: Any) -> None:
        reached.append(scope)

    async def receive() -> Any:
        return next(messages)

    async def send(message: Any) -> None:
        reached.append(message)

    scope = {"type": "http", "headers": [(b"content-length", b"100")]}

    async def ask() -> None:
        await limited(inner, 1000)(scope, receive, send)

    asyncio.run(ask())
    assert not reached
