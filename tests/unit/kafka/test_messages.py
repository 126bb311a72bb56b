"""The producer's messages against kafka-python's own encoders, and values that come back as they were."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.metadata import FindCoordinatorRequest, MetadataRequest
from kafka.protocol.producer import AddPartitionsToTxnRequest, EndTxnRequest, InitProducerIdRequest, ProduceRequest

from replicator.kafka import wire
from replicator.kafka.messages import (
    add_partitions,
    end_transaction,
    find_coordinator,
    init_producer_id,
    metadata,
    produce,
)
from replicator.kafka.wire import MalformedMessage, Reader


def encoded(request: Any, version: int) -> bytes:
    """By the library, without header."""
    return bytes(request.encode(version=version))


@pytest.mark.parametrize("version", range(9, 14))
def test_metadata_request(version: int) -> None:
    kind = MetadataRequest.MetadataRequestTopic
    theirs = MetadataRequest(
        topics=[kind(name="a"), kind(name="ü" * 200)],
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=False,
        include_cluster_authorized_operations=False,
    )
    assert metadata.request(["a", "ü" * 200], version) == encoded(theirs, version)


@pytest.mark.parametrize("version", range(3, 7))
def test_find_coordinator_request(version: int) -> None:
    theirs = FindCoordinatorRequest(key="t", key_type=1, coordinator_keys=["t"])
    assert find_coordinator.request("t", version) == encoded(theirs, version)


@pytest.mark.parametrize("version", range(4, 6))
@pytest.mark.parametrize("name", ["t", None])
def test_init_producer_id_request(version: int, name: str | None) -> None:
    timeout = 60_000 if name else 0x7FFFFFFF
    theirs = InitProducerIdRequest(
        transactional_id=name, transaction_timeout_ms=timeout, producer_id=-1, producer_epoch=-1
    )
    assert init_producer_id.request(name, 60_000) == encoded(theirs, version)


def test_add_partitions_request() -> None:
    kind = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
    topics = [kind(name="a", partitions=[0, 2]), kind(name="b", partitions=[1])]
    theirs = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id="t",
        v3_and_below_producer_id=9,
        v3_and_below_producer_epoch=4,
        v3_and_below_topics=topics,
    )
    assert add_partitions.request("t", 9, 4, [("a", 0), ("b", 1), ("a", 2)]) == encoded(theirs, 3)


@pytest.mark.parametrize("version", range(3, 6))
@pytest.mark.parametrize("commit", [True, False])
def test_end_transaction_request(version: int, commit: bool) -> None:
    theirs = EndTxnRequest(transactional_id="t", producer_id=9, producer_epoch=4, committed=commit)
    assert end_transaction.request("t", 9, 4, commit=commit) == encoded(theirs, version)


@pytest.mark.parametrize("version", range(9, 13))
@pytest.mark.parametrize("name", ["t", None])
def test_produce_request(version: int, name: str | None) -> None:
    topic, part = ProduceRequest.TopicProduceData, ProduceRequest.TopicProduceData.PartitionProduceData
    theirs = ProduceRequest(
        transactional_id=name,
        acks=-1,
        timeout_ms=10_000,
        topic_data=[
            topic(name="a", partition_data=[part(index=0, records=b"x" * 200), part(index=2, records=b"y")]),
            topic(name="b" * 200, partition_data=[part(index=1, records=b"z" * 70)]),
        ],
    )
    batches = [(("a", 0), b"x" * 200), (("b" * 200, 1), b"z" * 70), (("a", 2), b"y")]
    pieces = produce.request(
        name, 10_000, [(place, (memoryview(data)[:5], memoryview(data)[5:])) for place, data in batches]
    )
    assert b"".join(pieces) == encoded(theirs, version)


@given(st.integers(0, (1 << 31) - 1))
def test_unsigned_varints_come_back(number: int) -> None:
    assert Reader(wire.uvarint(number)).uvarint() == number


@given(st.none() | st.text(max_size=400))
def test_compact_strings_come_back(value: str | None) -> None:
    reader = Reader(wire.compact_string(value) + b"rest")
    assert reader.compact_string() == value and reader.left == 4


@given(st.binary(max_size=80), st.sampled_from([9, 10, 13]))
def test_no_bytes_are_more_than_malformed(data: bytes, version: int) -> None:
    """Whatever a broker sends, it is read or refused."""
    readers = [
        lambda: metadata.reply(Reader(data), version),
        lambda: find_coordinator.reply(Reader(data), 3 + version % 4),
        lambda: init_producer_id.reply(Reader(data)),
        lambda: add_partitions.reply(Reader(data)),
        lambda: end_transaction.reply(Reader(data), 3 + version % 3),
        lambda: produce.reply(Reader(data)),
    ]
    for read in readers:
        try:
            read()
        except MalformedMessage:
            continue
