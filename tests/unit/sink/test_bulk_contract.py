"""Fails when an upgrade of kafka-python moves what `bulk.py` stands on. Then: read the library's sender and accumulator
again, mend bulk.py, and raise the VERSION of fit.py. Until that is done the sinks use the slow feed by themselves."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import kafka
import pytest
from kafka import KafkaProducer
from kafka.net.compat import KafkaNetClient
from kafka.producer.producer_batch import ProducerBatch
from kafka.producer.record_accumulator import RecordAccumulator
from kafka.producer.sender import Sender
from kafka.producer.transaction_manager import InitProducerIdHandler
from kafka.record.memory_records import MemoryRecordsBuilder
from kafka.structs import TopicPartition

from dev.servers.ports import free_port
from replicator.sink.kafka import fit
from replicator.sink.kafka.prebuilt import Prebuilt
from replicator.sink.kafka.producer import PatientClient
from replicator.sink.kafka.requests import framed


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    fit.moved.cache_clear()
    yield
    fit.moved.cache_clear()


@pytest.fixture(scope="module")
def producer() -> Iterator[Any]:
    """With the version given, the constructor needs no broker."""
    made = KafkaProducer(
        bootstrap_servers="127.0.0.1:1", api_version=(4, 0), transactional_id="t", metrics_enabled=False
    )
    yield made
    made._sender.force_close()
    made._sender.join(10)
    made._unregister_cleanup()
    made._closed = True


def test_the_installed_library_fits(producer: Any) -> None:
    assert fit.unfit(producer) == ""


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, name, _ in fit._SIGNATURES])
def test_a_moved_method_is_noticed(producer: Any, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
    monkeypatch.setattr(owner, name, lambda self, something, other: None)
    assert name in fit.unfit(producer)


def test_a_missing_attribute_is_noticed(producer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(producer._accumulator, "_incomplete")
    assert "_incomplete" in fit.unfit(producer)


def test_another_version_is_noticed(producer: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "__version__", "3.1.0")
    assert "3.1.0" in fit.unfit(producer)


def test_prebuilt_answers_everything_that_is_asked_of_a_builder() -> None:
    """Every attribute of `batch.records` that sender, accumulator and batch use exists in our stand-in."""
    used = set()
    for module in (ProducerBatch, RecordAccumulator, Sender):
        source = inspect.getsource(module)
        for name in dir(MemoryRecordsBuilder):
            if not name.startswith("__") and f"records.{name}" in source:
                used.add(name)
    assert {"set_producer_state", "close", "buffer", "next_offset", "size_in_bytes", "is_full"} <= used
    stand_in = Prebuilt(1, framed(b""), 0)
    assert not {name for name in used if not hasattr(stand_in, name)}


def test_prebuilt_has_the_builders_signatures() -> None:
    ours = list(inspect.signature(Prebuilt.set_producer_state).parameters)
    theirs = list(inspect.signature(MemoryRecordsBuilder.set_producer_state).parameters)
    assert len(ours) == len(theirs)


def test_future_reports_failures_in_its_third_place() -> None:
    """The batch's future succeeds in either case: `_finished` looks at the function that comes with it."""
    good = ProducerBatch(TopicPartition("t", 0), Prebuilt(1, framed(b""), 0))
    good.complete(5, -1)
    assert good.produce_future.value[2] is None
    bad = ProducerBatch(TopicPartition("t", 0), Prebuilt(1, framed(b""), 0))
    cause = ValueError("no")
    bad.complete_exceptionally(cause, lambda _: cause)
    assert bad.produce_future.succeeded()
    assert bad.produce_future.value[2](0) is cause
    dropped = ProducerBatch(TopicPartition("t", 0), Prebuilt(1, framed(b""), 0))
    dropped.abort(cause)
    assert dropped.produce_future.value[2](0) is cause


def test_no_request_of_a_transaction_is_forgotten_where_a_broker_can_not_be_reached(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The library's own client raises then, and its sender drops the request: see `PatientClient`."""
    monkeypatch.setattr(Sender, "start", lambda self: None)
    kept = {}
    for kind in (KafkaNetClient, PatientClient):
        made: Any = KafkaProducer(
            bootstrap_servers=f"127.0.0.1:{free_port()}",
            api_version=(4, 0),
            transactional_id="t",
            metrics_enabled=False,
            kafka_client=kind,
        )
        sender, manager = made._sender, made._transaction_manager
        handler = InitProducerIdHandler(manager, 1000)
        manager._enqueue_request(handler)
        manager._transaction_coordinator = "bootstrap-0"
        sender._maybe_send_pending_request()
        kept[kind] = any(each[-1] is handler for each in manager._pending_requests)
        sender._client.close()
        made._unregister_cleanup()
        made._closed = True
    assert kept == {KafkaNetClient: False, PatientClient: True}


def test_the_sender_still_asks_before_each_batch_and_stops_when_fatal() -> None:
    """The two places that our changes of behaviour hang on."""
    assert "is_send_to_partition_allowed(tp)" in inspect.getsource(RecordAccumulator)
    assert "has_fatal_error()" in inspect.getsource(Sender.run_once)
    assert "self._can_split(batch" in inspect.getsource(Sender._dispatch_error)
