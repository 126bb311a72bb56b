"""When the guard refuses, a producer's connections end before any byte of an earlier request leaves."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.kafka.batch import OVERHEAD, Batch
from replicator.kafka.machine import Settings
from replicator.kafka.producer import Producer
from replicator.kafka.security import PLAINTEXT

REFUSED = PermissionError("the lease is over")


class Lease:
    """Allows as many questions as `left` says."""

    def __init__(self) -> None:
        self.left = 0

    def __call__(self) -> None:
        self.left -= 1
        if self.left < 0:
            raise REFUSED


@pytest.fixture
def lease() -> Lease:
    return Lease()


@pytest.fixture
def producer(lease: Lease) -> Iterator[Producer]:
    """With an unfinished batch."""
    made = Producer([("127.0.0.1", 1)], Settings(), lease, PLAINTEXT)
    made.append(Batch(("a", 0), memoryview(bytearray(OVERHEAD + 1)), 1, 0, lambda error: None))
    yield made
    made.close(1)


def calls_of(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What is done with the connections: `handle` and `tick` write what waits in them, `close` resets them."""
    calls: list[str] = []

    def noted(name: str) -> None:
        original = getattr(producer._links, name)

        def call(*arguments: Any) -> None:
            calls.append(name)
            original(*arguments)

        monkeypatch.setattr(producer._links, name, call)

    for name in ("handle", "tick", "close", "want"):
        noted(name)
    return calls


def test_guard_is_asked_before_anything_is_written(producer: Producer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was stopped for longer than its lease wakes with bytes of a request that has not left yet."""
    calls = calls_of(producer, monkeypatch)
    producer._step([(-1, 0)], time.monotonic())
    assert calls == ["close"] and producer.error is REFUSED


def test_connections_end_in_the_step_in_which_the_producer_fails(
    producer: Producer, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    lease.left = 1
    calls = calls_of(producer, monkeypatch)
    producer._step([], time.monotonic())
    assert calls == ["tick", "close"] and producer.error is REFUSED
