from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from replicator.sink.kafka.names import position_topic, transactional_id

LEGAL = re.compile(r"[A-Za-z0-9._-]{1,249}")


def test_usual_names_stand_as_they_are() -> None:
    assert position_topic("copy_hot_item") == "replicator.position.copy_hot_item"
    assert transactional_id("copy_hot_item") == "replicator.copy_hot_item"


@given(st.text(min_size=1, max_size=100).filter(lambda name: name.isprintable()))
def test_kafka_can_carry_every_name(name: str) -> None:
    assert LEGAL.fullmatch(position_topic(name))


def test_long_names_stay_apart() -> None:
    assert position_topic("ü" * 99 + "a") != position_topic("ü" * 99 + "b")
    assert position_topic("a b") == "replicator.position.a_20b"
