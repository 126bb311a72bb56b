"""The worker's end of the pipe: when its Core is gone, and before there is anything to drain."""

from __future__ import annotations

import os
import threading
from typing import Any

import pytest

import core.worker
from core.channel import WorkerEnd, pair
from core.protocol import Drained, WorkerSpec
from core.worker import AGENT_GONE, Link
from replicator.errors import SecretUnavailable
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord
from replicator.model.term import Term
from replicator.telemetry import log


class Ended(Exception):
    pass


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    statuses: list[int] = []

    def end(status: int) -> None:
        statuses.append(status)
        raise Ended

    monkeypatch.setattr(os, "_exit", end)
    return statuses


def test_a_worker_that_asks_a_core_that_is_gone_ends_without_an_error_of_its_own(ended: list[int]) -> None:
    agent, worker = pair()
    agent.close()
    link = Link(WorkerEnd(worker))
    with pytest.raises(Ended):
        link.history.load()
    with pytest.raises(Ended):
        link.history.append(SchemaRecord("ddl", Position("b.1", 4)))
    with pytest.raises(Ended):
        link.listen(lambda: None)
    assert ended == [AGENT_GONE] * 3
    worker.close()


def test_a_worker_that_waits_for_a_secret_ends_when_it_is_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause, a switchover or the configuration that names another command need not wait until it is killed."""
    agent, worker = pair()
    asked = threading.Event()

    class Asked(Link):
        def listen(self, on_drain: Any) -> None:
            asked.wait()
            on_drain()

    def unavailable(*_: Any) -> Any:
        asked.set()
        raise SecretUnavailable("E1046", "the command gives no secret")

    monkeypatch.setattr(core.worker, "build_source", unavailable)
    config = {
        "name": "orders",
        "source": {"type": "mysql", "host": "h", "user": "u", "password": "env:P"},
        "sink": {"type": "stdout"},
    }
    now = 0.0

    def deadline() -> float:
        nonlocal now
        now += 1.0
        return 10.0 - now  # without the drain the term is over after some attempts

    term = Term("orders", "uid", 7, deadline, lambda: 0.0)
    spec = WorkerSpec("orders", "uid", 7, "host", config)
    said = core.worker._run(Asked(WorkerEnd(worker)), spec, term, log.get_logger("worker"))
    assert said == Drained(None)
    agent.close()
    worker.close()
