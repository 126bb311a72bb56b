"""The reading side of a shared stream: joins a ring at an event that the task's own stream has come to."""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import socket
import time
from typing import Final

import msgspec

from replicator.source.shared.event_walk import EventWalk
from replicator.source.shared.messages import HELLO_BYTES, Hello, Place, Where, decode, encode
from replicator.source.shared.relay import WAKE, address, is_ours
from replicator.source.shared.ring import CONTROL, Overtaken, Reader

_ANSWER_SECONDS: Final = 1.0
_BEHIND_SECONDS: Final = 0.3
"""How long a reader waits for a relay that has not come as far."""
_STEP_SECONDS: Final = 0.01
_PIECE: Final = 256 << 10


class NoFeed(Exception):
    """There is no shared stream to be had; the text says why."""


class Feed:
    """One reader of a relay. Not thread-safe, but for `shut`. Raises NoFeed where the relay is gone or another one.

    Args:
        name: of the relay's socket.
        key: of what is to be read.
    """

    def __init__(self, name: str, key: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.settimeout(_ANSWER_SECONDS)
        try:
            self._socket.connect(address(name))
            hello, memory = self._hello()
            try:
                self._control = mmap.mmap(memory, CONTROL)
                self._ring = mmap.mmap(memory, hello.size, prot=mmap.PROT_READ, offset=CONTROL)
            finally:
                os.close(memory)
        except (OSError, msgspec.MsgspecError, ValueError) as error:
            self._socket.close()
            raise NoFeed(str(error)) from error
        self._reader = Reader(memoryview(self._control), memoryview(self._ring), hello.size, hello.slot)
        if hello.key != key:
            self._socket.close()
            raise NoFeed("the relay reads another stream")
        self._poll = select.poll()
        self._poll.register(self._socket, select.POLLIN)
        self._gone = False

    def _hello(self) -> tuple[Hello, int]:
        data, descriptors, _, _ = socket.recv_fds(self._socket, HELLO_BYTES, 1)
        if len(descriptors) != 1 or not is_ours(self._socket):
            for descriptor in descriptors:
                os.close(descriptor)
            raise NoFeed("the relay did not answer")
        return decode(data, Hello), descriptors[0]

    def join(self, file: str, offset: int, created: int) -> bool:
        """Whether the next byte that `read` gives is the one behind this end of an event; for `created` see
        `EventWalk`. Raises NoFeed."""
        where = Where(file, offset, created)
        place = self._ask(where)
        until = time.monotonic() + _BEHIND_SECONDS
        while place.wait and time.monotonic() < until:
            time.sleep(_STEP_SECONDS)
            place = self._ask(where)
        if place.at < 0:
            return False
        with contextlib.suppress(Overtaken):
            if self._walk(place, file, offset):
                return True
        self._reader.rest()
        return False

    def _walk(self, place: Place, file: str, offset: int) -> bool:
        reader, walk = self._reader, EventWalk()
        reader.begin(place.at)
        walk.file, walk.offset = file, place.offset
        while walk.offset != offset:
            data = reader.read(_PIECE)
            if not data:
                return False
            walk.feed(memoryview(data), offset)
            if walk.file != file or walk.lost or walk.ended or walk.offset > offset:
                return False
        reader.begin(place.at + walk.boundary)
        return True

    def _ask(self, where: Where) -> Place:
        try:
            self._socket.settimeout(_ANSWER_SECONDS)
            self._socket.send(encode(where))
            while (answer := self._socket.recv(HELLO_BYTES)) == WAKE:
                pass
            return decode(answer, Place)
        except (OSError, msgspec.MsgspecError) as error:
            raise NoFeed(str(error)) from error

    def read(self, most: int) -> bytes:
        """What is there; b"" when nothing is. Raises Overtaken; NoFeed once nothing more will come."""
        data = self._reader.read(most)
        if not data and self._gone:
            raise NoFeed("the relay has ended")
        return data

    def wait(self, seconds: float) -> None:
        """Until there may be something to read."""
        if self._gone or not self._reader.wait():
            return
        if not self._poll.poll(max(1.0, seconds * 1000)):
            return
        try:
            if not self._socket.recv(HELLO_BYTES, socket.MSG_DONTWAIT):
                self._gone = True
        except BlockingIOError:
            return
        except OSError:
            self._gone = True

    def shut(self) -> None:
        """From any thread: ends a `wait`, and every read that would wait for more. The memory goes with the object."""
        self._gone = True
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
