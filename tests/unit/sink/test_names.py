from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from replicator.sink.kafka.names import (
    counts_topic,
    former_position_topic,
    position_topic,
    position_topics,
    transactional_id,
)

ID = "0123456789ab"
LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


def test_usual_names_stand_as_they_are() -> None:
    assert position_topic("copy_hot_item") == "replicator.position.copy_hot_item"
    assert transactional_id("copy_hot_item") == "replicator.copy_hot_item"
    assert position_topic("copy_hot_item", ID) == "replicator.position.0123456789ab.copy_hot_item"
    assert counts_topic("copy_hot_item", ID) == "replicator.partitions.0123456789ab.copy_hot_item"
    assert transactional_id("copy_hot_item", ID) == "replicator.0123456789ab.copy_hot_item"


def test_position_topics_of_a_name() -> None:
    """Of all installations, and of no task whose name only ends alike."""
    other = "f" * 12
    mine = [position_topic("t"), position_topic("t", ID), position_topic("t", other)]
    foreign = [position_topic("a.t", ID), position_topic("a.t"), position_topic("run.x.t"), "replicator.position.t.t"]
    assert position_topics("t", [*foreign, "t", *mine]) == mine
    before = former_position_topic("a/", ID)
    assert before == position_topic("a_2F", ID) == "replicator.position.0123456789ab.a_2F"
    assert position_topics("a/", [before, position_topic("a/", ID)]) == [before, position_topic("a/", ID)]
    long = "ü" * 99
    assert position_topics(long, [position_topic(long, ID), position_topic(long + "a", ID)]) == [
        position_topic(long, ID)
    ]


@given(st.text(min_size=1, max_size=100).filter(lambda name: name.isprintable()))
def test_kafka_can_carry_every_name(name: str) -> None:
    assert LEGAL.fullmatch(position_topic(name))


NAMES = st.text("a_/.2F5 ü-", min_size=1, max_size=12)


@given(NAMES, NAMES)
def test_two_names_never_share_what_is_theirs(one: str, other: str) -> None:
    for make in (position_topic, counts_topic, transactional_id):
        assert (make(one, ID) == make(other, ID)) is (one == other)


def test_what_a_topic_can_not_carry_is_escaped_apart_from_what_it_can() -> None:
    assert position_topic("a/", ID) == "replicator.position.0123456789ab_.a_2F"
    assert position_topic("a/_2F", ID) == "replicator.position.0123456789ab_.a_2F_5F2F"
    assert counts_topic("a b", ID) == "replicator.partitions.0123456789ab_.a_20b"
    assert position_topic("orders_2024", ID) == "replicator.position.0123456789ab.orders_2024"


def test_long_names_stay_apart() -> None:
    assert position_topic("ü" * 99 + "a") != position_topic("ü" * 99 + "b")
    assert position_topic("a b") == "replicator.position.a_20b"
