"""Positions in topics: texts and comparison."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.model.position import Position
from replicator.model.position_order import compared, reached
from replicator.model.topic_offsets import TopicOffsets, distance, parsed, shown

NAMES = st.sampled_from(["a", "shop.item", "b-2"])
OFFSETS = st.lists(st.integers(0, 9), min_size=1, max_size=3).map(tuple)
PLACES = st.dictionaries(NAMES, OFFSETS, min_size=1).map(
    lambda found: tuple(TopicOffsets(name, offsets) for name, offsets in found.items())
)


@given(PLACES)
def test_text_and_back(places: tuple[TopicOffsets, ...]) -> None:
    assert parsed(shown(places)) == places


@pytest.mark.parametrize("text", ["", "a", "a:", ":1", "a:x", "a:-1", "a:1;a:2", "a:1,,2"])
def test_other_texts(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        parsed(text)


@given(PLACES, PLACES)
def test_order(one: tuple[TopicOffsets, ...], other: tuple[TopicOffsets, ...]) -> None:
    ours, theirs = Position.of_topics(one), Position.of_topics(other)
    opposite = {"ahead": "behind", "behind": "ahead", "same": "same", "unknown": "unknown"}
    assert compared(theirs, ours) == opposite[compared(ours, theirs)]
    assert reached(ours, theirs) == (compared(ours, theirs) in ("same", "ahead"))
    found = distance(one, other)
    assert found is not None
    assert found[0] - found[1] == ours.offset - theirs.offset


def test_topic_created_again() -> None:
    one, other = (Position.of_topics((TopicOffsets("a", (5,), identity),)) for identity in ("11", "22"))
    assert compared(one, other) == "unknown"
    assert not reached(one, other)
    assert compared(one, Position.of_topics((TopicOffsets("a", (4,)),))) == "ahead"


def test_no_position_of_a_log() -> None:
    one = Position.of_topics((TopicOffsets("a", (5,)),))
    assert compared(one, Position("binlog.000001", 4)) == "unknown"
    assert compared(Position("binlog.000001", 4), one) == "unknown"
    assert not reached(Position("binlog.000001", 4), one)


def test_stored_and_shown() -> None:
    position = Position.of_topics((TopicOffsets("a", (1, 2), "ff"), TopicOffsets("b", (3,))))
    assert msgspec.json.decode(msgspec.json.encode(position), type=Position) == position
    assert str(position) == "a:1,2;b:3"
    assert position.boundary
