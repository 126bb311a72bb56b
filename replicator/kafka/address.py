"""Addresses of brokers: host names or IP addresses, resolved by the system's resolver, and those that are allowed."""

from __future__ import annotations

from typing import Any, NamedTuple

from replicator.errors import ConfigError
from replicator.kafka.failure import ConnectionFailure
from replicator.net import connections


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
    """The allowed addresses of a host, in the order that the system prefers. Blocks as long as the system's resolver.

    Raises:
        ConnectionFailure: of kind "resolve"; "outgoing", whose cause is a ConfigError: none is allowed.
    """
    try:
        found = connections.resolve(host, port)
    except ConfigError as error:
        raise ConnectionFailure("outgoing", str(error), final=True) from error
    except (OSError, UnicodeError) as error:
        text = error.strerror if isinstance(error, OSError) else "not a host name"
        raise ConnectionFailure("resolve", f"{host} can't be resolved: {text}") from None
    return [Address(each.family, each.sockaddr, host, port) for each in found]
