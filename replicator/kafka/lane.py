"""The batches of one partition: several in flight, numbered in sequence, retried in their original order.

The broker refuses a batch whose predecessor is missing, but only from a producer that it knows: of one that is new to
it, any batch may come first (KIP-360). So a partition's first batch goes alone, and so does one that is sent again.
"""

from __future__ import annotations

from bisect import insort
from operator import attrgetter
from typing import Final

from replicator.kafka.batch import Batch, Place

LIMIT: Final = 5
"""Batches of a partition in flight: the broker remembers as many, by which it recognizes repeated ones."""

_SEQUENCES: Final = 1 << 31
_KNOWN_SECONDS: Final = 300.0
"""A broker forgets an idle producer after a day by default (`producer.id.expiration.ms`, at least a few minutes)."""

_number: Final = attrgetter("number")


class Lane:
    """
    Attributes:
        waiting: batches that wait to be sent, in order.
        away: batches that are in flight.
        node: the broker to which those in flight went.
        retry_at: monotonic time before which nothing is sent.
        failures: retriable failures since the last success.
    """

    __slots__ = (
        "_alone",
        "_known_until",
        "_next_number",
        "_sequence",
        "_torn",
        "away",
        "failures",
        "node",
        "place",
        "retry_at",
        "waiting",
    )

    def __init__(self, place: Place) -> None:
        self.place = place
        self.waiting: list[Batch] = []
        self.away: list[Batch] = []
        self.node = -1
        self.retry_at = 0.0
        self.failures = 0
        self._sequence = 0
        self._torn = 0, -1  # numbers: of the first batch that an abort has dropped, of the last one in flight then
        self._next_number = 0
        self._known_until = 0.0
        self._alone = False  # a batch is sent again: nothing beside it

    def append(self, batch: Batch, now: float) -> None:
        batch.number = self._next_number
        self._next_number += 1
        batch.created = now
        self.waiting.append(batch)

    def may_send(self, node: int, now: float) -> bool:
        """Whether the next batch may leave for its leader, `node`."""
        if not self.waiting or now < self.retry_at:
            return False
        if not self.away:
            return True
        return not self._alone and node == self.node and len(self.away) < LIMIT and now < self._known_until

    def take(self, node: int, producer_id: int, epoch: int, *, transactional: bool) -> Batch:
        """The next batch, numbered, as in flight."""
        batch = self.waiting.pop(0)
        if batch.sequence < 0:
            batch.seal(producer_id, epoch, self._sequence, transactional=transactional)
            self._sequence = (self._sequence + batch.count) % _SEQUENCES
        self.node = node
        self.away.append(batch)
        return batch

    def written(self, batch: Batch, now: float) -> None:
        """The broker has it."""
        self.away.remove(batch)
        self._known_until = now + _KNOWN_SECONDS
        self._alone = False
        self.failures = 0

    def again(self, batch: Batch, retry_at: float) -> None:
        """It has to be sent again, before those that come after it."""
        self.away.remove(batch)
        insort(self.waiting, batch, key=_number)
        self.failures += not self._alone  # one for all that were in flight
        self._alone = True
        self.retry_at = retry_at

    def follows(self, batch: Batch) -> bool:
        """Whether an earlier batch is not written yet."""
        return any(each.number < batch.number for each in (*self.waiting[:1], *self.away))

    def drop_waiting(self) -> int:
        """Of a transaction that is aborted. Returns how many there were."""
        dropped = len(self.waiting)
        if dropped and self.away:
            self._torn = self.waiting[0].number, max(batch.number for batch in self.away)
        self.waiting.clear()
        return dropped

    def lacks_earlier(self, batch: Batch) -> bool:
        """Whether one before it was dropped, so that its sequence number is not the next."""
        dropped, last_away = self._torn
        return dropped < batch.number <= last_away

    def new_epoch(self) -> None:
        """Sequence numbers begin again. Only while nothing is in flight or waits to be sent again."""
        self._sequence = 0

    def drop(self) -> list[Batch]:
        """Forgets all batches, and returns them in order."""
        dropped = sorted((*self.away, *self.waiting), key=_number)
        self.away, self.waiting = [], []
        return dropped
