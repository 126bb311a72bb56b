"""Asks whether a server answers, without an account: MySQL greets every client, Kafka lists the requests that it
supports."""

from __future__ import annotations

import socket
import struct
from typing import Final, Literal, TypeAlias

SECONDS: Final = 2.0
Kind: TypeAlias = Literal["database", "kafka", "any"]
"""Of a server: MySQL or MariaDB, a broker, or whatever accepts connections."""
API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # size, key, version, correlation id, no client id


def unanswered(address: tuple[str, int], kind: Kind) -> str:
    """Why the server does not answer; "" where it does."""
    try:
        with socket.create_connection(address, timeout=SECONDS) as connection:
            if kind == "any":
                return ""
            if kind == "kafka":
                connection.sendall(API_VERSIONS)
            return "" if connection.recv(1) else "it closes the connection without an answer"
    except TimeoutError:
        return f"no answer within {SECONDS:g} s"
    except OSError as error:
        return error.strerror or str(error)
