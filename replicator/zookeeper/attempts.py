"""Remembers why the last attempt at each ZooKeeper server failed, for operators."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from typing import Any, Final

from replicator.host.addresses import HostPort

CLOSED: Final = "closes the connection without an answer: it is starting, or the ensemble has no quorum"
SILENT: Final = "accepts the connection, and does not answer"
Resolve = Callable[[str, int], Iterable[str]]


def addresses_of(host: str, port: int) -> list[str]:
    """The numeric addresses of a name. Raises OSError where it has none."""
    return [str(entry[4][0]) for entry in socket.getaddrinfo(host, port, 0, 0, socket.IPPROTO_TCP)]


class Attempts:
    """Written by kazoo's connection thread, read by any other."""

    def __init__(self, servers: Iterable[HostPort], resolve: Resolve = addresses_of) -> None:
        self._servers = tuple(servers)
        self._resolve = resolve
        self._lock = threading.Lock()
        self._failed: dict[tuple[str, int], str] = {}

    def failed(self, address: tuple[Any, ...], reason: str) -> None:
        """address: numeric, as sockets have it."""
        with self._lock:
            self._failed[(str(address[0]), int(address[1]))] = reason

    def connected(self) -> None:
        """There is a session: what failed before says nothing about the next outage."""
        with self._lock:
            self._failed.clear()

    def reasons(self) -> str:
        """One part per server. Looks names up, which takes as long as the resolver does."""
        return "; ".join(f"{server}: {self._reason(server)}" for server in self._servers)

    def _reason(self, server: HostPort) -> str:
        try:
            numeric = list(self._resolve(server.host, server.port))
        except (OSError, UnicodeError) as error:
            return f"the name cannot be resolved ({getattr(error, 'strerror', None) or error})"
        with self._lock:
            known = [self._failed.get((address, server.port), "") for address in numeric]
        return ", ".join(dict.fromkeys(filter(None, known))) or "no attempt has ended yet"


def reason_of(error: BaseException, seconds: float) -> str:
    """Why a connection could not be made. seconds: that it had."""
    if isinstance(error, TimeoutError) or not isinstance(error, OSError):
        return f"no answer within {seconds:g} s"
    return (error.strerror or str(error) or type(error).__name__).lower()
