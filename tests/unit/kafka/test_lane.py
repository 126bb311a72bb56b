"""Which batches of a partition may leave, and in which order."""

from __future__ import annotations

import itertools

import pytest

from replicator.kafka.batch import OVERHEAD, Batch
from replicator.kafka.lane import LIMIT, Lane

NOW = 1000.0


def lane(count: int) -> Lane:
    found = Lane(("t", 0))
    for _ in range(count):
        found.append(Batch(("t", 0), memoryview(bytearray(OVERHEAD + 1)), 2, 0, lambda error: None), NOW)
    return found


def take(found: Lane, node: int = 0) -> Batch:
    return found.take(node, 7, 0, transactional=False)


def known(count: int) -> Lane:
    """Its leader has had a batch of it."""
    found = lane(count + 1)
    found.written(take(found), NOW)
    return found


def test_the_first_goes_alone_and_then_several_go_at_once() -> None:
    found = lane(LIMIT + 3)
    first = take(found)
    assert not found.may_send(0, NOW)
    found.written(first, NOW)
    for _ in range(LIMIT):
        assert found.may_send(0, NOW)
        take(found)
    assert not found.may_send(0, NOW)


def test_alone_again_after_a_long_time() -> None:
    """The broker may have forgotten the producer."""
    found = known(3)
    take(found)
    assert found.may_send(0, NOW) and not found.may_send(0, NOW + 3600)


def test_none_goes_to_a_new_leader_beside_those_at_the_old_one() -> None:
    found = known(3)
    first = take(found, 0)
    assert found.may_send(0, NOW) and not found.may_send(1, NOW)
    found.written(first, NOW)
    assert found.may_send(1, NOW)


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_sent_again_in_their_first_order_alone_with_the_same_numbers(order: tuple[int, ...]) -> None:
    found = known(5)
    batches = [take(found) for _ in range(3)]
    sequences = [batch.sequence for batch in batches]
    assert sequences == [2, 4, 6]
    for index in order:
        found.again(batches[index], NOW + 1)
    assert not found.may_send(0, NOW), "not before it is time"
    later = NOW + 1
    first = take(found)
    assert first is batches[0] and not found.may_send(0, later), "alone"
    found.written(first, later)
    assert found.may_send(0, later)
    assert [take(found) for _ in range(2)] == batches[1:]
    assert [batch.sequence for batch in batches] == sequences
    assert take(found).sequence == 8


def test_sequence_numbers_wrap() -> None:
    found = known(2)
    found._sequence = (1 << 31) - 1
    assert take(found).sequence == (1 << 31) - 1
    assert take(found).sequence == 1


def test_follows_where_an_earlier_one_is_not_written() -> None:
    found = known(3)
    one, two = take(found), take(found)
    assert found.follows(two) and not found.follows(one)
    found.again(one, NOW)
    assert found.follows(two)
    found.written(take(found), NOW)
    assert not found.follows(two)
