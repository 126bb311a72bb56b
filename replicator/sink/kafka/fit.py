"""Whether the installed kafka-python is the one that `bulk.py` was written for: methods by their parameters, objects by
their attributes."""

from __future__ import annotations

import inspect
from functools import cache
from operator import attrgetter
from typing import Any, Final

import kafka
from kafka import KafkaProducer
from kafka.cluster import ClusterMetadata
from kafka.net.compat import KafkaNetClient
from kafka.net.connection import KafkaConnection
from kafka.net.selector import NetworkSelector
from kafka.net.transport import KafkaSSLTransport, KafkaTCPTransport
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import IncompleteProducerBatches, RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import TransactionalRequestResult, TransactionManager, TxnRequestHandler
from kafka.protocol.parser import KafkaProtocol
from kafka.protocol.producer import ProduceRequest

VERSION: Final = "3.0."

_SIGNATURES: tuple[tuple[Any, str, tuple[str, ...]], ...] = (
    (ProducerBatch, "__init__", ("self", "tp", "records", "now")),
    (RecordAccumulator, "_tp_lock", ("self", "tp")),
    (IncompleteProducerBatches, "add", ("self", "batch")),
    (Sender, "wakeup", ("self",)),
    (KafkaNetClient, "poll", ("self", "timeout_ms", "future")),
    (KafkaNetClient, "send", ("self", "node_id", "request", "kwargs")),
    (KafkaProtocol, "send_request", ("self", "request", "correlation_id")),
    (KafkaProtocol, "send_bytes", ("self",)),
    *(
        (kind, name, names)
        for kind in (KafkaTCPTransport, KafkaSSLTransport)
        for name, names in (
            ("write", ("self", "data")),
            ("writelines", ("self", "list_of_data")),
            ("_write_to_sock", ("self",)),
            ("_sock_send", ("self",)),
            ("abort", ("self", "error")),
        )
    ),
    (NetworkSelector, "call_soon", ("self", "task")),
    (NetworkSelector, "call_at", ("self", "when", "task")),
    (KafkaConnection, "_send_request", ("self", "request", "future", "timeout_at")),
    (KafkaConnection, "_timeout_at", ("self", "now", "timeout_ms")),
    (KafkaConnection, "_request_timed_out", ("self", "future", "sent_at", "timeout_at")),
    (KafkaProtocol, "_next_correlation_id", ("self",)),
    (KafkaProtocol, "_process_response", ("self", "read_buffer")),
    (Sender, "_send_producer_data", ("self", "now")),
    (Sender, "_handle_produce_response", ("self", "node_id", "send_time", "batches", "response")),
    (Sender, "_failed_produce", ("self", "batches", "node_id", "error")),
    (TransactionManager, "has_in_flight_transactional_request", ("self",)),
    (KafkaNetClient, "is_ready", ("self", "node_id")),
    (KafkaNetClient, "await_ready", ("self", "node_id", "timeout_ms")),
    (Sender, "run_once", ("self",)),
    (TransactionManager, "has_producer_id", ("self", "producer_id")),
    (TransactionManager, "coordinator", ("self", "coord_type")),
    (TxnRequestHandler, "needs_coordinator", ("self",)),
    (ProduceRequest, "with_header", ("self", "correlation_id", "client_id")),
    (KafkaNetClient, "in_flight_request_count", ("self", "node_id")),
    (ClusterMetadata, "leader_for_partition", ("self", "partition")),
    (RecordAccumulator, "reenqueue", ("self", "batch", "now")),
    (RecordAccumulator, "drain_batches_for_one_node", ("self", "cluster", "node_id", "max_size", "now")),
    (ClusterMetadata, "partitions_for_broker", ("self", "broker_id")),
    (ProducerBatch, "retry", ("self", "now")),
    (Sender, "_can_retry", ("self", "batch", "error_cls")),
    (Sender, "force_close", ("self",)),
    (Sender, "_can_split", ("self", "batch", "error")),
    (KafkaProducer, "_unregister_cleanup", ("self",)),
    (TransactionManager, "is_transactional", ("self",)),
    (TransactionManager, "is_send_to_partition_allowed", ("self", "tp")),
    (TransactionManager, "maybe_add_partition_to_transaction", ("self", "topic_partition")),
    (TransactionManager, "transition_to_fatal_error", ("self", "exc")),
    (TransactionManager, "begin_commit", ("self",)),
    (TransactionManager, "begin_abort", ("self",)),
    (TransactionalRequestResult, "wait", ("self", "timeout_ms")),
)
_ATTRIBUTES = {
    "": ("_accumulator", "_sender", "_transaction_manager", "_metadata", "_closed"),
    "_accumulator": ("_appends_in_progress", "_batches", "_incomplete", "_closed", "has_incomplete", "muted"),
    "_sender": (
        "_client",
        "_transaction_manager",
        "_accumulator",
        "_in_flight_batches",
        "_metadata",
        "_sensors",
        "_topics_to_add",
        "config",
    ),
    "_sender._client._net": ("_ready", "_selector"),
    "_transaction_manager": ("_pending_requests", "_current_state", "_sequence_numbers", "producer_id_and_epoch"),
    "_sender._client._manager": ("_conns",),
}


@cache
def moved() -> str:
    """Which of the library's methods is not the one `bulk.py` was written for; "" when all are."""
    if not kafka.__version__.startswith(VERSION):
        return f"kafka-python {kafka.__version__} instead of {VERSION}x"
    for owner, name, wanted in _SIGNATURES:
        found = getattr(owner, name, None)
        if found is None or tuple(inspect.signature(found).parameters) != wanted:
            return f"{owner.__name__}.{name} is not the one known"
    return ""


def unfit(producer: KafkaProducer) -> str:
    """Why the library's internals are not the ones `bulk.py` was written for; "" when they are."""
    if moved():
        return moved()
    for path, names in _ATTRIBUTES.items():
        target = attrgetter(path)(producer) if path else producer
        for name in names:
            if not hasattr(target, name):
                return f"{type(target).__name__} has no {name}"
    if producer._transaction_manager is None:
        return "the producer is not idempotent"
    return ""
