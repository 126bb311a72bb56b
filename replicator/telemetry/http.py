"""Runs an HTTP process: address, port, TLS, limits, signals, access, security headers. Shared by Server and Monitor.

    listen = Listen("127.0.0.1:8080")
    serve(app, listen, "monitor")            # blocks until SIGTERM or SIGINT, then returns

The port is bound before anything else starts, so that a port in use is an error with a code instead of a traceback in
the middle of the start, and so that port 0 (any free port) can be printed.
"""

from __future__ import annotations

import contextlib
import errno
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from typing import Any, Final, Literal, NamedTuple

import uvicorn

from replicator.errors import ProcessError
from replicator.host.addresses import parse_address
from replicator.host.network import is_loopback
from replicator.telemetry import hosts
from replicator.telemetry.connection import Door, Times, protocol
from replicator.telemetry.hosts import App, Message, Receive, Scope, Send
from replicator.telemetry.listen import DEFAULT_LIMITS, Limits, Listen
from replicator.telemetry.login_throttle import LoginThrottle, throttled
from replicator.telemetry.refusals import Note, nowhere
from replicator.telemetry.request_head import MAX_HEAD
from replicator.telemetry.server_certificate import ServerCertificate

CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
"""No inline script or style, nothing from elsewhere."""

SECURITY_HEADERS: dict[str, str] = {
    "content-security-policy": CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",  # with no-referrer, browsers send forms with `Origin: null`
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


HSTS: Final = (b"strict-transport-security", b"max-age=31536000")
"""Sent over TLS only: browsers ignore it otherwise."""


class Address(NamedTuple):
    host: str
    port: int
    scheme: str = "http"

    @property
    def url(self) -> str:
        """The address as a browser on the same machine reaches it."""
        host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"{self.scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def parse_listen(text: str) -> Address:
    """`HOST:PORT`, `[IPV6]:PORT` or `:PORT` (loopback); port 0 takes any free one. Raises ProcessError E5012."""
    given = text.strip()
    try:
        return Address(*parse_address(f"127.0.0.1{given}" if given.startswith(":") else given, lowest_port=0))
    except ValueError as error:
        raise ProcessError(
            "E5012", "the address to listen on is not valid", found=str(error), wanted="HOST:PORT"
        ) from None


def bind(address: Address, *, insecure_http: bool = False) -> socket.socket:
    """A socket that listens. Raises ProcessError E5001 (port in use), E5012 (no such address here), or E5021 (reached
    from elsewhere without TLS, and `insecure_http` is not given)."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        # On Linux this only skips the wait for closed connections; it does not share a port that somebody listens on.
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((address.host, address.port))
        _check_reach(bound, address, insecure_http)
        bound.listen(128)
    except OSError as error:
        bound.close()
        raise _refused(address, error) from error
    except ProcessError:
        bound.close()
        raise
    return bound


def _check_reach(bound: socket.socket, address: Address, insecure_http: bool) -> None:
    if insecure_http or address.scheme == "https" or is_loopback(bound.getsockname()[0]):
        return
    raise ProcessError(
        "E5021",
        f"traffic to {address.host} would not be encrypted",
        found="plain HTTP on a non-loopback address",
        fix="Give --tls-certificate and --tls-key, or listen on 127.0.0.1; --insecure-http allows it as it is.",
    )


def _refused(address: Address, error: OSError) -> ProcessError:
    shown = f"{address.host}:{address.port}"
    if error.errno == errno.EADDRINUSE:
        return ProcessError("E5001", f"cannot listen on {shown}", found="another process listens there")
    return ProcessError("E5012", f"cannot listen on {shown}", found=error.strerror or str(error))


def secure(app: App) -> App:
    """Wraps an ASGI application so that every answer carries `SECURITY_HEADERS` that it does not set itself."""
    fixed = [(name.encode(), value.encode()) for name, value in SECURITY_HEADERS.items()]

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                present = {bytes(name).lower() for name, _ in message.get("headers", ())}
                wanted = [*fixed, HSTS] if scope.get("scheme") == "https" else fixed
                extra = [pair for pair in wanted if pair[0] not in present]
                message["headers"] = [*message.get("headers", ()), *extra]
            await send(message)

        await app(scope, receive, with_headers if scope["type"] == "http" else send)

    return wrapped


class _Server(uvicorn.Server):
    """Leaves after SIGTERM and SIGINT with the exit status of a clean stop; uvicorn would raise the signal again."""

    def __init__(self, config: uvicorn.Config, stopping: Callable[[], None] | None) -> None:
        super().__init__(config)
        self._stopping = stopping

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        before = {sig: signal.signal(sig, self.handle_exit) for sig in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for sig, handler in before.items():
                signal.signal(sig, handler)

    def handle_exit(self, sig: int, frame: Any) -> None:
        super().handle_exit(sig, frame)
        if self._stopping is not None:
            self._stopping()


def serve(
    app: App,
    listen: Listen,
    name: str,
    *,
    certificate: ServerCertificate | None = None,
    ready: Callable[[Address], None] | None = None,
    stopping: Callable[[], None] | None = None,
    refused: Note = nowhere,
) -> None:
    """Serves until SIGTERM or SIGINT, from the main thread.

    Args:
        app: an ASGI application; its lifespan runs.
        listen: where, and who may call; port 0 takes any free one.
        name: of the process, for the line `NAME: listening on http://HOST:PORT` on stderr.
        certificate: of `listen.tls`, for applications that report about it; default: made here.
        ready: called with the real address once the socket listens.
        stopping: called from the signal handler, to end long answers (event streams) that would hold up the stop.
        refused: called for each request that is refused before the application sees it.

    Raises:
        ProcessError: E5001, E5012, E5021, E5080, E5081, or E5011 when the application's start failed.
    """
    if certificate is None and listen.tls is not None:
        certificate = ServerCertificate(listen.tls)
    scheme = "https" if certificate is not None else "http"
    address = parse_listen(listen.where)._replace(scheme=scheme)
    bound = bind(address, insecure_http=listen.insecure_http)
    host, port = bound.getsockname()[:2]
    real = Address(address.host, port, scheme)
    own = hosts.names(address.host, host, listen.allowed_hosts)
    server = _Server(configuration(app, own, certificate, listen.limits, refused=refused), stopping)
    print(f"{name}: listening on {real.url}", file=sys.stderr, flush=True)
    if not own.loopback and certificate is None:
        print(f"{name}: {hosts.WITHOUT_TLS}", file=sys.stderr, flush=True)
    if certificate is not None:
        certificate.start()
    if ready is not None:
        ready(real)
    try:
        server.run(sockets=[bound])
    except SystemExit as stopped:  # uvicorn's answer to a failed start
        raise ProcessError("E5011", f"{name} did not start", found="see the log") from stopped
    finally:
        bound.close()
        if certificate is not None:
            certificate.stop()
    if not server.started:
        raise ProcessError("E5011", f"{name} did not start", found="see the log")


def configuration(
    app: App,
    own: hosts.Names,
    certificate: ServerCertificate | None = None,
    limits: Limits = DEFAULT_LIMITS,
    lifespan: Literal["on", "off"] = "on",
    throttle: LoginThrottle | None = None,
    refused: Note = nowhere,
) -> uvicorn.Config:
    """uvicorn with every layer around `app`: the same in both processes, and in tests."""
    slowed = throttled(app, throttle or LoginThrottle(), refused)
    layers = hosts.guarded(slowed, own, certificate.warnings if certificate else None, refused)
    return uvicorn.Config(
        secure(layers),
        http=protocol(Door(limits, certificate, refused)),
        loop="asyncio",
        ws="none",
        proxy_headers=False,  # X-Forwarded-For says what the client likes to
        log_config=None,
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=3,
        timeout_keep_alive=Times.IDLE,
        lifespan=lifespan,
        h11_max_incomplete_event_size=2 * MAX_HEAD,  # `request_head` refuses before
    )
