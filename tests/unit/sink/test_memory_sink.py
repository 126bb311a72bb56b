"""The faults of the memory twin; what it shares with the real sinks stands in the conformance suite."""

from __future__ import annotations

import pytest

from replicator.errors import SinkError, SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.memory_sink import MemoryBroker, MemorySink

AT = Position("binlog.000001", 4)
BATCH = Batch([("t", b"k", b"v", b"binlog.000001:4", 0, ())], AT, True)


@pytest.fixture
def sink() -> MemorySink:
    made = MemorySink("copy")
    made.open(Term.unlimited("copy", "u"))
    return made


def test_a_commit_that_fails_before_it_took_effect(sink: MemorySink) -> None:
    sink.fail("commit")
    sink.write(BATCH)
    with pytest.raises(SinkUnavailable):
        sink.commit(AT)
    assert sink.open(Term.unlimited("copy", "u")) is None
    assert sink.broker.records == []


def test_a_commit_whose_answer_is_lost(sink: MemorySink) -> None:
    sink.fail("commit", applied=True)
    sink.write(BATCH)
    with pytest.raises(SinkUnavailable):
        sink.commit(AT)
    assert sink.acknowledged() is None
    assert sink.open(Term.unlimited("copy", "u")) == AT
    assert len(sink.broker.records) == 1


def test_faults_come_once_and_in_order(sink: MemorySink) -> None:
    first, second = SinkError("E3107", "one"), SinkError("E3107", "two")
    sink.fail("write", first)
    sink.fail("write", second)
    for wanted in (first, second):
        with pytest.raises(SinkError) as raised:
            sink.write(BATCH)
        assert raised.value is wanted
    sink.write(BATCH)
    assert len(sink.uncommitted) == 1


def test_at_least_once_acknowledges_when_told() -> None:
    sink = MemorySink("copy", MemoryBroker(), "at_least_once", auto=False)
    sink.open(Term.unlimited("copy"))
    sink.write(BATCH)
    assert len(sink.broker.records) == 1
    sink.commit(AT)
    assert sink.acknowledged() is None
    with pytest.raises(SinkUnavailable):
        sink.flush(0.1)
    sink.settle()
    assert sink.acknowledged() == AT
    sink.flush(0.1)
