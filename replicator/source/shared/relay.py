"""The writing side of a shared stream: reads one dump, and lets other processes of this user read it from a ring.

Two threads: the one that calls `run` copies the dump into the ring, another one answers readers. A reader that is gone
is noticed by its socket; when there has been none for a while, the relay ends.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import select
import socket
import struct
import threading
import time
from collections import deque
from typing import Any, Final

import msgspec

from replicator.errors import SourceUnavailable
from replicator.model.position import Position
from replicator.pipeline.ports import Stream
from replicator.source.shared.event_walk import EventWalk
from replicator.source.shared.messages import HELLO_BYTES, Hello, Place, Where, decode, encode
from replicator.source.shared.pace import Pace
from replicator.source.shared.ring import CONTROL, SLOTS, Writer

RING_BYTES: Final = 16 << 20
LINGER_SECONDS: Final = 10.0
_READ_SECONDS: Final = 0.5
_GATHER_SECONDS: Final = (0.001, 0.008)
"""Between two times that readers are woken, at least and at most: what a reader costs is above all being woken. It is
doubled as long as a read brings `_MUCH` bytes, where a few milliseconds are less than what waits to be delivered."""
_MUCH: Final = 8192
_PARTS: Final = 8  # of the ring: as much is written at once at most
_LOOK_SECONDS: Final = 0.5
WAKE: Final = b"w"
_PEER: Final = struct.Struct("3i")  # pid, uid, gid


def address(name: str) -> str:
    """In the abstract namespace: no file that could be left over, or removed under a relay that runs."""
    return f"\0{name}"


def is_ours(peer: socket.socket) -> bool:
    """Whether the process at the other end belongs to the same user: others may know the name."""
    answer = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    return bool(_PEER.unpack(answer)[1] == os.getuid())


class Relay:
    """Args:
    stream: of the dump; it begins between transactions.
    name: of its socket.
    key: what a reader must be looking for.
    """

    def __init__(
        self, stream: Stream, name: str, key: str, size: int = RING_BYTES, linger: float = LINGER_SECONDS
    ) -> None:
        self._stream = stream
        self._key = key
        self._linger = linger
        self._memory = os.memfd_create("replicator-stream", os.MFD_CLOEXEC)
        os.ftruncate(self._memory, CONTROL + size)
        mapped = memoryview(mmap.mmap(self._memory, CONTROL + size))
        self._writer = Writer(mapped[:CONTROL], mapped[CONTROL:])
        self._walk = EventWalk()
        self._pace = Pace()
        self._lock = threading.Lock()
        self._readers: dict[int, socket.socket] = {}
        self._places: deque[tuple[int, str, int, int]] = deque()  # bytes of the stream, file, offset, created
        self._over = False
        self._woke = 0.0  # when readers were woken last
        self._gathers = _GATHER_SECONDS[0]
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._listener.bind(address(name))
        self._listener.listen(SLOTS)

    def run(self) -> None:
        """Until nobody reads any more. Raises SourceUnavailable when the dump ends."""
        serving = threading.Thread(target=self._serve, name="readers", daemon=True)
        serving.start()
        try:
            while not self._over:
                self._gather()
                self._take(self._read())
        except SourceUnavailable:
            if not self._over:
                raise
        finally:
            self._over = True
            self._stream.close()
            self._listener.shutdown(socket.SHUT_RDWR)  # ends the wait of that thread
            serving.join()
            self._listener.close()
            for reader in self._readers.values():
                reader.close()
            os.close(self._memory)

    # The dump

    def _gather(self) -> None:
        pause = self._woke + self._gathers - time.monotonic()
        if pause > 0:
            time.sleep(pause)

    def _read(self) -> bytes:
        data = self._stream.read(_READ_SECONDS)
        least, most = _GATHER_SECONDS
        self._gathers = min(most, 2 * self._gathers) if len(data) >= _MUCH else least
        return data

    def _take(self, data: bytes) -> None:
        view = memoryview(data)
        most = self._writer.size // _PARTS
        for at in range(0, len(data), most):
            piece = view[at : at + most]
            self._wait_for_readers(len(piece))
            if self._over:
                return
            self._writer.write(piece)
            self._walk.feed(piece)
            self._publish()
            if self._walk.ended or self._walk.lost:
                raise SourceUnavailable("E2002", "the shared binlog stream ended", found="by the server")

    def _wait_for_readers(self, size: int) -> None:
        writer = self._writer
        while not self._over:
            with self._lock:
                slots = list(self._readers)
            after = writer.floor_after(size)
            wait = self._pace.wait(writer.floor, after, writer.cursors(slots), time.monotonic())
            if not wait:
                return
            time.sleep(wait)

    def _publish(self) -> None:
        walk = self._walk
        with self._lock:
            while self._places and self._places[0][0] < self._writer.floor:
                self._places.popleft()
            if walk.file and (not self._places or self._places[-1][0] != walk.boundary):
                self._places.append((walk.boundary, walk.file, walk.offset, walk.created))
            slots = list(self._readers)
        self._writer.publish(walk.safe)
        for slot in self._writer.waiting(slots):
            self._woke = time.monotonic()
            with self._lock:
                reader = self._readers.get(slot)
            if reader is not None:
                with contextlib.suppress(OSError):
                    reader.send(WAKE, socket.MSG_DONTWAIT)

    # Readers

    def _serve(self) -> None:
        try:
            self._answer_readers()
        finally:  # a relay that nobody can reach is of no use
            self._over = True
            self._stream.close()

    def _answer_readers(self) -> None:
        poll = select.poll()
        poll.register(self._listener, select.POLLIN)
        slots: dict[int, int] = {}  # descriptor -> slot
        alone_since = time.monotonic()
        while not self._over:
            for number, _ in poll.poll(_LOOK_SECONDS * 1000):
                if self._over:
                    return
                if number == self._listener.fileno():
                    self._accept(poll, slots)
                elif not self._answer(self._readers[slots[number]]):
                    poll.unregister(number)
                    self._leave(slots.pop(number))
            now = time.monotonic()
            if slots:
                alone_since = now
            elif now - alone_since > self._linger:
                return

    def _accept(self, poll: Any, slots: dict[int, int]) -> None:
        reader, _ = self._listener.accept()
        free = next((slot for slot in range(SLOTS) if slot not in self._readers), None)
        if free is None or not is_ours(reader):
            reader.close()
            return
        try:
            hello = encode(Hello(self._key, free, self._writer.size))
            socket.send_fds(reader, [hello], [self._memory])
        except OSError:
            reader.close()
            return
        self._writer.free(free)
        with self._lock:
            self._readers[free] = reader
        slots[reader.fileno()] = free
        poll.register(reader, select.POLLIN)

    def _leave(self, slot: int) -> None:
        with self._lock:
            reader = self._readers.pop(slot)
        reader.close()
        self._writer.free(slot)

    def _answer(self, reader: socket.socket) -> bool:
        """False: it is gone, or asks what nobody asks."""
        try:
            message = reader.recv(HELLO_BYTES)
            if not message:
                return False
            reader.send(encode(self._find(decode(message, Where))))
        except (OSError, msgspec.MsgspecError):
            return False
        return True

    def _find(self, where: Where) -> Place:
        with self._lock:
            places = list(self._places)
        if not places or _order(*places[-1][1:3]) < _order(where.file, where.offset):
            return Place(wait=True)
        for at, file, offset, created in reversed(places):
            if (file, created) == (where.file, where.created) and offset <= where.offset:
                return Place(at=at, offset=offset)
        return Place()


def _order(file: str, offset: int) -> tuple[int, int, int]:
    return Position(file, offset).order
