"""Two installations with a task of one name on one Kafka; and the names that a task had before there were ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kafka import KafkaAdminClient

from replicator.errors import SinkError, SinkFenced, UnknownTerm
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.ports import Sink
from replicator.sink import open_sink
from replicator.sink.kafka import exactly_once
from replicator.sink.kafka.names import former_position_topic
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all
from tests.support.numbered import config

pytestmark = pytest.mark.servers

HERE, THERE = "a" * 12, "b" * 12
Make = Callable[[str], Any]


@pytest.fixture
def make(kafka: Any, task: str) -> Iterator[Make]:
    """A sink of the task, under the id of an installation."""
    made: list[Sink] = []

    def one(installation: str) -> Sink:
        made.append(open_sink(config(kafka.bootstrap, partitions=1), task, installation))
        return made[-1]

    yield one
    for sink in made:
        sink.close()


def term(task: str, installation: str, epoch: int = 1, uid: str = "u1", previous: int | None = None) -> Term:
    host = f"host-{installation[:1]}"
    return Term(task, uid, epoch, lambda: float("inf"), previous=previous, installation=installation, host=host)


def deliver(sink: Sink, task: str, *offsets: int) -> None:
    for offset in offsets:
        sink.write(batch(offset, (f"{task}.t", b"k", b"%d" % offset)))
        sink.commit(at(offset))
    sink.flush(20)


def seen(kafka: Any, task: str) -> list[int]:
    return [int(record.value or b"0") for record in read_all(kafka.bootstrap, f"{task}.t")]


def test_they_neither_fence_each_other_nor_read_each_others_position(make: Make, kafka: Any, task: str) -> None:
    ours, theirs = make(HERE), make(THERE)
    assert ours.open(term(task, HERE, epoch=900, uid="u1")) is None
    deliver(ours, task, 100)
    assert theirs.open(term(task, THERE, epoch=5, uid="u2")) is None
    deliver(theirs, task, 105)
    deliver(ours, task, 110)  # not fenced
    deliver(theirs, task, 115)
    assert ours.open(term(task, HERE, epoch=900, uid="u1")) == at(110)
    assert theirs.open(term(task, THERE, epoch=5, uid="u2")) == at(115)
    assert seen(kafka, task) == [100, 105, 110, 115]


def test_a_new_installation_is_told_of_anothers_position(make: Make, kafka: Any, task: str) -> None:
    """ZooKeeper was made anew: another id, another incarnation. It must not begin "now" without a word."""
    ours, theirs = make(HERE), make(THERE)
    ours.open(term(task, HERE, uid="u1"))
    deliver(ours, task, 100)
    assert theirs.open(term(task, THERE, uid="u2")) is None
    assert theirs.left == at(100)
    deliver(ours, task, 110)  # looking fences nobody
    deliver(theirs, task, 200)
    assert theirs.open(term(task, THERE, uid="u2")) == at(200)
    assert theirs.left is None


def test_this_very_task_under_another_id_is_refused(make: Make, task: str) -> None:
    """The node with the id was deleted, or made by hand: the stored position may be older than what was delivered."""
    ours, theirs = make(HERE), make(THERE)
    ours.open(term(task, HERE))
    deliver(ours, task, 100)
    with pytest.raises(SinkError, match=f"installation {HERE}.*host-a") as raised:
        theirs.open(term(task, THERE, epoch=2))
    assert (raised.value.code, raised.value.transient) == ("E3112", False)
    deliver(ours, task, 110)


def test_an_unknown_term_is_not_fenced_out(make: Make, kafka: Any, task: str) -> None:
    """ZooKeeper was restored from a backup that is older than the last elections, or this is a copy of it."""
    alive, restored = make(HERE), make(HERE)
    alive.open(term(task, HERE, epoch=900))
    deliver(alive, task, 100)
    for epoch, previous in ((500, 400), (950, 400)):
        with pytest.raises(UnknownTerm, match=r"epoch 900, by host-a.*--take-over") as raised:
            restored.open(term(task, HERE, epoch=epoch, previous=previous))
        assert (raised.value.code, raised.value.epoch) == ("E3111", 900)
        deliver(alive, task, 100 + epoch)
    assert restored.open(term(task, HERE, epoch=900 + 500, previous=900)) == at(1050)
    with pytest.raises(SinkFenced):
        deliver(alive, task, 2000)
    deliver(restored, task, 2000)
    assert seen(kafka, task) == [100, 600, 1050, 2000]


class TestFromBeforeIds:
    """A task that an earlier version delivered: its names had no id in them."""

    @pytest.fixture
    def old(self, make: Make, task: str) -> Any:
        sink = make("")
        sink.open(term(task, "", epoch=7))
        deliver(sink, task, 100, 110)
        sink.write(batch(120, (f"{task}.t", b"k", b"120")))  # open when the new version begins
        return sink

    def test_the_position_goes_on_and_the_old_producer_is_fenced(
        self, make: Make, old: Any, kafka: Any, task: str
    ) -> None:
        new = make(HERE)
        assert new.open(term(task, HERE, epoch=8, previous=7)) == at(110)
        assert new.left is None
        with pytest.raises(SinkFenced):
            deliver(old, task, 130)
        new.close()  # before it has committed anything: the next one finds the same
        assert new.open(term(task, HERE, epoch=9, previous=8)) == at(110)
        deliver(new, task, 120, 130)
        assert seen(kafka, task) == [100, 110, 120, 130]
        assert make(HERE).open(term(task, HERE, epoch=10, previous=9)) == at(130)

    def test_an_earlier_version_stops_instead_of_going_back(self, make: Make, old: Any, kafka: Any, task: str) -> None:
        new = make(HERE)
        new.open(term(task, HERE, epoch=8, previous=7))
        deliver(new, task, 120)
        last = read_all(kafka.bootstrap, f"replicator.position.{task}")[-1]
        assert json.loads(last.value or b"") == {"v": 2, "uid": "u1", "moved_to": HERE}

    def test_what_has_moved_is_nobodys(self, make: Make, old: Any, task: str) -> None:
        new = make(HERE)
        new.open(term(task, HERE, epoch=8, previous=7))
        deliver(new, task, 120)
        theirs = make(THERE)
        assert theirs.open(term(task, THERE, uid="u2")) is None
        assert theirs.left == at(120), "where it went, not where it was"

    def test_an_unknown_old_term_is_not_fenced_out(self, make: Make, old: Any, task: str) -> None:
        with pytest.raises(UnknownTerm):
            make(HERE).open(term(task, HERE, epoch=3, previous=2))
        old.commit(at(120))

    def test_of_another_incarnation_it_is_told(self, make: Make, old: Any, task: str) -> None:
        new = make(HERE)
        assert new.open(term(task, HERE, epoch=8, uid="u2")) is None
        assert new.left == at(110)
        old.commit(at(120))

    def test_the_numbers_of_partitions_go_on(self, kafka: Any, make: Make, old: Any, task: str) -> None:
        old.close()
        admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
        admin.create_partitions({f"{task}.t": 3})
        admin.close()
        new = make(HERE)
        new.open(term(task, HERE, epoch=8, previous=7))
        with pytest.raises(SinkError) as raised:
            deliver(new, task, 120)
        assert raised.value.code == "E3106"


def test_a_name_that_was_escaped_to_anothers_goes_on_apart_from_it(
    kafka: Any, task: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`NAME/` and `NAME_2F` had one position topic; the first now has its own, and goes on where it was."""
    one, other, topic = f"{task}/", f"{task}_2F", f"{task}.t"
    made = {name: open_sink(config(kafka.bootstrap, partitions=1), name, HERE) for name in (one, other)}
    with monkeypatch.context() as before:
        before.setattr(exactly_once, "position_topic", former_position_topic)
        old = open_sink(config(kafka.bootstrap, partitions=1), one, HERE)
        old.open(term(one, HERE, epoch=7))
    old.write(batch(100, (topic, b"k", b"100")))
    old.commit(at(100))
    old.flush(20)
    assert made[other].open(term(other, HERE, uid="u2", epoch=3)) is None
    assert made[one].open(term(one, HERE, epoch=8, previous=7)) == at(100)
    with pytest.raises(SinkFenced):
        deliver(old, task, 110)
    for number, sink in enumerate(made.values()):
        deliver(sink, task, 200 + number)
    assert made[one].open(term(one, HERE, epoch=9, previous=8)) == at(200)
    assert made[other].open(term(other, HERE, uid="u2", epoch=4, previous=3)) == at(201)
    last = read_all(kafka.bootstrap, former_position_topic(one, HERE))
    assert [json.loads(record.value or b"{}").get("moved_to") for record in last if record.key == one.encode()][
        -1
    ] == HERE
    for sink in (old, *made.values()):
        sink.close()


def test_a_position_far_back_among_other_tasks(make: Make, task: str) -> None:
    sink = make(HERE)
    sink.open(term(task, HERE))
    deliver(sink, task, 100)
    other = open_sink(sink._config, f"x.{task}", HERE)
    other.open(term(f"x.{task}", HERE, uid="u9"))
    other.commit(Position("b.9", 9))
    other.flush(10)
    other.close()
    assert sink.open(term(task, HERE, uid="u2")) is None
    assert sink.left == at(100)
