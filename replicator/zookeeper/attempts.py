"""Remembers why the last attempt at each ZooKeeper server failed, for operators."""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from replicator.host.addresses import HostPort

CLOSED: Final = "closes the connection without an answer: it is starting, or the ensemble has no quorum"
SILENT: Final = "accepts the connection, and does not answer"
UNREACHABLE: Final = "E4001"
Resolve = Callable[[str, int], Iterable[str]]


def addresses_of(host: str, port: int) -> list[str]:
    """The numeric addresses of a name. Raises OSError where it has none."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, 0, 0, socket.IPPROTO_TCP)]


class Attempts:
    """Written by kazoo's connection thread, read by any other.

    Args:
        resolve: the numeric addresses of a name.
        probe: whether a port speaks TLS; asked about a server that hangs up on a client without.
    """

    def __init__(
        self,
        servers: Iterable[HostPort],
        resolve: Resolve = addresses_of,
        probe: Callable[[str, int], bool] = lambda host, port: speaks_tls(host, port),
    ) -> None:
        self._probe = probe
        self._servers = tuple(servers)
        self._resolve = resolve
        self._lock = threading.Lock()
        self._failed: dict[tuple[str, int], str] = {}
        self._codes: dict[tuple[str, int], str] = {}
        self._refused: tuple[str, str] | None = None

    def failed(self, address: tuple[Any, ...], reason: str, code: str = UNREACHABLE) -> None:
        """address: numeric, as sockets have it."""
        with self._lock:
            key = (str(address[0]), int(address[1]))
            self._failed[key], self._codes[key] = reason, code
            self._refused = None

    def refused(self, reason: str, code: str) -> None:
        """There is a session, and it is of no use: whichever server is asked."""
        with self._lock:
            self._refused = (reason, code)

    @property
    def code(self) -> str:
        """Of the error: that of a login or of TLS when it is one of those."""
        with self._lock:
            if self._refused is not None:
                return self._refused[1]
            return next((code for code in self._codes.values() if code != UNREACHABLE), UNREACHABLE)

    def connected(self) -> None:
        """There is a session: what failed before says nothing about the next outage."""
        with self._lock:
            self._failed.clear()
            self._codes.clear()

    def admitted(self) -> None:
        """The session may be used."""
        with self._lock:
            self._refused = None

    def reasons(self) -> str:
        """One part per server. Looks names up, and asks who hangs up for TLS, which takes its time. Ask for `code`
        afterwards."""
        with self._lock:
            if self._refused is not None:
                return self._refused[0]
        return "; ".join(f"{server}: {self._reason(server)}" for server in self._servers)

    def _reason(self, server: HostPort) -> str:
        try:
            numeric = list(self._resolve(server.host, server.port))
        except (OSError, UnicodeError) as error:
            return f"the name cannot be resolved ({getattr(error, 'strerror', None) or error})"
        self._ask_for_tls(numeric, server.port)
        with self._lock:
            known = [self._failed.get((address, server.port), "") for address in numeric]
        return ", ".join(dict.fromkeys(filter(None, known))) or "no attempt has ended yet"

    def _ask_for_tls(self, numeric: list[str], port: int) -> None:
        with self._lock:
            asked = [address for address in numeric if self._failed.get((address, port)) == CLOSED]
        for address in asked:
            if self._probe(address, port):
                self.failed((address, port), "the port is one with TLS, and this client connects without", "E4033")


def speaks_tls(host: str, port: int) -> bool:
    """Nothing is sent but a greeting."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    try:
        with socket.create_connection((host, port), timeout=1.0) as plain, context.wrap_socket(plain):
            return True
    except ssl.SSLEOFError:
        return False
    except ssl.SSLError as error:
        return "ALERT" in str(error.reason)
    except OSError:
        return False


def reason_of(error: BaseException, seconds: float) -> str:
    """Why a connection could not be made. seconds: that it had."""
    if isinstance(error, TimeoutError) or not isinstance(error, OSError):
        return f"no answer within {seconds:g} s"
    return (error.strerror or str(error) or type(error).__name__).lower()


def tls_failure(error: OSError) -> tuple[str, str]:
    """Reason and code of a failed TLS handshake, or of an alert that came after it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not accepted: {error.verify_message or error}", "E4031"
    reason = str(getattr(error, "reason", "") or "")
    if "ALERT" in reason and "PROTOCOL_VERSION" not in reason:
        return f"refuses the certificate of this client: {reason.lower().replace('_', ' ')}", "E4032"
    if isinstance(error, TimeoutError):
        return "does not answer the TLS handshake: the port may be one without TLS", "E4033"
    shown = reason.lower().replace("_", " ") or (error.strerror or str(error)).lower()
    return f"does not answer with TLS ({shown}): the port may be one without TLS", "E4033"
