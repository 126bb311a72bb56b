"""Free loopback ports, below the kernel's ephemeral range so that no outgoing connection takes one over meanwhile."""

from __future__ import annotations

import random
import socket
import threading

_RANGE = (15000, 32000)
_handed_out: set[int] = set()
_lock = threading.Lock()


def free_port() -> int:
    with _lock:
        for _ in range(1000):
            port = random.SystemRandom().randrange(*_RANGE)
            if port not in _handed_out and _is_free(port):
                _handed_out.add(port)
                return port
    raise OSError("no free loopback port found")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


def ask(port: int, question: bytes, limit: int = 65536, *, whole: bool = False) -> bytes:
    """Send `question`, read the first of the answer or the `whole` until the server closes; b"" when there is none."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=2) as connection:
            connection.sendall(question)
            return _received(connection, limit) if whole else connection.recv(limit)
    except OSError:
        return b""


def _received(connection: socket.socket, piece: int) -> bytes:
    pieces = []
    while data := connection.recv(piece):
        pieces.append(data)
    return b"".join(pieces)
