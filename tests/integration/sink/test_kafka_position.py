"""The position record in Kafka: found again wherever it stands, never guessed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaProducer

from replicator.config.task import KafkaSink
from replicator.errors import SinkError, UnknownTerm
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all


@pytest.fixture
def sink(kafka: Any, task: str) -> Iterator[Sink]:
    made = open_sink(KafkaSink(type="kafka", bootstrap_servers=(kafka.bootstrap,)), task)
    yield made
    made.close()


@pytest.fixture
def put(kafka: Any, task: str) -> Iterator[Callable[[list[tuple[bytes, bytes | None]]], None]]:
    """Writes records to the position topic from outside."""
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, linger_ms=5)

    def send(records: list[tuple[bytes, bytes | None]]) -> None:
        for key, value in records:
            producer.send(f"replicator.position.{task}", key=key, value=value)
        producer.flush(20)

    yield send
    producer.close(timeout=5)


Put = Callable[[list[tuple[bytes, bytes | None]]], None]


def term(task: str, epoch: int = 1, uid: str = "u1") -> Term:
    return Term(task, uid, epoch, lambda: float("inf"))


def moved(sink: Sink, task: str, to: Position) -> None:
    sink.open(term(task))
    sink.commit(to)
    sink.flush(10)


def test_the_record(sink: Sink, kafka: Any, task: str) -> None:
    position = Position("binlog.000003", 4711, "3E11FA47-71CA-11E1-9E33-C80AA9429562:1-5", 17)
    moved(sink, task, position)
    (record,) = read_all(kafka.bootstrap, f"replicator.position.{task}")
    value = json.loads(record.value or b"")
    assert record.key == task.encode()
    assert (value["v"], value["uid"], value["epoch"]) == (1, "u1", 1)
    assert value["position"]["gtid"] == position.gtid
    assert sink.open(term(task)) == position


def test_heartbeats_of_an_idle_source_commit_nothing_anew(sink: Sink, kafka: Any, task: str) -> None:
    moved(sink, task, at(7))
    time.sleep(1.1)  # as long as positions without rows wait for company
    for _ in range(3):
        sink.commit(at(7))
        assert sink.acknowledged() == at(7)
    sink.commit(at(8))
    assert sink.acknowledged() == at(8)
    assert len(read_all(kafka.bootstrap, f"replicator.position.{task}")) == 2


def test_a_huge_gtid_set(sink: Sink, task: str) -> None:
    gtid = ",".join(f"3E11FA47-71CA-11E1-9E33-C80A{n:08d}:1-{n}:{n + 2}-{n + 9}" for n in range(8000))
    moved(sink, task, Position("binlog.000003", 4711, gtid))
    assert sink.open(term(task)) == Position("binlog.000003", 4711, gtid)


def test_found_far_back(sink: Sink, task: str, put: Put) -> None:
    moved(sink, task, at(100))
    put([(b"another task", b"x" * 50)] * 3000)
    assert sink.open(term(task)) == at(100)


def test_aborted_transactions_do_not_count(sink: Sink, task: str) -> None:
    moved(sink, task, at(100))
    for _ in range(34):  # more markers than the first look goes back
        sink.write(batch(200, (task + ".t", b"k", b"v")))
        sink.close()
        assert sink.open(term(task)) == at(100)


def test_what_another_incarnation_left_is_told_and_not_taken(sink: Sink, task: str) -> None:
    moved(sink, task, at(100))
    assert sink.open(term(task, uid="u2")) is None
    assert sink.left == at(100)
    assert sink.open(term(task)) == at(100)
    assert sink.left is None


def test_a_tombstone_resets(sink: Sink, task: str, put: Put) -> None:
    moved(sink, task, at(100))
    put([(task.encode(), None)])
    assert sink.open(term(task, uid="u2")) is None
    assert sink.left is None


def test_a_later_terms_record_is_refused(sink: Sink, task: str) -> None:
    moved(sink, task, at(100))
    sink.open(term(task, 9))
    sink.commit(at(200))
    sink.flush(10)
    with pytest.raises(UnknownTerm, match="epoch 9") as raised:
        sink.open(term(task, 8))
    assert raised.value.epoch == 9


def test_what_can_not_be_read_stops(sink: Sink, task: str, put: Put) -> None:
    moved(sink, task, at(100))
    put([(task.encode(), b'{"v":3}')])
    with pytest.raises(SinkError) as raised:
        sink.open(term(task))
    assert raised.value.code == "E3108"
    assert not raised.value.transient


def test_commits_without_rows_are_paced(sink: Sink, kafka: Any, task: str) -> None:
    """Heartbeats move the position: not a transaction each."""
    moved(sink, task, at(100))
    for offset in range(101, 200):
        sink.commit(at(offset))
    assert sink.acknowledged() == at(100)
    sink.flush(10)
    assert sink.acknowledged() == at(199)
    assert len(read_all(kafka.bootstrap, f"replicator.position.{task}")) == 2


def test_a_waiting_position_is_written_by_and_by(sink: Sink, task: str, monkeypatch: pytest.MonkeyPatch) -> None:
    moved(sink, task, at(100))
    sink.commit(at(101))
    assert sink.acknowledged() == at(100)
    monkeypatch.setattr("replicator.sink.kafka.exactly_once._IDLE_SECONDS", 0.0)
    assert sink.acknowledged() == at(101)
    assert sink.open(term(task)) == at(101)
