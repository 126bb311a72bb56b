"""Who reads the replies: a caller that waits, and the producer's own thread while nobody does."""

from __future__ import annotations

import select
from typing import Any

import pytest

from replicator.kafka.machine import Settings
from replicator.kafka.producer import Producer
from replicator.kafka.security import PLAINTEXT


@pytest.mark.parametrize("begins", [True, False])
def test_replies_are_left_to_a_caller_that_begins_to_wait(begins: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply that the caretaker takes then does not end that wait: it went on for the 5 s of an idle producer."""
    producer = Producer([("127.0.0.1", 1)], Settings(), lambda: None, PLAINTEXT)
    steps: list[Any] = []

    class Outer:
        def poll(self, timeout: float) -> list[tuple[int, int]]:
            producer._waiting = begins
            return [(producer._poller.fileno(), select.EPOLLIN)]

    with monkeypatch.context() as patched:
        patched.setattr(producer, "_outer", Outer())
        patched.setattr(producer, "_step", lambda *events: steps.append(events))
        producer._care_once()
    producer.close(1)
    assert bool(steps) is not begins
