"""What the registry's client makes of answers that a registry in good order does not give (that one is in
tests/integration/test_avro.py)."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar

import pytest

from replicator.config.avro import SchemaRegistry
from replicator.encode.avro.registry import Registry
from replicator.errors import ConfigError, ReplicatorError

BUSY = "http://127.0.0.1:9"


class Answers(BaseHTTPRequestHandler):
    """Answers with what stands for the path; asks for ann's password."""

    known: ClassVar[dict[str, tuple[int, Any]]] = {}
    asked: ClassVar[list[tuple[str, str, Any]]] = []

    def do_POST(self) -> None:
        size = int(self.headers.get("Content-Length") or 0)
        self.asked.append((self.command, self.path, json.loads(self.rfile.read(size)) if size else None))
        status, body = self.known.get(self.path, (404, "no such page"))
        if self.headers["Authorization"] != "Basic YW5uOnNlY3JldA==":
            status, body = 401, {"error_code": 401, "message": "Unauthorized"}
        text = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        if status == 302:
            self.send_header("Location", f"http://localhost:{self.headers['Host'].rpartition(':')[2]}/other")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST  # noqa: N815 as the base class names it

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        return


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setenv("REGISTRY_PASSWORD", "secret")
    Answers.known.clear()
    Answers.asked.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answers)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def client(*urls: str, user: str = "ann", **options: Any) -> Registry:
    account = {"user": user, "password": "env:REGISTRY_PASSWORD"}
    return Registry(SchemaRegistry.model_validate({"url": list(urls), "timeout_s": 2, **account, **options}))


def anonymous(*urls: str, **options: Any) -> Registry:
    return Registry(SchemaRegistry.model_validate({"url": list(urls), "timeout_s": 2, **options}))


def refused(registry: Registry) -> ReplicatorError:
    with pytest.raises(ReplicatorError) as error:
        registry.id("t-value", '"int"')
    registry.close()
    return error.value


def test_a_schema_is_asked_for_once(url: str) -> None:
    Answers.known["/subjects/t-value/versions"] = (200, {"id": 7})
    registry = client(url + "/")
    assert [registry.id("t-value", '"int"') for _ in range(3)] == [7, 7, 7]
    assert Answers.asked == [("POST", "/subjects/t-value/versions", {"schema": '"int"'})]
    registry.close()


def test_the_next_server_answers_where_one_does_not(url: str) -> None:
    Answers.known["/b/subjects/t-value/versions"] = (200, {"id": 7})
    Answers.known["/a/subjects/t-value/versions"] = (503, {"error_code": 50003, "message": "no leader"})
    registry = client(BUSY, f"{url}/a", f"{url}/b")
    assert registry.id("t-value", '"int"') == 7
    registry.close()


@pytest.mark.parametrize("status", [429, 500, 503])
def test_what_passes_is_transient(url: str, status: int) -> None:
    Answers.known["/subjects/t-value/versions"] = (status, {"error_code": 50002, "message": "timed out"})
    error = refused(client(url))
    assert (error.code, error.transient) == ("E3301", True)
    assert f"HTTP {status} timed out" in error.found


def test_both_schemas_are_shown_where_they_do_not_go_together(url: str) -> None:
    Answers.known["/subjects/t-value/versions"] = (409, {"error_code": 409, "message": "READER_FIELD_MISSING"})
    Answers.known["/subjects/t-value/versions/latest"] = (200, {"schema": '"string"', "version": 3})
    error = refused(client(url))
    assert (error.code, error.transient, error.found, error.wanted) == ("E3302", False, '"string"', '"int"')
    assert "READER_FIELD_MISSING" in error.what


@pytest.mark.parametrize(
    ("answer", "code", "found"),
    [
        ((422, {"error_code": 42201, "message": "not a schema"}), "E3303", "HTTP 422 not a schema"),
        ((404, "<html>"), "E3303", "HTTP 404 without a message"),
        ((200, "<html>"), "E3303", "without the JSON of a registry"),
        ((403, {"error_code": 40301, "message": "not yours"}), "E3304", "HTTP 403 not yours"),
    ],
)
def test_refusals_stop_the_task(url: str, answer: tuple[int, Any], code: str, found: str) -> None:
    Answers.known["/subjects/t-value/versions"] = answer
    error = refused(client(url))
    assert (error.code, error.transient) == (code, False)
    assert found in error.found


def test_the_wrong_account_and_no_password(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    error = refused(client(url, user="bob"))
    assert error.code == "E3304"
    assert "secret" not in str(error)
    monkeypatch.delenv("REGISTRY_PASSWORD")
    assert refused(client(url)).code == "E1006"


def test_a_subject_that_was_never_there_is_no_wrong_path(url: str) -> None:
    nothing = (404, {"error_code": 40401, "message": "Subject not found"})
    Answers.known.update({"/subjects/t-value": nothing, "/subjects/t-value/versions/latest": nothing})
    error = refused(client(url, auto_register=False))
    assert (error.code, error.found, error.wanted) == ("E3305", "none", '"int"')


def test_files_of_tls_that_are_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REGISTRY_PASSWORD", "secret")
    registry = client("https://127.0.0.1:9", tls={"ca": "/no/such.pem"})
    error = refused(registry)
    assert isinstance(error, ConfigError)
    assert (error.code, "tls" in error.what) == ("E1006", True)


SECRET = "ami-id root:x:0:0 the content of another service"


@pytest.mark.parametrize("status", [200, 301, 400, 401, 403, 404, 409, 422, 500, 503])
@pytest.mark.parametrize(
    "body",
    [
        SECRET,
        f"<html><body>{SECRET}</body></html>",
        {"password": SECRET},
        {"message": SECRET},
        {"error_code": SECRET, "message": SECRET},
        {"error_code": "401", "message": [SECRET]},
        [SECRET],
        {"schema": f"{{{SECRET}"},
        {"schema": json.dumps([SECRET])},
        {"id": SECRET},
        {"id": None, "x": SECRET},
    ],
    ids=lambda body: str(body)[:20],
)
def test_of_what_is_no_registry_nothing_is_shown(url: str, status: int, body: Any) -> None:
    """Who may write configurations chooses whom this host asks, and reads what becomes of it."""
    for path in ("", "/versions", "/versions/latest"):
        Answers.known[f"/subjects/t-value{path}"] = (status, body)
    for made in (client(url), client(url, auto_register=False)):
        error = refused(made)
        assert error.code[:3] == "E33"
        assert "root:" not in json.dumps(error.to_dict()) and "ami-id" not in json.dumps(error.to_dict())


def test_messages_of_a_registry_are_short_and_clean(url: str) -> None:
    message = "\x1b[2J\u202eevil\r\n" + "x" * 5000
    Answers.known["/subjects/t-value/versions"] = (422, {"error_code": 42201, "message": message})
    found = refused(client(url)).found
    assert "evil" in found and len(found) < 250 and found.isprintable()


def test_redirections_are_not_followed(url: str) -> None:
    Answers.known["/subjects/t-value/versions"] = (302, "elsewhere")
    Answers.known["/other"] = (200, {"id": 7})
    assert refused(client(url)).code == "E3303"
    assert [path for _, path, _ in Answers.asked] == ["/subjects/t-value/versions"]


def serve_raw(*parts: bytes, every: float = 0.0) -> tuple[str, socket.socket]:
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        with contextlib.suppress(OSError):
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                for part in parts:
                    connection.sendall(part)
                    time.sleep(every)

    threading.Thread(target=run, daemon=True).start()
    return f"http://127.0.0.1:{listener.getsockname()[1]}", listener


def test_what_does_not_speak_http_is_not_quoted() -> None:
    where, listener = serve_raw(b"SSH-2.0-OpenSSH_9.2p1 " + SECRET.encode() + b"\r\n")
    error = refused(anonymous(where))
    listener.close()
    assert (error.code, "OpenSSH" in str(error), "root:" in str(error)) == ("E3301", False, False)


def test_an_answer_without_an_end_is_given_up() -> None:
    head = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    where, listener = serve_raw(head, *[b"100000\r\n" + b" " * 0x100000 + b"\r\n"] * 12)
    assert refused(anonymous(where)).code == "E3301"
    listener.close()
    where, listener = serve_raw(head, *[b"1\r\n \r\n"] * 1000, every=0.1)
    started = time.monotonic()
    assert refused(anonymous(where, timeout_s=0.5)).code == "E3301"
    assert time.monotonic() - started < 30
    listener.close()


@pytest.mark.parametrize(
    ("address", "tls", "allowed"),
    [
        ("https://registry:8081", None, True),
        ("http://127.0.0.1:8081", None, True),
        ("http://localhost/x", None, True),
        ("http://[::1]:8081", None, True),
        ("http://registry:8081", None, False),
        ("http://127.0.0.1.evil.example", None, False),
        ("http://localhost.evil.example", None, False),
        ("http://registry:8081", {"ca": "/x.pem"}, False),
        ("http://registry:8081", {"insecure": True}, False),
        ("https://registry:8081", {"insecure": True}, False),
        ("https://127.0.0.1:8081", {"insecure": True}, True),
    ],
)
def test_a_password_goes_over_https_or_stays_here(address: str, tls: Any, allowed: bool) -> None:
    account = {"user": "ann", "password": "env:REPL_X"}
    SchemaRegistry.model_validate({"url": address, "tls": tls})
    for urls in (address, ["https://localhost", address]):
        options = {"url": urls, "tls": tls, **account}
        if allowed:
            SchemaRegistry.model_validate(options)
        else:
            with pytest.raises(ValueError, match="to a server that is not verified"):
                SchemaRegistry.model_validate(options)
