from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.partitioner import murmur2 as theirs

from replicator.model.partitioner import murmur2, partition_of


@given(st.binary(max_size=70))
def test_as_the_client_library(key: bytes) -> None:
    assert murmur2(key) == theirs(key)


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_as_the_java_client(key: bytes, hashed: int) -> None:
    """The values of Apache Kafka's own UtilsTest."""
    assert murmur2(key) == hashed & 0xFFFFFFFF


@given(st.binary(max_size=40), st.integers(1, 50))
def test_within_the_topic(key: bytes, partitions: int) -> None:
    assert partition_of("t", key, partitions) == (theirs(key) & 0x7FFFFFFF) % partitions


def test_a_topic_without_keys_keeps_to_one_partition() -> None:
    places = {name: partition_of(name, None, 12) for name in (f"shop.t{i}" for i in range(50))}
    assert all(partition_of(name, None, 12) == place for name, place in places.items())
    assert len(set(places.values())) > 6  # and different topics to different ones
