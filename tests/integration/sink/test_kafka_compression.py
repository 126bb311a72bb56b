"""Compressed batches through a real broker, which unpacks each to validate it, to a consumer."""

from __future__ import annotations

import time
from typing import Any

import pytest

from replicator.config.task import KafkaSink
from replicator.model.term import Term
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch
from tests.support.consume import read_all

DELIVERIES = ("exactly_once", "at_least_once")


@pytest.mark.parametrize("delivery", DELIVERIES)
@pytest.mark.parametrize("compression", ["lz4", "zstd", "gzip"])
def test_consumers_read_what_was_written(kafka: Any, topic_prefix: str, compression: str, delivery: str) -> None:
    task = topic_prefix + "packed"
    written = write(kafka, task, compression, delivery)
    end = time.monotonic() + 20
    while not (found := read_all(kafka.bootstrap, [f"{task}.shop.orders"])) and time.monotonic() < end:
        time.sleep(0.05)  # a commit is visible a moment after it is done
    assert [(record.key, record.value) for record in found] == written


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_the_broker_takes_snappy(kafka: Any, topic_prefix: str, delivery: str) -> None:
    """The Python consumer would need one package more to unpack it; the broker unpacks every batch."""
    write(kafka, topic_prefix + "packed", "snappy", delivery)


def write(kafka: Any, task: str, compression: str, delivery: str) -> list[tuple[bytes | None, bytes | None]]:
    config = KafkaSink.model_validate(
        {
            "type": "kafka",
            "bootstrap_servers": [kafka.bootstrap],
            "compression": compression,
            "delivery": delivery,
        }
    )
    sink = open_sink(config, task)
    sink.open(Term.unlimited(task, "u1"))
    name = f"{task}.shop.orders"
    written: list[tuple[bytes | None, bytes | None]] = [
        (b"%d" % number, b'{"text":"text"}' * 20) for number in range(9000)
    ]
    sink.write(batch(5, *[(name, key, value) for key, value in written]))
    sink.commit(at(5))
    sink.flush(30)
    sink.close()
    return written
