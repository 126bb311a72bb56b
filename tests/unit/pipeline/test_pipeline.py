"""The pipeline over twins: what is committed together, what is resumed from where, what an error leaves behind."""

from __future__ import annotations

import msgspec
import pytest

from replicator.checkpoint.memory_store import MemoryStore
from replicator.errors import (
    DecodeError,
    LeadershipLost,
    ReplicatorError,
    SinkError,
    SinkFenced,
    SinkUnavailable,
    SourceUnavailable,
)
from replicator.model.batch import Batch
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.pipeline import pipeline
from replicator.pipeline.buffer import joined
from replicator.pipeline.pipeline import _WRITE_BYTES
from replicator.pipeline.ports import Stream
from tests.support.scripted import Bench, Hand, Recorder, Script, ScriptStream, part, whole


def test_the_starting_point_is_durable_before_the_first_row() -> None:
    bench = Bench(Script(whole(0)), Recorder())
    bench.run_until(1)
    assert [checkpoint.position.offset for checkpoint in bench.store.saved] == [0, 1]
    assert bench.store.saved[-1] == bench.pipeline.run(until=Position("b.1", 1))


def test_it_resumes_where_the_store_says_without_asking_for_a_start() -> None:
    bench = Bench(Script(whole(5)), Recorder(), MemoryStore(Checkpoint(Position("b.1", 5), 3, rows=40)))
    bench.run_until(6)
    assert bench.source.opened == [Position("b.1", 5)]
    assert bench.store.saved[-1].rows == 41
    assert bench.store.saved[-1].epoch == 7


def test_the_position_of_the_sink_goes_before_that_of_the_store() -> None:
    bench = Bench(Script(whole(8)), Recorder(held=Position("b.1", 8)), MemoryStore(Checkpoint(Position("b.1", 5))))
    bench.run_until(9)
    assert bench.source.opened == [Position("b.1", 8)]


def test_a_sink_that_is_ahead_moves_the_checkpoint_at_once() -> None:
    """Whoever sets a position must see where the task stands, also when the crash came before the checkpoint."""
    store = MemoryStore(Checkpoint(Position("b.1", 5), rows=3))
    bench = Bench(Script(), Recorder(held=Position("b.1", 8)), store)
    bench.run_until(8)
    saved = store.load()
    assert saved is not None and (saved.position, saved.rows) == (Position("b.1", 8), 3)


def test_a_sink_that_begins_to_hold_the_position_is_given_it_first() -> None:
    """Durably, before a row: from then on the older of the two is a copy, and a crash in between changes nothing."""
    store = MemoryStore(Checkpoint(Position("b.1", 9), in_sink=False))
    bench = Bench(Script(whole(9)), Recorder(held=Position("b.1", 5)), store)
    bench.run_until(10)
    assert bench.source.opened == [Position("b.1", 9)]
    assert bench.sink.of("commit", "flush", "write")[:3] == [("commit", 9), ("flush", None), ("write", 10)]
    assert [(saved.position.offset, saved.in_sink) for saved in bench.store.saved[1:]] == [(9, True), (10, True)]


def test_a_sink_that_holds_no_position_is_remembered_before_the_first_row() -> None:
    bench = Bench(Script(whole(5)), Recorder(), MemoryStore(Checkpoint(Position("b.1", 5), in_sink=True)))
    bench.run_until(6)
    assert [(saved.position.offset, saved.in_sink) for saved in bench.store.saved[1:]] == [(5, False), (6, False)]


def test_a_sink_that_has_lost_what_it_held_stops_the_task() -> None:
    store = MemoryStore(Checkpoint(Position("b.1", 9), in_sink=True))
    bench = Bench(Script(whole(5)), Recorder(held=Position("b.1", 5)), store)
    with pytest.raises(SinkError) as caught:
        bench.run_until(6)
    assert (caught.value.code, bench.source.opened) == ("E3114", [])


def test_a_position_that_an_operator_set_goes_before_that_of_the_sink() -> None:
    ordered = Checkpoint(Position("b.1", 5, reset=1))
    bench = Bench(Script(whole(5)), Recorder(held=Position("b.1", 8)), MemoryStore(ordered))
    bench.run_until(6)
    assert bench.source.opened == [Position("b.1", 5, reset=1)]


class Server(Script):
    """A source that knows whose binlog it reads."""

    name = "a@1"

    def open(self, position: Position) -> ScriptStream:
        stream = super().open(position)
        stream.position = msgspec.structs.replace(position, server=self.name)
        return stream


def test_the_server_is_durable_before_the_first_row() -> None:
    """A position of unknown origin is taken for that of the first server, and from then on for no other's."""
    sink, store = Recorder(), MemoryStore(Checkpoint(Position("b.1", 5, reset=1), rows=3))
    bench = Bench(Server(SinkUnavailable("E3001", "away"), then=[whole(5)]), sink, store)
    bench.run_until(6)
    before = [(saved.position.server, saved.rows) for saved in store.saved if saved.position.offset == 5]
    assert before[-1] == ("a@1", 3)
    assert [position.server for position in bench.source.opened] == ["", "a@1"]


def test_a_sink_that_knows_no_server_does_not_forget_it() -> None:
    held, known = Position("b.1", 5), Position("b.1", 5, server="a@1")
    bench = Bench(Server(whole(5)), Recorder(held=held), MemoryStore(Checkpoint(known)))
    bench.run_until(6)
    assert bench.source.opened == [known]


@pytest.fixture
def unhurried(monkeypatch: pytest.MonkeyPatch) -> None:
    """No commit comes early because the machine is busy."""
    for name in ("_FIRST_SECONDS", "_MOST_SECONDS", "_NEXT_SECONDS"):
        monkeypatch.setattr(pipeline, name, 60.0)


def test_whole_transactions_are_joined_while_there_is_a_backlog() -> None:
    script = Script(*[whole(number) for number in range(20)])
    script.read_size = 1 << 20
    bench = Bench(script, Recorder(slow=0.005))
    bench.run_until(20)
    assert len(bench.sink.of("commit")) < 20
    assert bench.sink.of("commit")[-1] == ("commit", 20)


def test_the_first_commits_of_a_backlog_come_early_and_then_fewer_and_fewer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipeline, "_FIRST_SECONDS", 1e-9)
    monkeypatch.setattr(pipeline, "_MOST_SECONDS", 3600.0)
    script = Script(*[whole(number, size=_WRITE_BYTES) for number in range(300)])
    script.read_size = 1 << 20
    bench = Bench(script, Recorder(), max_batch_bytes=1 << 60)
    bench.run_until(300)
    calls = bench.sink.of("write", "commit")
    assert calls[:2] == [("write", 1), ("commit", 1)]
    assert 10 < len(bench.sink.of("commit")) < 100


def test_whole_transactions_are_committed_before_the_beginning_of_one_of_unknown_length() -> None:
    big = _WRITE_BYTES
    bench = Bench(Script(whole(0), whole(1), part(2, 3, size=big), whole(2)), Recorder(slow=0.01))
    bench.run_until(3)
    calls = bench.sink.of("write", "commit")
    assert ("commit", 2) in calls[: calls.index(("write", (2, 3)))]
    assert calls[-1] == ("commit", 3)


@pytest.mark.usefixtures("unhurried")
def test_they_are_committed_together_with_the_next_where_that_is_known_to_be_short() -> None:
    """At half a million rows a second a commit of its own for each transaction of some thousand costs half the time."""
    big = _WRITE_BYTES
    short = part(2, 3, size=big, length=big)
    bench = Bench(Script((whole(0), whole(1), short, whole(2))), Recorder(slow=0.01), max_batch_bytes=4 * big)
    bench.run_until(3)
    assert bench.sink.of("commit") == [("commit", 3)]
    long = part(2, 3, size=big, length=big + 1)
    bench = Bench(Script((whole(0), whole(1), long, whole(2))), Recorder(slow=0.01), max_batch_bytes=4 * big)
    bench.run_until(3)
    assert bench.sink.of("commit") == [("commit", 2), ("commit", 3)]


@pytest.mark.usefixtures("unhurried")
def test_whole_transactions_are_delivered_when_the_one_that_they_are_bound_to_can_not_be_read() -> None:
    big = _WRITE_BYTES
    unreadable = DecodeError("E2302", "an event can't be read")
    short = part(2, 3, size=big, length=big)
    bench = Bench(Script((whole(0), whole(1), short), unreadable), Recorder(slow=0.01), max_batch_bytes=4 * big)
    bench.source.then = [(whole(0), whole(1), short), unreadable]
    with pytest.raises(DecodeError):
        bench.pipeline.run()
    assert bench.sink.of("commit") == [("commit", 1), ("commit", 2)]
    assert [position.offset for position in bench.source.opened] == [0, 0]


@pytest.mark.parametrize(
    "error", [SinkFenced("E3104", "a later term has written already"), LeadershipLost("E4008", "the lease is over")]
)
def test_who_leads_no_more_does_not_open_the_sink_again(
    error: ReplicatorError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That would throw out the one that leads now."""
    big = _WRITE_BYTES
    sink = Recorder(slow=0.01)
    bench = Bench(
        Script((whole(0), whole(1), part(2, 3, size=big, length=big), whole(2))), sink, max_batch_bytes=4 * big
    )
    write = sink.write

    def refuse(batch: Batch) -> None:
        write(batch)
        if not batch.boundary:
            raise error

    monkeypatch.setattr(sink, "write", refuse)
    with pytest.raises(type(error)):
        bench.run_until(3)
    assert len(sink.of("open")) == 1


def test_only_what_is_inside_one_transaction_makes_it_too_large() -> None:
    big = _WRITE_BYTES
    items = (whole(0, size=big), part(1, 2, size=big, length=9), part(1, 3, size=9), whole(1))
    bench = Bench(Script(items), Recorder(slow=0.01), max_transaction_bytes=big + 100)
    bench.run_until(2)
    assert bench.sink.of("commit") == [("commit", 2)]


def test_a_small_unfinished_transaction_waits_for_its_end() -> None:
    bench = Bench(Script(part(0, 2, size=50), whole(0)), Recorder())
    bench.run_until(1)
    assert bench.sink.of("write") == [("write", 1)]


def test_what_the_decoder_has_left_of_a_read_comes_before_the_next_read() -> None:
    big = _WRITE_BYTES
    bench = Bench(Script((part(0, 2, size=big), part(0, 3, size=big), whole(0)), whole(1)), Recorder())
    bench.run_until(2)
    written = bench.sink.of("write")
    assert written[:2] == [("write", (0, 2)), ("write", (0, 3))]
    assert written[2:] in ([("write", 1), ("write", 2)], [("write", 2)])


def test_joining_keeps_the_counts_of_both() -> None:
    both = joined(part(0, 2, size=50), whole(0, rows=3))
    assert (both.rows, both.transactions, both.size, both.boundary) == (5, 1, 150, True)
    assert len(both.records) == 5
    assert both.position == Position("b.1", 1)


def test_draining_drops_a_half_read_transaction_and_keeps_what_is_whole() -> None:
    bench = Bench(Script(whole(0), part(1, 3, size=2 << 20)), Recorder())
    waiting = bench.drain_when(lambda: bool(bench.sink.of("write")[1:]))
    checkpoint = bench.pipeline.run()
    waiting.join()
    assert checkpoint is not None
    assert checkpoint.position == Position("b.1", 1)
    assert bench.sink.of("commit") == [("commit", 1)]


def test_draining_writes_nothing_more_that_was_read_before() -> None:
    """Behind an outage that would take as long as the sink takes for all of it, and nothing is saved meanwhile."""

    class Draining(Recorder):
        def write(self, batch: Batch) -> None:
            super().write(batch)
            bench.pipeline.drain()

    big = _WRITE_BYTES
    bench = Bench(Script((whole(0, size=big), whole(1, size=big), whole(2, size=big))), Draining())
    checkpoint = bench.pipeline.run()
    assert checkpoint is not None
    assert checkpoint.position == Position("b.1", 1)
    assert bench.sink.of("write", "commit", "flush") == [("write", 1), ("commit", 1), ("flush", None)]


def test_split_transactions_are_remembered_by_their_rows() -> None:
    bench = Bench(Script(part(1, 3, size=2 << 20)), Recorder(), split_transactions=True)
    waiting = bench.drain_when(lambda: bool(bench.sink.of("commit")))
    checkpoint = bench.pipeline.run()
    waiting.join()
    assert checkpoint is not None
    assert checkpoint.position == Position("b.1", 1, "", 3)


def test_a_lost_source_resumes_after_what_was_delivered() -> None:
    lost = SourceUnavailable("E2002", "connection lost")
    bench = Bench(Script(whole(0), whole(1), lost, whole(2)), Recorder())
    bench.run_until(3)
    assert [position.offset for position in bench.source.opened] == [0, 2]
    assert [error.code for error in bench.watcher.errors] == ["E2002"]
    assert bench.watcher.figures.rows == 3


def test_a_lost_source_in_the_middle_of_a_transaction_reads_it_again() -> None:
    lost = SourceUnavailable("E2002", "connection lost")
    bench = Bench(Script(whole(0), part(1, 3, size=2 << 20), lost, whole(1)), Recorder())
    bench.run_until(2)
    assert bench.source.opened == [Position("b.1", 0), Position("b.1", 1)]


def test_a_failing_sink_is_opened_again_and_asked_for_its_position() -> None:
    sink = Recorder(held=Position("b.1", 0))
    sink.fail = [("commit", SinkUnavailable("E3002", "outcome unknown"))]
    bench = Bench(Script(whole(0), then=[whole(0), whole(1)]), sink)
    bench.run_until(2)
    assert [position.offset for position in bench.source.opened] == [0, 0]
    assert len(sink.of("open")) == 2


def test_what_came_before_an_unreadable_event_is_delivered_before_it_fails() -> None:
    bench = Bench(Script(whole(0), whole(1), DecodeError("E2301", "XA_PREPARE")), Recorder())
    with pytest.raises(DecodeError):
        bench.pipeline.run()
    assert bench.sink.of("commit")[-1] == ("commit", 2)
    assert bench.store.saved[-1].position == Position("b.1", 2)


def test_nothing_is_written_or_saved_after_the_lease() -> None:
    bench = Bench(Script(whole(0)), Recorder())
    bench.deadline = 0.0
    with pytest.raises(LeadershipLost):
        bench.pipeline.run()
    assert bench.sink.of("write", "commit") == []
    assert [checkpoint.position.offset for checkpoint in bench.store.saved] == [0]


def test_what_was_written_is_not_committed_after_the_lease() -> None:
    """It ends while the sink takes the batch: the check before the write has passed."""

    class Slow(Recorder):
        def write(self, batch: Batch) -> None:
            super().write(batch)
            bench.deadline = 0.0

        def commit(self, position: Position) -> None:
            super().commit(position)
            bench.pipeline.drain()  # it must not come here, and if it does the test ends

    bench = Bench(Script(whole(0)), Slow())
    with pytest.raises(LeadershipLost):
        bench.pipeline.run()
    assert len(bench.sink.of("write")) == 1
    assert bench.sink.of("commit") == []


def test_an_end_that_is_reached_already_reads_nothing() -> None:
    bench = Bench(Script(whole(0)), Recorder())
    bench.run_until(0)
    assert bench.source.opened == []


def test_a_slow_sink_stops_the_reading() -> None:
    batches = [whole(number, size=1 << 20) for number in range(50)]
    bench = Bench(Script(*batches), Recorder(slow=0.02), buffer_bytes=4 << 20)
    waiting = bench.drain_when(lambda: len(bench.sink.of("write")) >= 3)
    bench.pipeline.run()
    waiting.join()
    assert len(bench.source.items) > 30


def test_an_error_after_the_lease_is_the_end_of_the_term_not_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(Script(), Recorder())

    def open_and_expire(position: Position) -> ScriptStream:
        bench.deadline = 0.0
        raise DecodeError("E2207", "thrown out")

    monkeypatch.setattr(bench.source, "open", open_and_expire)
    with pytest.raises(LeadershipLost):
        bench.pipeline.run()


class Picky(Recorder):
    """Refuses for good what ends at `refused`."""

    refused = 0

    def write(self, batch: Batch) -> None:
        if batch.position.offset == self.refused:
            raise SinkError("E3102", "too large")
        super().write(batch)


def test_what_a_sink_refuses_does_not_hold_back_what_came_before_it() -> None:
    sink = Picky()
    sink.refused = 3
    script = Script(whole(0), whole(1), whole(2), then=[whole(0), whole(1), whole(2), whole(3)])
    script.read_size = 1 << 20  # a backlog, so that the three would be one commit
    bench = Bench(script, sink)
    with pytest.raises(SinkError, match="E3102"):
        bench.pipeline.run()
    assert sink.of("commit")[-1] == ("commit", 2)
    assert bench.store.saved[-1].position == Position("b.1", 2)
    assert len(sink.of("open")) == 2


def test_streaming_is_said_when_the_decoder_knows_its_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first decoder of a task reads their definitions: whoever waits for the word may change them behind it."""
    happened: list[str] = []

    class Reads(Hand):
        def __init__(self, stream: Stream) -> None:
            happened.append("definitions")
            super().__init__(stream)

    bench = Bench(Script(whole(0)), Recorder())
    bench.pipeline._make_decoder = Reads
    monkeypatch.setattr(bench.watcher, "streaming", lambda position: happened.append("streaming"))
    bench.run_until(1)
    assert happened == ["definitions", "streaming"]


def test_an_error_that_waits_in_the_decoder_needs_no_new_bytes() -> None:
    class Deferred(Hand):
        def feed(self, data: bytes) -> list[Batch]:
            if not data:
                raise DecodeError("E2301", "XA_PREPARE")
            return super().feed(data)

    bench = Bench(Script(whole(0)), Recorder())
    bench.pipeline._make_decoder = Deferred
    with pytest.raises(DecodeError):
        bench.pipeline.run()
    assert bench.store.saved[-1].position == Position("b.1", 1)


def test_an_error_that_waits_in_the_decoder_is_not_lost_at_the_end_of_the_stream() -> None:
    class Last(Hand):
        def end(self) -> None:
            raise DecodeError("E2302", "the file ends inside an event")

    bench = Bench(Script(whole(0), SourceUnavailable("E2002", "the recording ended")), Recorder())
    bench.pipeline._make_decoder = Last
    with pytest.raises(DecodeError, match="E2302"):
        bench.pipeline.run()
    assert bench.store.saved[-1].position == Position("b.1", 1)
    assert bench.watcher.errors == []


def test_a_task_does_not_begin_now_where_an_earlier_one_of_its_name_stopped() -> None:
    sink = Recorder()
    sink.left = Position("b.1", 70, "u:1-9")
    bench = Bench(Script(whole(0)), sink)
    with pytest.raises(SinkError, match=r"E3109.*b.1:70.*u:1-9.*source.start: {gtid: 'u:1-9'}"):
        bench.run_until(1)
    assert bench.store.saved == []
    assert bench.source.opened == []


def test_it_does_where_it_was_told_to_begin_and_where_it_has_a_position() -> None:
    for options, store in (({"start_given": True}, None), ({}, MemoryStore(Checkpoint(Position("b.1", 0), 3)))):
        sink = Recorder()
        sink.left = Position("b.1", 70)
        bench = Bench(Script(whole(0)), sink, store, **options)
        last = bench.run_until(1)
        assert last is not None and last.position.offset == 1


def test_a_large_transaction_is_committed_in_parts_where_the_task_says_so() -> None:
    whole_one = (part(1, 3, size=2 << 20), part(1, 6, size=2 << 20), part(1, 9, size=2 << 20), whole(1))
    bench = Bench(Script(*whole_one), Recorder(), max_transaction_bytes=4 << 20)
    bench.run_until(2)
    assert [call for call in bench.sink.calls if call[0] == "commit"] == [("commit", 1), ("commit", 2)]
    assert [saved.position.rows for saved in bench.store.saved] == [0, 6, 0]


def test_the_parts_of_a_snapshots_chunk_are_not() -> None:
    """Their progress comes with the last one: a commit before it would deliver the rows of the others twice."""
    chunk = (part(1, 0, size=2 << 20), part(1, 0, size=2 << 20), part(1, 0, size=2 << 20), whole(1))
    bench = Bench(Script(*chunk), Recorder(), max_transaction_bytes=4 << 20)
    bench.run_until(2)
    assert [call for call in bench.sink.calls if call[0] == "commit"] == [("commit", 2)]


def test_it_ends_of_itself_where_it_was_told_to() -> None:
    bench = Bench(Script(whole(0), whole(1), whole(2)), Recorder(), until=Position("b.1", 2))
    last = bench.pipeline.run()
    assert last is not None and last.position.offset == 2


def test_on_another_server_of_the_group_it_ends_by_gtids() -> None:
    """Whose files and offsets are others: further ones, or earlier ones."""
    server = "11111111-2222-3333-4444-555555555555"
    batches = [
        msgspec.structs.replace(whole(number), position=Position("c.7", number + 1, f"{server}:1-{number + 1}"))
        for number in range(3)
    ]
    for until in (Position("c.1", 1, f"{server}:1-2"), Position("c.9", 900, f"{server}:1-2")):
        last = Bench(Script(*batches), Recorder(), until=until).pipeline.run()
        assert last is not None and last.position.offset == 2
