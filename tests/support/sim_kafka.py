"""A Kafka of one transactional id on the simulated bench: it fences, and the answers of its commits get lost.

A commit is sent, and arrives later or never. What arrives is committed when no later producer has been initialised
since, else refused; nothing else is asked of the sender, neither its lease nor its epoch.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec


class Fenced(Exception):
    """A later producer has been initialised."""


class Sent(msgspec.Struct, frozen=True):
    """A commit on its way: of which producer and term, and the transactions (first, last) of the source in it."""

    producer: int
    epoch: int
    reset: int
    first: int
    last: int


class SimKafka:
    """Args:
    seen: called with (epoch, transaction) for each transaction that consumers see.
    """

    def __init__(self, seen: Callable[[int, int], None]) -> None:
        self._seen = seen
        self._producer = self._epoch = 0
        self.position: tuple[int, int] | None = None
        """(reset, transaction): the last committed position record; None before the first."""
        self.on_the_way: list[Sent] = []

    def init(self, epoch: int) -> tuple[int, tuple[int, int] | None]:
        """Fences every earlier producer. Returns the new one and the position to go on from."""
        assert epoch >= self._epoch, "a term that is over has fenced the one that leads"
        self._producer, self._epoch = self._producer + 1, epoch
        return self._producer, self.position

    def commit(self, sent: Sent) -> None:
        """Raises Fenced; nothing is committed then."""
        if sent.producer != self._producer:
            raise Fenced
        reset, last = self.position or (0, 0)
        if sent.reset == reset:
            assert sent.first == last + 1, f"{sent.first} committed after {last}: lost or repeated"
        else:
            assert sent.reset > reset, "the position moved back"
        for number in range(sent.first, sent.last + 1):
            self._seen(sent.epoch, number)
        self.position = (sent.reset, sent.last)

    def arrive(self) -> None:
        """What was on its way. Nobody waits for the answers any more."""
        sent, self.on_the_way = self.on_the_way, []
        for one in sent:
            try:
                self.commit(one)
            except Fenced:
                continue
