"""The baseline of the latency of exactly_once: librdkafka's producer writes transactions of a row and a position, at
the same rate and on the same broker, with no database before it."""

from __future__ import annotations

import json
import time
from typing import Any, Final

from dev.bench.consumers import Librdkafka
from dev.bench.runner import Runner
from dev.bench.series import Series, Write, measured

_VALUE: Final = b"x" * 900
"""About as much as a row of ours has."""
_SECONDS: Final = 30


def librdkafka(runner: Runner, rate: int, seconds: float) -> Series:
    """See `measured`."""
    name, position = "bench_baseline", "bench_baseline_position"
    runner.create(name)
    runner.kafka.create_topic(position, 1)
    try:
        arguments = runner.kafka.bootstrap, name, position
        return measured(lambda: Librdkafka(runner.kafka.bootstrap, name), _producer, arguments, rate, seconds)
    finally:
        runner.delete(name)
        runner.delete(position)


def _producer(bootstrap: str, topic: str, position: str) -> Write:
    from confluent_kafka import Producer

    producer: Any = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(_SECONDS)

    def write(row: int) -> tuple[float, float]:
        began = time.monotonic()
        producer.begin_transaction()
        producer.produce(topic, key=json.dumps({"id": row}), value=_VALUE)
        producer.produce(position, key=topic, value=_VALUE[:200])
        producer.commit_transaction(_SECONDS)
        return began, time.monotonic()

    return write
