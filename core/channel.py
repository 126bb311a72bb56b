"""Messages between an agent and a worker over one socket pair.

A worker's end blocks: it has a thread for each direction. The agent's end never does: what has arrived is read without
waiting for the rest of a message, and what does not fit is kept until the worker takes it. So a worker that is frozen
in the middle of a message holds up nobody but itself.
"""

from __future__ import annotations

import pickle
import socket
import struct
import threading
from collections.abc import Callable
from typing import Any, Final

_LENGTH: Final = struct.Struct(">Q")
_READ: Final = 256 * 1024
_TURN: Final = 4 * _READ
"""Bytes that are read of one worker before the others have their turn."""


def pair() -> tuple[socket.socket, socket.socket]:
    """The agent's end and the worker's."""
    return socket.socketpair()


def _frame(message: object) -> bytes:
    data = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
    return _LENGTH.pack(len(data)) + data


class WorkerEnd:
    """Blocks. `send` is thread-safe, `receive` is called by one thread."""

    def __init__(self, way: socket.socket) -> None:
        self._way = way
        self._sending = threading.Lock()

    def send(self, message: object) -> None:
        """Raises OSError when the agent is gone."""
        frame = _frame(message)
        with self._sending:
            self._way.sendall(frame)

    def receive(self) -> Any:
        """The next message. Raises EOFError or OSError when the agent is gone."""
        (size,) = _LENGTH.unpack(self._read(_LENGTH.size))
        return pickle.loads(self._read(size))  # noqa: S301 - from our own agent

    def _read(self, size: int) -> bytearray:
        data = bytearray()
        while len(data) < size:
            piece = self._way.recv(min(_READ, size - len(data)))
            if not piece:
                raise EOFError
            data += piece
        return data

    def close(self) -> None:
        self._way.close()


class AgentEnd:
    """Never blocks. Thread-safe, but for `receive`, which is called by one thread.

    Attributes:
        stalled: called once by the thread whose message did not fit, without a lock held; the thread that waits for
            `fileno` to become readable then waits for it to become writable, too, and calls `flush`.
    """

    def __init__(self, way: socket.socket) -> None:
        self._way = way
        self._sending = threading.Lock()
        self._unsent = bytearray()
        self._arrived = bytearray()
        self.stalled: Callable[[], None] = lambda: None

    def fileno(self) -> int:
        """-1 when it is closed."""
        return self._way.fileno()

    def send(self, message: object) -> None:
        """Never raises: a dead worker shows in `receive`."""
        frame = _frame(message)
        with self._sending:
            waits = bool(self._unsent)
            self._unsent += frame
            self._push()
            stalled = bool(self._unsent) and not waits
        if stalled:
            self.stalled()

    def flush(self) -> None:
        with self._sending:
            self._push()

    @property
    def waits(self) -> bool:
        """Something is not sent yet."""
        return bool(self._unsent)

    def _push(self) -> None:
        try:
            while self._unsent:
                sent = self._way.send(self._unsent[:_READ], socket.MSG_DONTWAIT)
                del self._unsent[:sent]
        except BlockingIOError:
            return
        except OSError:
            self._unsent.clear()  # nobody reads it any more

    def receive(self) -> list[Any] | None:
        """Messages that have arrived in whole; None when the worker is gone and all was read."""
        gone = self._take()
        messages = []
        start = 0
        while len(self._arrived) - start >= _LENGTH.size:
            (size,) = _LENGTH.unpack_from(self._arrived, start)
            end = start + _LENGTH.size + size
            if len(self._arrived) < end:
                break
            messages.append(pickle.loads(memoryview(self._arrived)[start + _LENGTH.size : end]))  # noqa: S301
            start = end
        if start:
            self._arrived = self._arrived[start:]
        return None if gone and not messages else messages

    def _take(self) -> bool:
        """True at the end of the stream."""
        for _ in range(_TURN // _READ):
            try:
                piece = self._way.recv(_READ, socket.MSG_DONTWAIT)
            except BlockingIOError:
                return False
            except OSError:
                return True
            if not piece:
                return True
            self._arrived += piece
        return False

    def close(self) -> None:
        self._way.close()
