"""Numbered rows through the Kafka sinks, and what a consumer of them sees."""

from __future__ import annotations

import time
from collections import defaultdict
from typing import Any

from replicator.config.task import KafkaSink
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from tests.conformance.sinks import at, batch
from tests.support.consume import Consumed

DELIVERIES = ["exactly_once", "at_least_once"]


def config(bootstrap: str, **options: Any) -> KafkaSink:
    settings = {"delivery_timeout_ms": 20_000, "partitions": 2, **options}
    return KafkaSink(type="kafka", bootstrap_servers=(bootstrap,), **settings)


def term(task: str, epoch: int = 1) -> Term:
    return Term(task, "u1", epoch, lambda: float("inf"))


def deliver(sink: Sink, topic: str, number: int, *, writes: int = 1) -> None:
    """A transaction: in each of its writes a row for each of 5 keys, whose value counts the writes of all."""
    for step in range(number * writes, (number + 1) * writes):
        sink.write(batch(number, *[(topic, b"k%d" % key, b"%d" % step) for key in range(5)]))
    sink.commit(at(number))


class Stream:
    """A source of numbered rows that resumes where it is told: a transaction is `writes` times one row for each of 5
    keys. `done`: the last one that was handed over."""

    def __init__(self, sink: Sink, task: str, topic: str, length: int, *, writes: int = 1) -> None:
        self._sink, self._task, self._topic, self._length, self._writes = sink, task, topic, length, writes
        self.errors: list[ReplicatorError] = []
        self.done = 0

    def run(self, epoch: int = 1, deadline: float = 90.0) -> None:
        """Delivers all transactions, in the pipeline's way: an error means open again and resume."""
        until = time.monotonic() + deadline
        acknowledged: Position | None = None
        while time.monotonic() < until:
            try:
                held = self._sink.open(term(self._task, epoch))
                resume = held or acknowledged
                self._deliver(resume.offset + 1 if resume else 0)
                self._sink.flush(20)
                return
            except ReplicatorError as error:
                if not error.transient:
                    raise
                self.errors.append(error)
                acknowledged = self._acknowledged() or acknowledged
                self._sink.close()
                time.sleep(0.2)
        raise AssertionError(f"not delivered in {deadline} s: {self.errors[-3:]}")

    def _acknowledged(self) -> Position | None:
        try:
            return self._sink.acknowledged()
        except ReplicatorError:
            return None

    def _deliver(self, first: int) -> None:
        for number in range(first, self._length):
            deliver(self._sink, self._topic, number, writes=self._writes)
            self._sink.acknowledged()
            self.done = number


def per_key(records: list[Consumed]) -> dict[bytes | None, list[int]]:
    found: dict[bytes | None, list[int]] = defaultdict(list)
    for record in records:
        found[record.key].append(int(record.value or b""))
    return found


def firsts(numbers: list[int]) -> list[int]:
    """Without repetitions: what a consumer sees that drops what it has seen."""
    return list(dict.fromkeys(numbers))
