"""Repeats the first answer to a POST request that is sent again with the same `Idempotency-Key`."""

from __future__ import annotations

import asyncio
import re
import zlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar

from starlette.responses import Response

from replicator.coordination.access.idempotency import Requests, fingerprint, record_id
from replicator.coordination.records import StoredAnswer
from replicator.errors import ConfigError, CoordinationError, ReplicatorError
from replicator.telemetry.hosts import App, Message, Receive, Scope, Send
from replicator.telemetry.log import get_logger
from server.error_responses import answer
from server.permissions import has_secret
from server.request_facts import facts_of

T = TypeVar("T")
_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_KEPT_HEADERS: Final = frozenset({"content-type", "etag", "cache-control"})
_log = get_logger("server")


def idempotent(app: App, requests: Requests) -> App:
    """Inside of the layer that reads the body. A request without a key passes unchanged."""
    threads = ThreadPoolExecutor(4, "idempotency")

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        given = [value for name, value in scope.get("headers", ()) if name == b"idempotency-key"]
        if scope["type"] != "http" or scope["method"] != "POST" or not given or _has_secret(scope):
            await app(scope, receive, send)
            return
        try:
            key = facts_of(scope).request = _key(given)
            message = await receive()
            body = bytes(message.get("body", b""))
            of = fingerprint("POST", scope["path"], scope["query_string"], body)
            id_ = record_id(facts_of(scope).known.label, key)
            stored = await _in(threads, lambda: requests.begin(id_, of))
        except ReplicatorError as error:
            await answer(error)(scope, receive, send)
            return
        if stored is not None:
            await _replay(stored)(scope, receive, send)
            return
        await _first(scope, _given_back(message, receive), send, id_, of)

    async def _first(scope: Scope, receive: Receive, send: Send, id_: str, of: str) -> None:
        started: Message = {}
        body = b""

        async def kept(message: Message) -> None:
            nonlocal started, body
            if message["type"] == "http.response.start":
                started = message
                return
            body += bytes(message.get("body", b""))
            if message.get("more_body"):
                return
            await _in(threads, lambda: _keep(scope, started, body, id_, of))
            await send(started)
            await send({"type": "http.response.body", "body": body})

        await app(scope, receive, kept)

    def _keep(scope: Scope, started: Message, body: bytes, id_: str, of: str) -> None:
        """Before the answer is sent: a client that repeats the request after it must find it."""
        try:
            if facts_of(scope).code == "E4001":  # nothing was executed
                requests.forget(id_)
                return
            headers = {
                bytes(name).decode("latin-1"): bytes(value).decode("latin-1") for name, value in started["headers"]
            }
            kept = {name: value for name, value in headers.items() if name in _KEPT_HEADERS}
            requests.end(id_, of, int(started["status"]), kept, body)
        except CoordinationError as error:
            _log.warning("an answer can't be kept for its idempotency key", code=error.code, error=str(error))

    return wrapped


def _has_secret(scope: Scope) -> bool:
    """Sent again such a request is refused, as the name exists, or has the same effect."""
    return has_secret(facts_of(scope).operation)


def _key(given: list[bytes]) -> str:
    text = given[0].decode("latin-1").strip()
    if len(given) != 1 or not _KEY.fullmatch(text):
        wanted = "one key of 1 to 200 printable ASCII characters without blanks"
        raise ConfigError("E1003", "Idempotency-Key is not valid", found=repr(text[:40]), wanted=wanted)
    return text


def _replay(stored: StoredAnswer) -> Response:
    headers = stored.headers | {"idempotency-replayed": "true"}
    return Replayed(zlib.decompress(stored.body), stored.status, headers)


class Replayed(Response):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        facts_of(scope).replayed = True
        await super().__call__(scope, receive, send)


def _given_back(message: Message, receive: Receive) -> Receive:
    """The message that was taken, once more, before the next ones."""
    waiting = [message]

    async def again() -> Message:
        return waiting.pop() if waiting else await receive()

    return again


async def _in(threads: ThreadPoolExecutor, call: Callable[[], T]) -> T:
    return await asyncio.get_running_loop().run_in_executor(threads, call)
