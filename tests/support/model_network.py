"""Drives the producer's state machine against a cluster in memory; a test decides what arrives, and when."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from replicator.kafka.batch import OVERHEAD, Batch, Place
from replicator.kafka.machine import Machine, Settings
from replicator.kafka.request import Request
from replicator.kafka.wire import Reader
from tests.support.model_broker import ModelCluster


class ModelPeer:
    """A connection: requests that are on their way, and replies. Both arrive in order."""

    def __init__(self, cluster: ModelCluster, node: int, generation: int) -> None:
        self._cluster = cluster
        self.node = node
        self.generation = generation
        self.unsent = 0
        self.features: Mapping[str, int] = {"transaction.version": 2} if cluster.second else {}
        self.sent: deque[Request] = deque()
        self.answered: deque[tuple[Request, bytes]] = deque()

    @property
    def unanswered(self) -> int:
        return len(self.sent) + len(self.answered)

    def version(self, key: int, lowest: int, highest: int) -> int | None:
        return self._cluster.version(key, lowest, highest)

    def serve(self) -> None:
        """The broker handles the next request."""
        request = self.sent.popleft()
        body = b"".join(bytes(piece) for piece in request.pieces)
        self.answered.append((request, self._cluster.answer(self.node, request.key, request.version, body)))

    def hear(self, now: float) -> None:
        """The next reply arrives."""
        request, body = self.answered.popleft()
        request.replied(Reader(body), now)

    def lose(self, now: float) -> None:
        """The connection ends: replies on their way are lost, and requests that the broker has not seen."""
        lost = [*(request for request, _ in self.answered), *self.sent]
        self.sent.clear()
        self.answered.clear()
        for request in lost:
            request.lost(now)


class ModelNetwork:
    """
    Attributes:
        written: by partition, the records that were handed over, in order; outcomes: what became of each.
    """

    def __init__(
        self, cluster: ModelCluster, settings: Settings | None = None, guard: Callable[[], None] = lambda: None
    ) -> None:
        self.cluster = cluster
        self.now = 1000.0
        self.machine = Machine(settings or Settings(), guard)
        self.machine.transactions.identify()
        self.peers: dict[int, ModelPeer] = {}
        self.written: dict[Place, list[bytes]] = {}
        self.outcomes: dict[bytes, BaseException | None] = {}
        self._generation = 0

    def connect(self, node: int) -> None:
        if node not in self.peers:
            self._generation += 1
            self.peers[node] = ModelPeer(self.cluster, node, self._generation)

    def disconnect(self, node: int) -> None:
        peer = self.peers.pop(node, None)
        if peer is not None:
            peer.lose(self.now)

    def append(self, place: Place, records: bytes, count: int = 1) -> None:
        data = bytearray(OVERHEAD + len(records))
        data[OVERHEAD:] = records
        self.written.setdefault(place, []).append(records)

        def done(error: BaseException | None) -> None:
            assert records not in self.outcomes, "told twice"
            self.outcomes[records] = error

        self.machine.append(Batch(place, memoryview(data), count, 0, done), self.now)

    def send(self) -> None:
        """What may leave leaves."""
        while requests := self.machine.requests(self.peers, self.now):
            for request in requests:
                peer = self.peers.get(request.node)
                if peer is None:
                    request.lost(self.now)
                else:
                    peer.sent.append(request)

    def settle(self, until: Callable[[], Any] | None = None, steps: int = 2000) -> None:
        """Everything works: until nothing is left to do, or `until`."""
        for _ in range(steps):
            if self.machine.error is not None or (until() if until is not None else self.idle):
                return
            for node in range(self.cluster.nodes):
                self.connect(node)
            self.send()
            for peer in list(self.peers.values()):
                while peer.sent:
                    peer.serve()
                while peer.answered:
                    peer.hear(self.now)
            self.cluster.write_markers()
            self.now += 0.01
        raise AssertionError(f"nothing goes on: {self.machine.outstanding} batches are unfinished")

    @property
    def idle(self) -> bool:
        machine = self.machine
        return not machine.outstanding and machine.transactions.ending is None and machine.transactions.producer_id >= 0
