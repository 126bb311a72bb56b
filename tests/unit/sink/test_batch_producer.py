"""What a batch producer says of a commit that the broker does not answer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from replicator.errors import SinkUnavailable
from replicator.kafka.machine import Settings
from replicator.kafka.producer import Producer
from replicator.kafka.security import PLAINTEXT
from replicator.kafka.transaction import State
from replicator.sink.kafka.batch_producer import BatchProducer
from replicator.sink.kafka.records import Stamp
from replicator.sink.kafka.window import Window


@pytest.fixture
def producer() -> Iterator[Producer]:
    """In a transaction with one partition, of a cluster that is away."""
    made = Producer([("127.0.0.1", 1)], Settings(transactional_id="t"), lambda: None, PLAINTEXT)
    made._machine.transactions.state = State.OPEN
    made.add(("a", 0))
    yield made
    made.close(1)


def test_commit_without_an_answer_is_none(producer: Producer) -> None:
    batches = BatchProducer(producer, Stamp("t", 1), Window(1 << 20, 1.0, lambda age: None), lambda: None, 1.0)
    with pytest.raises(SinkUnavailable, match="the outcome of a commit is unknown"):
        batches.commit(0.1)
