"""The interface between the producer's state machine and a broker connection: requests and replies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from replicator.kafka.wire import Reader

Bytes: TypeAlias = bytes | bytearray | memoryview


class Peer(Protocol):
    """A broker over a connection that takes requests (`connection.Connection` in the program)."""

    @property
    def generation(self) -> int:
        """A number that no other connection has, earlier or later."""
        ...

    @property
    def unanswered(self) -> int:
        """The number of requests without a reply."""
        ...

    @property
    def unsent(self) -> int:
        """Bytes of requests that the kernel has not taken yet."""
        ...

    @property
    def features(self) -> Mapping[str, int]:
        """Levels of the cluster's finalized features."""
        ...

    def version(self, key: int, lowest: int, highest: int) -> int | None:
        """The highest version of a message within these that the broker knows, too."""
        ...


Peers: TypeAlias = Mapping[int, Peer]
"""The brokers that can be asked now, by node."""


class Request:
    """One request.

    Attributes:
        node: who is asked.
        pieces: the body. What they are made of may not be changed before it has left.
        replied: called with the reply and the monotonic time.
        lost: called with that time when there will be no reply; whether the request was carried out is unknown.
    """

    __slots__ = ("key", "lost", "node", "pieces", "replied", "version")

    def __init__(
        self,
        node: int,
        key: int,
        version: int,
        pieces: Sequence[Bytes],
        replied: Callable[[Reader, float], None],
        lost: Callable[[float], None],
    ) -> None:
        self.node = node
        self.key = key
        self.version = version
        self.pieces = pieces
        self.replied = replied
        self.lost = lost
