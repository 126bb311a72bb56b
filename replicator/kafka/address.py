"""Addresses of brokers: host names or IP addresses, resolved by the system's resolver."""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

from replicator.kafka.failure import ConnectionFailure


class Address(NamedTuple):
    """One address of one broker. host: the name by which it was asked for, which its certificate has to carry."""

    family: int
    sockaddr: tuple[Any, ...]
    host: str
    port: int

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def resolve(host: str, port: int) -> list[Address]:
    """All addresses of a host, in the order that the system prefers. Blocks as long as the system's resolver does.

    Raises:
        ConnectionFailure: of kind "resolve".
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        text = error.strerror if isinstance(error, OSError) else "not a host name"
        raise ConnectionFailure("resolve", f"{host} can't be resolved: {text}") from None
    return [Address(int(family), sockaddr, host, port) for family, _, _, _, sockaddr in found]
