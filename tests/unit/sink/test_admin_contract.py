"""Fails when an upgrade of kafka-python moves what `admin.py` stands on. Then: read both again."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.cluster import ClusterMetadata
from kafka.consumer.fetcher import Fetcher
from kafka.net.manager import KafkaConnectionManager
from kafka.protocol.consumer import FetchRequest

from replicator.sink.kafka.admin import FETCH_VERSIONS


@pytest.mark.parametrize(
    ("owner", "name", "wanted"),
    [
        (KafkaAdminClient, "_async_get_leader_for_partitions", ["self", "partitions"]),
        (
            KafkaAdminClient,
            "list_partition_offsets",
            ["self", "topic_partition_specs", "isolation_level", "timeout_ms"],
        ),
        (ClusterMetadata, "request_update", ["self"]),
        (KafkaConnectionManager, "call_soon", ["self", "coro", "args"]),
        (KafkaConnectionManager, "run", ["self", "coro", "args"]),
        (KafkaConnectionManager, "send", ["self", "request", "node_id", "request_timeout_ms"]),
    ],
)
def test_the_methods(owner: Any, name: str, wanted: list[str]) -> None:
    assert list(inspect.signature(getattr(owner, name)).parameters) == wanted


def test_the_fetchers_records() -> None:
    parameters = inspect.signature(Fetcher.PartitionRecords).parameters
    assert list(parameters)[:3] == ["fetch_offset", "tp", "records"]
    assert {"isolation_level", "aborted_transactions"} <= set(parameters)
    source = inspect.getsource(Fetcher.PartitionRecords)
    assert "self.next_fetch_offset" in source
    assert "self.record_iterator" in source


def test_the_versions_of_a_fetch() -> None:
    least, most = FETCH_VERSIONS
    assert least >= FetchRequest.min_version_for_isolation_level(1)
    kind = FetchRequest.FetchTopic
    for version in (least, most):
        topic = kind(topic="t", partitions=[kind.FetchPartition(partition=0, fetch_offset=3, partition_max_bytes=9)])
        request = FetchRequest[version](max_wait_ms=1, min_bytes=1, max_bytes=9, isolation_level=1, topics=[topic])
        assert b"t" in bytes(request.encode())
