"""Authentication and size limits as two ASGI layers around the whole application, so that no route can omit them."""

from __future__ import annotations

import hmac

from replicator.errors import ConfigError, ProcessError
from replicator.telemetry.hosts import App, Message, Receive, Scope, Send
from server.error_responses import answer

MAX_BODY = 256 * 1024
OPEN_PATHS = frozenset({"/api/v1/health"})
"""Everything else needs the token, paths that do not exist included."""


def authenticated(app: App, token: str) -> App:
    """Refuses with 401 and E5006 what does not carry `Authorization: Bearer TOKEN`."""
    wanted = token.encode()

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["path"] not in OPEN_PATHS and not _carries(scope, wanted):
            error = ProcessError("E5006", "the API requires a token", wanted="Authorization: Bearer TOKEN")
            await answer(error)(scope, receive, send)
            return
        if scope["type"] == "websocket":  # there is none; unguarded none shall come
            await send({"type": "websocket.close", "code": 1008})
            return
        await app(scope, receive, send)

    return guarded


def _carries(scope: Scope, wanted: bytes) -> bool:
    given = [bytes(value) for name, value in scope["headers"] if name == b"authorization"]
    if len(given) != 1:
        return False
    scheme, _, token = given[0].partition(b" ")
    return scheme.lower() == b"bearer" and hmac.compare_digest(token.strip(), wanted)


def limited(app: App, max_body: int = MAX_BODY) -> App:
    """Reads the body before the application does, and refuses a larger one than `max_body` bytes with 413 and E1008."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        body = await _read(scope, receive, max_body)
        if body is None:
            error = ConfigError("E1008", "the request is too large", wanted=f"at most {max_body} bytes")
            await answer(error, close=True)(scope, receive, send)
            return
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": body, "more_body": False}

        await app(scope, replay, send)

    return guarded


async def _read(scope: Scope, receive: Receive, max_body: int) -> bytes | None:
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not declared.isdigit() or int(declared) > max_body:
        return None
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return b"".join(chunks)
        chunk = message.get("body", b"")
        size += len(chunk)
        if size > max_body:
            return None
        chunks.append(chunk)
        if not message.get("more_body"):
            return b"".join(chunks)
