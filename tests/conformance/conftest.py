"""Coordinators: the twin in memory, and a real ZooKeeper."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.ports import Coordinator
from replicator.zookeeper.client import connect


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.servers)])
def session(request: pytest.FixtureRequest) -> Iterator[Callable[[], Coordinator]]:
    """Each call opens a session of its own with one tree."""
    opened: list[Coordinator] = []
    if request.param == "memory":
        make: Callable[[], Coordinator] = MemoryEnsemble().session
    else:
        hosts = request.getfixturevalue("zookeeper").hosts
        make = lambda: connect(hosts, session_timeout=4.0)  # noqa: E731

    def opening() -> Coordinator:
        opened.append(make())
        return opened[-1]

    yield opening
    for coordinator in opened:
        coordinator.close()


@pytest.fixture
def zk(session: Callable[[], Coordinator]) -> Coordinator:
    return session()
