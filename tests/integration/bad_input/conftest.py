"""One task per test, with its user, its database and its folder; or a whole bus of two tasks."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.servers import MySQL, ZooKeeper
from tests.integration.bad_input.bus import Bus
from tests.integration.bad_input.command import Replicator
from tests.integration.bad_input.local import Local


@pytest.fixture
def replicator(tmp_path: Path) -> Iterator[Replicator]:
    """The console script; whatever was started through it is gone after the test."""
    made = Replicator(tmp_path, REPL_PASSWORD="replicator")
    yield made
    made.close()


@pytest.fixture
def local(mysql: MySQL, database: str, replicator: Replicator) -> Local:
    """A task that `replicator run` carries from a table of MySQL into a file."""
    return Local(mysql, database, replicator)


@pytest.fixture
def make_bus(mysql: MySQL, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[ZooKeeper], Bus]]:
    """`make_bus(zookeeper)`: nothing of it is started yet."""
    monkeypatch.setenv("REPL_PASSWORD", mysql.replicator[1])
    databases = [f"{letter}_{uuid.uuid4().hex[:8]}" for letter in "ab"]
    with contextlib.ExitStack() as made:
        for name in databases:
            mysql.execute(f"CREATE DATABASE {name}")
            made.callback(mysql.execute, f"DROP DATABASE {name}")

        def make(zookeeper: ZooKeeper) -> Bus:
            bus = Bus(zookeeper, mysql, databases, tmp_path)
            made.callback(bus.close)
            return bus

        yield make


@pytest.fixture
def bus(make_bus: Callable[[ZooKeeper], Bus], zookeeper: ZooKeeper) -> Bus:
    """A Core and a Server that run two tasks."""
    made = make_bus(zookeeper)
    made.start()
    made.run_all()
    return made
