"""Sockets that are closed when their connection attempt fails and take their bytes along, and a selector that says
less.

kafka-python leaves them to the garbage collector, in reference cycles: an outage of some minutes with its steady
attempts would eat the process's descriptors. Its hook for proxies lets us stand in between.

A socket is closed by a reset, whoever closes it (a session that gives up, or the kernel for a process that was killed):
what is still in its buffer is dropped. The kernel would otherwise go on sending it for minutes, past rows that a later
session has delivered; a broker takes it, as the producer that sent it is one that it knows.
"""

from __future__ import annotations

import selectors
import socket
import ssl
import struct
from collections.abc import Callable
from threading import get_ident
from typing import Any, Final

from kafka.net.inet import KafkaNetSocket

_RESET: Final = struct.pack("ii", 1, 0)  # linger, for no time

PROXY_URL = "direct://"
"""The `proxy_url` setting that selects these sockets; no proxy is involved."""


class ClosingSocket(KafkaNetSocket):  # type: ignore[misc]
    """Connects as the library does without a proxy."""

    SCHEMES = ("direct",)

    async def sock_connect(self, net: Any, sock: Any, sockaddr: Any, timeout_at: float | None = None) -> Any:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        try:
            return await super().sock_connect(net, sock, sockaddr, timeout_at=timeout_at)
        except BaseException:
            sock.close()
            raise


class ClosingTLSSocket(ssl.SSLSocket):
    """The same for a handshake that fails."""

    def do_handshake(self, block: bool = False) -> None:
        try:
            super().do_handshake(block)
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            raise
        except BaseException:
            self.close()
            raise


class QuietSelector(selectors.DefaultSelector):
    """The library asks for the key of its socket before and after each wait, mostly in vain, and the standard library
    then describes the socket, addresses and all, for an error that nobody reads: a tenth of the sender's time.

    While it waits, its thread may leave its turn to another one: see `turns.py`."""

    _thread: int | None = None

    def share(self, thread: int, leave: Callable[[float | None], None], enter: Callable[[], object]) -> None:
        """Has `leave` and `enter` called around each wait of that thread."""
        self._leave, self._enter = leave, enter
        self._thread = thread

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout == 0 or self._thread != get_ident():
            return super().select(timeout)
        self._leave(timeout)
        try:
            return super().select(timeout)
        finally:
            self._enter()

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        number = fileobj if isinstance(fileobj, int) else fileobj.fileno()
        key: selectors.SelectorKey | None = self._fd_to_key.get(number)  # type: ignore[attr-defined]
        if key is not None:
            return key
        if number < 0:
            return super().get_key(fileobj)
        raise KeyError(number)
