"""Fails when an upgrade of kafka-python moves what `admin.py` and `hanging.py` stand on. Then: read them again."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.cluster import ClusterMetadata
from kafka.consumer.fetcher import Fetcher
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.manager import KafkaConnectionManager
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import (
    AddPartitionsToTxnHandler,
    TransactionalRequestResult,
    TransactionManager,
    TxnRequestHandler,
)
from kafka.protocol.consumer import FetchRequest

from replicator.sink.kafka.admin import FETCH_VERSIONS


@pytest.mark.parametrize(
    ("owner", "name", "wanted"),
    [
        (KafkaAdminClient, "_get_cluster_metadata", ["self", "topics"]),
        (KafkaAdminClient, "_async_get_leader_for_partitions", ["self", "partitions"]),
        (
            KafkaAdminClient,
            "list_partition_offsets",
            ["self", "topic_partition_specs", "isolation_level", "timeout_ms"],
        ),
        (KafkaAdminClient, "describe_topics", ["self", "topics"]),
        (KafkaAdminClient, "describe_transactions", ["self", "transactional_ids"]),
        (TransactionManager, "maybe_add_partition_to_transaction", ["self", "topic_partition"]),
        (TransactionManager, "is_partition_added", ["self", "partition"]),
        (TransactionManager, "_maybe_fail_with_error", ["self"]),
        (TransactionManager, "begin_commit", ["self"]),
        (TransactionManager, "begin_abort", ["self"]),
        (TransactionalRequestResult, "wait", ["self", "timeout_ms"]),
        (TxnRequestHandler, "on_complete", ["self", "correlation_id", "response_or_exc"]),
        (KafkaNetClient, "send", ["self", "node_id", "request", "kwargs"]),
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


def test_requests_of_transactions() -> None:
    """They go through `send` of the client, and one that fails for no known reason ends the producer."""
    source = inspect.getsource(Sender._maybe_send_pending_request)
    assert "self._client.send(target_node, next_request_handler.request)" in source
    assert "self.fatal_error(Errors.KafkaError(" in inspect.getsource(TxnRequestHandler.on_complete)
    assert "self._conns[node_id] = conn" in inspect.getsource(KafkaConnectionManager.get_connection)
    assert "_transaction_started = True" in inspect.getsource(AddPartitionsToTxnHandler)
    assert "_coordinators" in inspect.getsource(ClusterMetadata.__init__)
    assert "self.connected = " in inspect.getsource(KafkaConnection)
