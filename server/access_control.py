"""Authorization and size limits as two ASGI layers around the whole application, so that no route can omit them."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Final
from urllib.parse import parse_qs

from replicator.config.certificate_logins import common_name
from replicator.errors import ConfigError, NotConnected, ProcessError, ReplicatorError
from replicator.telemetry.hosts import PEER_CERTIFICATE, App, Message, Receive, Scope, Send
from server import permissions
from server.authentication import Authentication
from server.error_responses import answer
from server.request_facts import Facts, facts_of, said_by
from server.route_table import Found, RouteTable
from server.task_scope import TaskScope

MAX_BODY = 256 * 1024
_MOST_DIGITS: Final = 12
_MOST_NAME: Final = 200
"""Characters of a name in the audit: strangers choose what is in the path."""
_TRUE: Final = ("true", "1", "yes", "on", "t", "y")
"""As pydantic reads a flag."""
_LABELS: Final = ThreadPoolExecutor(4, "selectors")


def authorized(app: App, routes: RouteTable, authentication: Authentication, tasks: TaskScope) -> App:
    """Only requests of known operations reach `app`, with a login whose role and selector permit them: E5006, E5072,
    E5003, E5013. Paths that do not exist require a login, too."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "websocket":  # there is none; unguarded none shall come
            await send({"type": "websocket.close", "code": 1008})
            return
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        facts, found = facts_of(scope), routes.find(scope["method"], scope["path"])
        _describe(facts, found, scope)
        try:
            await _check(facts, found, scope)
        except NotConnected as error:
            await answer(_unverified(error), close=True)(scope, receive, send)
            return
        except ReplicatorError as error:
            await answer(error, close=True)(scope, receive, send)
            return
        if not found.operation:
            refused = answer(_unknown(scope), status=405 if found.allowed else 404, allowed=found.allowed)
            await refused(scope, receive, send)
            return
        await app(scope, receive, send)

    async def _check(facts: Facts, found: Found, scope: Scope) -> None:
        if found.operation and permissions.rule_of(found.operation).role is None:
            return
        peer = scope.get("state", {}).get(PEER_CERTIFICATE)
        facts.principal = await authentication.principal(scope["headers"], common_name(peer))
        if not found.operation:
            return
        permissions.check(facts.principal, found.operation, "" if found.of_task else found.name)
        if found.of_task and facts.principal.selector:
            principal = facts.principal
            await asyncio.get_running_loop().run_in_executor(_LABELS, lambda: tasks.check(principal, found.name))

    return guarded


def _describe(facts: Facts, found: Found, scope: Scope) -> None:
    facts.operation, facts.says = found.operation, said_by(scope["headers"])
    if found.of_task:
        facts.task = found.name[:_MOST_NAME]
    else:
        facts.target = found.name[:_MOST_NAME]
    query = _query(scope)
    facts.reason = query.get("reason", [""])[-1][:200]
    facts.dry_run = found.has_dry_run and query.get("dry_run", [""])[-1].lower() in _TRUE


def _query(scope: Scope) -> dict[str, list[str]]:
    try:
        return parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=100)
    except ValueError:
        return {}


def _unverified(error: NotConnected) -> NotConnected:
    """Whatever is not known, nothing was done."""
    return NotConnected(
        "E4001",
        "the Server has no connection to ZooKeeper: the login could not be verified, and nothing was changed",
        found=error.found,
        fix="Check that ZooKeeper runs, and --zookeeper of the Server; then repeat the request.",
    )


def _unknown(scope: Scope) -> ProcessError:
    return ProcessError("E5013", "there is no such request", found=f"{scope['method']} {scope['path']}"[:200])


def limited(app: App, max_body: int = MAX_BODY) -> App:
    """Reads the body before the application does, and refuses a larger one than `max_body` bytes with 413 and E1008."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        try:
            body, more = await _read(scope, receive, max_body)
        except _Disconnected:
            return
        if body is None:
            if more:
                await _discard(receive, 8 * max_body)
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


class _Disconnected(Exception):
    """The client has gone before its request was complete: what it sent must not be taken for all of it."""


async def _discard(receive: Receive, most: int) -> None:
    """Reads the rest of a body that is somewhat too large: a connection that is closed with data unread is reset, and
    the client may not get the answer."""
    size = 0
    while size <= most:
        message = await receive()
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body"):
            return


async def _read(scope: Scope, receive: Receive, max_body: int) -> tuple[bytes | None, bool]:
    """None: it is too large; and whether there is more of it."""
    declared = next((value for name, value in scope["headers"] if name == b"content-length"), b"0")
    if not declared.isdigit() or len(declared) > _MOST_DIGITS or int(declared) > max_body:
        return None, declared.isdigit()
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Disconnected
        chunk, more = message.get("body", b""), bool(message.get("more_body"))
        size += len(chunk)
        if size > max_body:
            return None, more
        chunks.append(chunk)
        if not more:
            return b"".join(chunks), False
