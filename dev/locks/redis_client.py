"""The few requests to Redis that a lock needs."""

from __future__ import annotations

import socket
from typing import Final

COMPARE_AND_DELETE: Final = (
    "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end"
)


class RedisClient:
    """One connection, which is made again after an error. Raises OSError.

    Args:
        timeout: of each request, seconds.
    """

    def __init__(self, port: int, timeout: float) -> None:
        self._port = port
        self._timeout = timeout
        self._socket: socket.socket | None = None
        self._buffer = b""

    def set_if_absent(self, key: str, value: str, ttl_ms: int) -> bool:
        return self._ask("SET", key, value, "NX", "PX", str(ttl_ms)) == "OK"

    def delete_if(self, key: str, value: str) -> bool:
        return self._ask("EVAL", COMPARE_AND_DELETE, "1", key, value) == 1

    def get(self, key: str) -> str | int | None:
        return self._ask("GET", key)

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
            self._buffer = b""

    def _ask(self, *words: str) -> str | int | None:
        try:
            if self._socket is None:
                self._socket = socket.create_connection(("127.0.0.1", self._port), self._timeout)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            parts = "".join(f"${len(word.encode())}\r\n{word}\r\n" for word in words)
            self._socket.sendall(f"*{len(words)}\r\n{parts}".encode())
            return self._answer()
        except OSError:
            self.close()
            raise

    def _answer(self) -> str | int | None:
        line = self._line()
        kind, rest = line[:1], line[1:].decode()
        if kind == b"+":
            return rest
        if kind == b":":
            return int(rest)
        if kind == b"$":
            return None if rest == "-1" else self._line().decode()
        raise OSError(f"Redis: {rest}")

    def _line(self) -> bytes:
        while b"\r\n" not in self._buffer:
            data = self._socket.recv(4096) if self._socket is not None else b""
            if not data:
                raise ConnectionError("closed")
            self._buffer += data
        line, _, self._buffer = self._buffer.partition(b"\r\n")
        return line
