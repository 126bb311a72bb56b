from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import pytest

from core.role_log import VARIABLE, WatchedSink, watched
from dev.checker.roles import read_roles
from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink


class Broker(Sink):
    """A sink that acknowledges what it is told to."""

    dead_letters = 0
    left = None
    holds_position = False
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    waited_s = 0.0
    by_sql = False

    def __init__(self) -> None:
        self.durable: Position | None = None

    def open(self, term: Term) -> Position | None:
        return None

    def write(self, batch: Batch) -> None: ...

    def commit(self, position: Position) -> None: ...

    def acknowledged(self) -> Position | None:
        return self.durable

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        if progress is not None:
            progress()

    def close(self) -> None: ...


def at(offset: int) -> Position:
    return Position("binlog.000001", offset)


def batch(offset: int) -> Batch:
    return Batch([], at(offset), True, 1, 1, 10, 0)


@pytest.fixture
def broker() -> Broker:
    return Broker()


@pytest.fixture
def sink(broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sink:
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    sink = watched(broker, "orders", "host-a", 7)
    sink.open(Term.unlimited("orders"))
    return sink


def test_without_the_variable_the_sink_is_used_as_it_is(broker: Broker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert watched(broker, "orders", "host-a", 7) is broker


def test_from_the_first_to_the_last_acknowledged_step(sink: Sink, broker: Broker, tmp_path: Path) -> None:
    before = time.monotonic()
    for offset in (10, 20, 30):
        sink.write(batch(offset))
        sink.commit(at(offset))
        broker.durable = at(offset)
        assert sink.acknowledged() == at(offset)
    [role] = read_roles(tmp_path, "orders")
    assert (role.instance.split("/")[0], role.epoch) == ("host-a", 7)
    assert before - 1e-6 <= role.begin < role.end <= time.monotonic()


def test_a_step_that_is_never_acknowledged_is_no_emission(sink: Sink, broker: Broker, tmp_path: Path) -> None:
    """A worker that was frozen in it, and fenced meanwhile."""
    sink.write(batch(10))
    sink.commit(at(10))
    broker.durable = at(10)
    sink.acknowledged()
    [before] = read_roles(tmp_path, "orders")
    sink.write(batch(20))
    sink.commit(at(20))
    sink.acknowledged()
    assert read_roles(tmp_path, "orders") == [before]


def test_who_never_emitted_has_no_interval_and_other_tasks_have_theirs(sink: Sink, tmp_path: Path) -> None:
    assert isinstance(sink, WatchedSink)
    sink.acknowledged()
    assert read_roles(tmp_path, "orders") == [] and read_roles(tmp_path, "others") == []


@pytest.mark.parametrize("call", ["acknowledged", "commit", "write", "flush"])
def test_a_commit_that_a_later_call_ends_is_a_step_of_that_time(
    sink: Sink, broker: Broker, tmp_path: Path, call: str
) -> None:
    sink.commit(at(10))
    broker.unfinished = True
    time.sleep(0.02)
    later = time.monotonic()
    if call == "commit":
        sink.commit(at(20))
    elif call == "write":
        sink.write(batch(20))
    elif call == "flush":
        sink.flush(1)
    broker.durable = at(10)
    sink.acknowledged()
    [role] = read_roles(tmp_path, "orders")
    assert role.end >= later - 1e-6


def test_a_drain_hears_of_each_acknowledgement(sink: Sink) -> None:
    """A Core waits for a worker that drains for as long as it does."""
    heard: list[int] = []
    sink.flush(1, lambda: heard.append(1))
    assert heard == [1]
