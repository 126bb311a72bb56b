"""The worker's end of the pipe when its Core is gone."""

from __future__ import annotations

import os

import pytest

from core.channel import WorkerEnd, pair
from core.worker import AGENT_GONE, Link
from replicator.model.position import Position
from replicator.model.schema_history import SchemaRecord


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
