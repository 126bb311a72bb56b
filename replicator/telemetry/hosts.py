"""Accepts HTTP requests only with known Host headers, and no changes from pages of other sites.

A web page can have its own name resolve to an address of ours (DNS rebinding) and then reads everything that needs no
login, or that its visitor's address lets it. It can't choose the Host header: that is its own name. And it can't hide
where it comes from when it changes something.

Pure but for the ASGI layer at the end.
"""

from __future__ import annotations

import re
import socket
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any, Final, NamedTuple, TypeAlias

import msgspec

from replicator.codes import CODES
from replicator.errors import ProcessError, ReplicatorError
from replicator.host.network import is_loopback, numeric
from replicator.telemetry.refusals import nowhere

Scope: TypeAlias = MutableMapping[str, Any]
Message: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Message]]
Send: TypeAlias = Callable[[Message], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

_AUTHORITY = re.compile(r"^(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[A-Za-z0-9._-]{1,253}))(?::\d{1,5})?$")
_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
_OWN_PAGE = frozenset({b"same-origin", b"none"})


WITHOUT_TLS: Final = (
    "listening on the network WITHOUT TLS: tokens and data can be intercepted (--insecure-http); "
    "use --tls-certificate and --tls-key"
)
"""What log and health say of a listener that other machines reach."""
PEER_CERTIFICATE: Final = "peer_certificate"
"""Key in `scope["state"]`: the verified certificate of the client as `ssl.SSLSocket.getpeercert` returns it."""
_WARNINGS: Final = "replicator.listener_warnings"


class Names(NamedTuple):
    """The accepted values of Host.

    Attributes:
        listen: the host to listen on.
        loopback: whether only this machine reaches us.
        allowed: further names, of proxies and service discovery (`--allowed-host`).
    """

    listen: str
    loopback: bool
    allowed: frozenset[str] = frozenset()

    def know(self, host: str) -> bool:
        """Numeric addresses can't be rebound: off loopback all of them are ours, as they may be a router's."""
        if numeric(host) is not None:
            return not self.loopback or is_loopback(host)
        own = {"localhost", _name(self.listen)} | (set() if self.loopback else {_name(socket.gethostname())})
        return host in own or host in self.allowed


def names(listen: str, bound: str, allowed: Iterable[str] = ()) -> Names:
    """listen: as the operator wrote it; bound: the address that it came to. Raises ProcessError E5012."""
    found = set()
    for given in allowed:
        host = host_of(given)
        if host is None:
            raise ProcessError(
                "E5012",
                "--allowed-host is not a host name",
                found=repr(given),
                wanted="NAME",
                fix="Give a name without scheme and path, such as --allowed-host bus.example.com.",
            )
        found.add(host)
    return Names(listen, is_loopback(bound), frozenset(found))


def host_of(authority: str) -> str | None:
    """The host of `HOST[:PORT]`, in small letters and without a dot at its end; None for anything else."""
    match = _AUTHORITY.match(authority)
    return _name(match["six"] or match["host"]) if match is not None else None


def refusal(method: str, headers: Iterable[tuple[bytes, bytes]], own: Names) -> tuple[int, ProcessError] | None:
    """Status and error for a request that is not meant for us, or that a page of somebody else makes."""
    given: dict[bytes, list[bytes]] = {}
    for name, value in headers:
        given.setdefault(name.lower(), []).append(value)
    asked = given.get(b"host", [])
    host = host_of(asked[0].decode("latin-1")) if len(asked) == 1 else None
    if host is None or not own.know(host):
        fix = "Use the address that the process listens on, or start it with --allowed-host NAME."
        found = f"Host: {host}" if host else "no valid Host header"
        return 421, ProcessError("E5020", "the request has an unexpected Host header", found=found, fix=fix)
    if method not in _SAFE and not _from_own_page(given, asked[0], own):
        fix = "Use the command line, or a client that is not a browser."
        return 403, ProcessError("E5020", "cross-site requests may not change anything", fix=fix)
    return None


def _from_own_page(given: dict[bytes, list[bytes]], host: bytes, own: Names) -> bool:
    """Whoever is no browser says nothing of pages."""
    if any(site not in _OWN_PAGE for site in given.get(b"sec-fetch-site", [])):
        return False
    for origin in given.get(b"origin", []):
        authority = origin.partition(b"://")[2]
        if authority.lower() != host.lower() and host_of(authority.decode("latin-1")) not in own.allowed:
            return False
    return True


def guarded(
    app: App,
    own: Names,
    of_certificate: Callable[[], list[str]] | None = None,
    noted: Callable[[str, int, str], None] = nowhere,
) -> App:
    """Wraps an ASGI application so that only requests reach it that are meant for it; `noted` is called for the others.
    For `warnings`, they carry what is wrong with the listener; `of_certificate`: with its TLS certificate; None: it
    has none."""

    def told() -> list[str]:
        if of_certificate is not None:
            return of_certificate()
        return [] if own.loopback else [WITHOUT_TLS]

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        scope[_WARNINGS] = told
        if scope["type"] not in ("http", "websocket"):
            await app(scope, receive, send)
            return
        refused = refusal(scope.get("method", "GET"), scope["headers"], own)
        if refused is None:
            await app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008})
        else:
            noted(client_address(scope), refused[0], refused[1].code)
            await refuse(send, *refused)

    return wrapped


def client_address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client else ""


def warnings(scope: Scope) -> list[str]:
    """What health checks are told besides whether the process is well, of the listener that a request came to."""
    told = scope.get(_WARNINGS)
    return told() if told is not None else []


def problem(error: ReplicatorError, status: int) -> dict[str, Any]:
    """An error as a problem document (RFC 9457): its members, and the error, or the errors, in our own form."""
    errors = [one.to_dict() for one in getattr(error, "errors", ()) or (error,)]
    return {
        "type": f"urn:mysql-replicator:error:{error.code}",
        "title": CODES[error.code].title,
        "status": status,
        "detail": str(error),
        "error": error.to_dict(),
        "errors": errors,
    }


async def refuse(send: Send, status: int, error: ProcessError, *, retry_after: int = 0) -> None:
    """Answers with `error` and ends the connection: the request's body is not read."""
    body = error_body(error)
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        (b"cache-control", b"no-store"),
        (b"connection", b"close"),
    ]
    if retry_after:
        headers.append((b"retry-after", b"%d" % retry_after))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


def error_body(error: ProcessError) -> bytes:
    return msgspec.json.encode({"error": error.to_dict(), "errors": [error.to_dict()]})


def _name(host: str) -> str:
    return host.lower().rstrip(".")
