"""Where a session begins that an operator has sent to an end of the source's log."""

from __future__ import annotations

import msgspec
import pytest

from replicator.checkpoint.memory_store import MemoryStore
from replicator.errors import SourceUnavailable
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Begin, Position
from replicator.model.topic_offsets import parsed
from replicator.pipeline.beginning import ordered_position
from tests.support.scripted import Bench, Recorder, Script, whole


@pytest.mark.parametrize("held", [None, Position("b.1", 8, reset=1)])
def test_an_end_that_an_operator_ordered_is_asked_for_and_durable_before_the_first_row(held: Position | None) -> None:
    store = MemoryStore(Checkpoint(Position("", 4, reset=2, begin="latest")))
    bench = Bench(Script(whole(3)), Recorder(held=held), store)
    bench.run_until(4)
    assert bench.source.begun == ["latest"] and bench.source.opened == [Position("b.1", 3, reset=2)]
    assert bench.store.saved[1].position == Position("b.1", 3, reset=2)
    if held is not None:
        assert bench.sink.of("commit", "flush", "write")[:3] == [("commit", 3), ("flush", None), ("write", 4)]


def test_an_end_that_is_durable_at_the_sink_already_is_not_asked_for_again() -> None:
    """The term that asked for it ended before lastCommit had it; rows may have followed."""
    store = MemoryStore(Checkpoint(Position("", 4, reset=2, begin="latest")))
    bench = Bench(Script(whole(6)), Recorder(held=Position("b.1", 6, reset=2)), store)
    bench.run_until(7)
    assert bench.source.begun == [] and bench.source.opened == [Position("b.1", 6, reset=2)]


def test_a_source_that_is_away_is_asked_again() -> None:
    class Away(Script):
        def start_position(self, begin: Begin | None = None) -> Position:
            found = super().start_position(begin)
            if len(self.begun) == 1:
                raise SourceUnavailable("E2001", "away")
            return found

    bench = Bench(Away(whole(3)), Recorder(), MemoryStore(Checkpoint(Position("", 4, reset=1, begin="earliest"))))
    bench.run_until(4)
    assert bench.source.begun == ["earliest", "earliest"] and bench.source.opened == [Position("b.1", 3, reset=1)]


def test_an_end_of_topics_becomes_their_offsets() -> None:
    class Topics(Script):
        def start_position(self, begin: Begin | None = None) -> Position:
            super().start_position(begin)
            return Position.of_topics(parsed("shop.a:5,7"))

    source = Topics(whole(3))
    found = ordered_position(source, Position("", 4, begin="latest", reset=3))
    assert found == msgspec.structs.replace(Position.of_topics(parsed("shop.a:5,7")), reset=3)
    assert source.begun == ["latest"] and found.begin is None
