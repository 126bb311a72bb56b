"""One suite over every sink: what `ports.Sink` promises, whatever stands behind it."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replicator.errors import LeadershipLost, SinkError, SinkFenced
from replicator.model.batch import Batch
from replicator.model.partitioner import partition_of
from replicator.pipeline.ports import Sink
from replicator.sink.kafka.at_least_once import AtLeastOnceSink
from replicator.sink.kafka.exactly_once import ExactlyOnceSink
from tests.conformance.sinks import (
    MAX_RECORD,
    DatabaseSubject,
    FileSubject,
    KafkaSubject,
    Lease,
    MemorySubject,
    Subject,
    at,
    batch,
    values,
)
from tests.support.present import present

KINDS = [
    "memory-exactly_once",
    "memory-at_least_once",
    "file",
    pytest.param("kafka-exactly_once", marks=pytest.mark.servers),
    pytest.param("kafka-at_least_once", marks=pytest.mark.servers),
    pytest.param("kafka-exactly_once-plain", marks=pytest.mark.servers),
    pytest.param("kafka-at_least_once-plain", marks=pytest.mark.servers),
    pytest.param("mysql", marks=pytest.mark.servers),
    pytest.param("mariadb", marks=pytest.mark.servers),
]
DATABASES = {"mysql": "database", "mariadb": "mariadb_database"}


@pytest.fixture(params=KINDS)
def subject(request: pytest.FixtureRequest, tmp_path: Path) -> Subject:
    kind, _, rest = request.param.partition("-")
    if kind == "file":
        return FileSubject(tmp_path)
    if kind in DATABASES:
        return DatabaseSubject(request.getfixturevalue(kind), request.getfixturevalue(DATABASES[kind]))
    delivery, _, feed = rest.partition("-")
    if kind == "memory":
        return MemorySubject(delivery)
    return KafkaSubject(request.getfixturevalue("kafka").bootstrap, delivery, batches=feed != "plain")


@pytest.fixture
def make(subject: Subject) -> Iterator[Callable[[], Sink]]:
    """Sinks on the subject's place; closed at the end."""
    made: list[Sink] = []

    def one() -> Sink:
        made.append(subject.make())
        return made[-1]

    yield one
    for sink in made:
        sink.close()


@pytest.fixture
def lease() -> Lease:
    return Lease()


@pytest.fixture
def sink(subject: Subject, make: Callable[[], Sink], lease: Lease) -> Sink:
    opened = make()
    assert opened.open(lease.term(subject.task)) is None
    return opened


def deliver(sink: Sink, *batches: Batch) -> None:
    for given in batches:
        sink.write(given)
        sink.commit(given.position)
    sink.flush(20)


def test_order_per_key(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("orders")
    batches = [
        batch(100 + n, *[(topic, b"k%d" % (i % 11), b"%d" % (n * 50 + i)) for i in range(50)]) for n in range(20)
    ]
    deliver(sink, *batches)
    per_key: dict[bytes | None, list[int]] = defaultdict(list)
    places: dict[bytes | None, set[int]] = defaultdict(set)
    for record in subject.seen():
        per_key[record.key].append(int(record.value or b""))
        places[record.key].add(record.partition)
    assert sum(map(len, per_key.values())) == 1000
    assert all(found == sorted(found) for found in per_key.values())
    assert all(len(partitions) == 1 for partitions in places.values())


def test_headers_on_every_record(subject: Subject, make: Callable[[], Sink], lease: Lease) -> None:
    if subject.name in DATABASES:
        pytest.skip("rows have no headers")
    sink, topic = make(), subject.topic("orders")
    sink.open(lease.term(subject.task, epoch=42))
    given = batch(100, (topic, b"a", b"1"), (topic, b"a", b"2"))
    first, second = given.records
    given.records = [(*first[:5], (("extra", b"\x00\xff"), ("task", b"theirs"))), second]
    deliver(sink, given)
    seen = subject.seen()
    assert [record.headers["row"] for record in seen] == [b"0", b"1"]
    for record in seen:
        assert record.headers["task"] == subject.task.encode()  # ours stands last and wins
        assert record.headers["epoch"] == b"42"
        assert record.headers["position"] == b"binlog.000001:100"
    assert seen[0].headers["extra"] == b"\x00\xff"


def test_tombstones_null_keys_binary_and_empty(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("orders")
    pairs = [(b"k", b"v"), (b"k", None), (None, b"keyless"), (b"\x00\xff\xfe", b"\xff" * 100), (b"", b"")]
    deliver(sink, batch(100, *[(topic, key, value) for key, value in pairs]))
    found = {(record.key, record.value) for record in subject.seen()}
    assert found == set(pairs)


def test_keyless_records_keep_their_order(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("log")
    deliver(sink, *[batch(100 + n, (topic, None, b"%d" % n)) for n in range(30)])
    assert values(subject.seen()) == [b"%d" % n for n in range(30)]


def test_a_route_chooses_the_partition_instead_of_the_key(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("routed")
    given = batch(100, *[(topic, b"k%d" % n, b"%d" % n) for n in range(20)], (topic, None, b"20"))
    given.records = [(*record[:6], b"here") for record in given.records]
    deliver(sink, given)
    seen = subject.seen()
    assert values(seen) == [b"%d" % n for n in range(21)]
    assert {record.partition for record in seen} == {partition_of(topic, b"here", 3) if seen[0].partition else 0}


def test_several_topics_in_one_commit(subject: Subject, sink: Sink) -> None:
    topics = [subject.topic(f"t{n}") for n in range(5)]
    deliver(sink, batch(100, *[(topic, b"k", topic.encode()) for topic in topics]))
    assert sorted(record.topic for record in subject.seen()) == sorted(topics)


def test_acknowledged_follows_commits(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("orders")
    assert sink.acknowledged() is None
    sink.write(batch(100, (topic, b"k", b"1")))
    assert sink.acknowledged() is None
    sink.commit(at(100))
    sink.flush(20)
    assert sink.acknowledged() == at(100)
    sink.write(batch(200, (topic, b"k", b"2")))
    assert sink.acknowledged() == at(100)


def test_what_is_acknowledged_is_visible(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("orders")
    for n in range(5):
        sink.write(batch(100 + n, (topic, b"k", b"%d" % n)))
        sink.commit(at(100 + n))
        deadline = time.monotonic() + 20
        while sink.acknowledged() != at(100 + n) and time.monotonic() < deadline:
            time.sleep(0.005)
        assert values(subject.seen()) == [b"%d" % i for i in range(n + 1)]


def test_a_commit_without_records_moves_the_position(sink: Sink) -> None:
    sink.commit(at(100))
    sink.write(Batch([], at(200), True))
    sink.commit(at(200))
    sink.flush(20)
    assert sink.acknowledged() == at(200)


def test_a_transaction_may_be_many_writes(subject: Subject, sink: Sink) -> None:
    topic = subject.topic("orders")
    for part in range(10):
        given = batch(100, *[(topic, b"k%d" % row, b"%d" % row) for row in range(20)], first_row=part * 20)
        sink.write(Batch(given.records, at(100, rows=part * 20 + 20), part == 9))
    if subject.transactional:
        assert subject.seen() == []
    sink.commit(at(200))
    sink.flush(20)
    assert len(subject.seen()) == 200


def test_uncommitted_is_dropped_at_close(subject: Subject, make: Callable[[], Sink], lease: Lease) -> None:
    topic, first = subject.topic("orders"), make()
    first.open(lease.term(subject.task))
    deliver(first, batch(100, (topic, b"k", b"1")))
    first.write(batch(200, (topic, b"k", b"2")))
    first.close()
    second = make()
    held = second.open(lease.term(subject.task, epoch=2))
    if subject.holds_position:
        assert held == at(100)
        deliver(second, batch(200, (topic, b"k", b"2")))
        assert values(subject.seen()) == [b"1", b"2"]
    else:
        assert held is None
        deliver(second, batch(200, (topic, b"k", b"2")))
        assert values(subject.seen())[-1] == b"2"
        assert set(values(subject.seen())) == {b"1", b"2"}


def test_reopening_the_same_sink(subject: Subject, sink: Sink, lease: Lease) -> None:
    """What the pipeline does after a transient error: same sink, same term."""
    topic = subject.topic("orders")
    deliver(sink, batch(100, (topic, b"k", b"1")))
    held = sink.open(lease.term(subject.task))
    assert held == (at(100) if subject.holds_position else None)
    deliver(sink, batch(200, (topic, b"k", b"2")))
    assert values(subject.seen()) == [b"1", b"2"]
    assert sink.acknowledged() == at(200)


def test_another_incarnation_begins_anew(subject: Subject, make: Callable[[], Sink], lease: Lease) -> None:
    topic, first = subject.topic("orders"), make()
    first.open(lease.term(subject.task, uid="first"))
    deliver(first, batch(100, (topic, b"k", b"1")))
    first.close()
    second, term = make(), lease.term(subject.task, epoch=2, uid="second")
    if subject.name == "file":  # an earlier incarnation's records can't be told apart from another task's
        with pytest.raises(SinkError, match="E3203"):
            second.open(term)
    else:
        assert second.open(term) is None


def test_what_a_purged_incarnation_has_left_does_not_count(
    subject: Subject, make: Callable[[], Sink], lease: Lease
) -> None:
    topic, first = subject.topic("orders"), make()
    first.open(lease.term(subject.task, uid="first"))
    deliver(first, batch(100, (topic, b"k", b"1")))
    first.close()
    second, term = make(), lease.term(subject.task, epoch=2, uid="second", purged=("zero", "first"))
    assert second.open(term) is None and second.left is None
    deliver(second, batch(50, (topic, b"k", b"2")))
    second.close()
    assert values(subject.seen()) == [b"1", b"2"]
    third = make()
    held = third.open(lease.term(subject.task, epoch=3, uid="second", purged=("zero", "first")))
    assert held == (at(50) if subject.holds_position else None), "its own position counts"
    third.close()


def test_nothing_leaves_after_the_lease(subject: Subject, sink: Sink, lease: Lease) -> None:
    topic = subject.topic("orders")
    deliver(sink, batch(100, (topic, b"k", b"1")))
    sink.write(batch(200, (topic, b"k", b"2")))
    lease.end()
    for call in (
        lambda: sink.commit(at(200)),
        lambda: sink.write(batch(300, (topic, b"k", b"3"))),
        lambda: sink.flush(5),
    ):
        with pytest.raises(LeadershipLost):
            call()
    sink.close()
    assert b"3" not in values(subject.seen())
    if subject.transactional:
        assert values(subject.seen()) == [b"1"]
    with pytest.raises(LeadershipLost):
        sink.open(lease.term(subject.task))


def test_an_earlier_term_is_fenced_out(subject: Subject, make: Callable[[], Sink], lease: Lease) -> None:
    if not subject.transactional:
        pytest.skip("only exactly_once fences at the sink; the others rely on the lease")
    topic, old, new = subject.topic("orders"), make(), make()
    old.open(lease.term(subject.task, epoch=1))
    deliver(old, batch(100, (topic, b"k", b"1")))
    old.write(batch(200, (topic, b"k", b"zombie")))
    assert new.open(lease.term(subject.task, epoch=2)) == at(100)
    with pytest.raises(SinkFenced) as raised:
        deliver(old, batch(300, (topic, b"k", b"zombie")))
    assert raised.value.code == ("E3410" if subject.name in DATABASES else "E3104")
    deliver(new, batch(200, (topic, b"k", b"2")))
    old.close()
    deliver(new, batch(300, (topic, b"k", b"3")))
    assert values(subject.seen()) == [b"1", b"2", b"3"]
    with pytest.raises(SinkFenced):
        old.open(lease.term(subject.task, epoch=1))


def test_a_record_over_the_limit_stops_and_is_named(subject: Subject, sink: Sink) -> None:
    if subject.name == "file" or subject.name in DATABASES:
        pytest.skip("a file has no limit; that of a server: integration/sink/mysql/test_sizes")
    topic = subject.topic("orders")
    deliver(sink, batch(100, (topic, b"k", b"v" * (MAX_RECORD - 1000))))
    with pytest.raises(SinkError) as raised:
        sink.write(batch(200, (topic, b"small", b"v"), (topic, b'{"id":7}', b"v" * MAX_RECORD)))
    assert raised.value.code == "E3102"
    assert not raised.value.transient
    for part in (topic, '{"id":7}', "binlog.000001:200", "row 1"):
        assert part in str(raised.value)
    assert sink.acknowledged() == at(100)


def test_a_batch_larger_than_everything_is_split(subject: Subject, sink: Sink) -> None:
    """8 MB of one key through 1 MB in flight, in order."""
    topic = subject.topic("orders")
    deliver(sink, batch(100, *[(topic, b"k", b"%06d" % n + b"v" * 4000) for n in range(2000)]))
    assert [int((value or b"")[:6]) for value in values(subject.seen())] == list(range(2000))


def test_in_flight_bytes_are_bounded(subject: Subject, sink: Sink) -> None:
    if not subject.max_in_flight:
        pytest.skip("nothing is in flight")
    topic = subject.topic("orders")
    for n in range(10):
        sink.write(batch(100 + n, *[(topic, b"k%d" % i, b"v" * 5000) for i in range(200)]))
    sink.commit(at(200))
    sink.flush(30)
    assert isinstance(sink, AtLeastOnceSink | ExactlyOnceSink)
    peak = present(sink._session).window.peak
    assert 0 < peak <= subject.max_in_flight


def test_close_is_idempotent_and_quick(subject: Subject, sink: Sink) -> None:
    sink.write(batch(100, (subject.topic("orders"), b"k", b"1")))
    began = time.monotonic()
    sink.close()
    sink.close()
    assert time.monotonic() - began < 5


def test_close_before_open(make: Callable[[], Sink]) -> None:
    make().close()


def test_a_closed_sink_refuses(subject: Subject, sink: Sink) -> None:
    sink.close()
    with pytest.raises(SinkError):
        sink.write(batch(100, (subject.topic("orders"), b"k", b"1")))
    with pytest.raises(SinkError):
        sink.commit(at(100))
