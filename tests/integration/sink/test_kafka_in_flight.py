"""Several batches of a partition under way at once, over a line that is slow, and one that breaks."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from dev.faults.proxy import Proxy
from dev.servers import Kafka
from dev.servers.ports import free_port
from replicator.errors import SinkUnavailable
from replicator.kafka.lane import LIMIT
from replicator.sink import open_sink
from tests.conformance.sinks import at, batch
from tests.servers import started
from tests.support.consume import read_all
from tests.support.numbered import DELIVERIES, Stream, config, deliver, firsts, per_key, term

pytestmark = pytest.mark.servers
WRITES = 20


@pytest.fixture(scope="module")
def line() -> Iterator[Proxy]:
    """To a broker that is reached through nothing else."""
    with Proxy(0, port=free_port()) as proxy:
        broker = started(
            Kafka(fast=True, modest=True, properties={"advertised.listeners": f"PLAINTEXT://{proxy.address}"})
        )
        proxy.target = broker.port
        yield proxy
        broker.close()


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_answers_are_not_waited_for_one_by_one(line: Proxy, topic_prefix: str, delivery: str) -> None:
    task = topic_prefix + "copy"
    sink: Any = open_sink(config(line.address, partitions=1, delivery=delivery), task)
    try:
        sink.open(term(task))
        deliver(sink, task + ".orders", 0, writes=WRITES)
        sink.flush(10)
        line.delay(0.1)
        machine = sink._session.producer._producer._machine
        most, over = 0, threading.Event()

        def look() -> None:
            nonlocal most
            while not over.wait(0.002):
                most = max(most, sum(machine._in_flight.values()))

        looking = threading.Thread(target=look)
        looking.start()
        deliver(sink, task + ".orders", 1, writes=WRITES)
        sink.flush(20)
        over.set()
        looking.join()
        assert 2 <= most <= LIMIT
    finally:
        line.pass_()
        sink.close()
    seen = per_key(read_all(line.address, task + ".orders"))
    assert all(values == list(range(2 * WRITES)) for values in seen.values())


@pytest.mark.parametrize("delivery", DELIVERIES)
def test_a_line_that_breaks_again_and_again_changes_no_order(line: Proxy, topic_prefix: str, delivery: str) -> None:
    task, count = topic_prefix + "copy", 60
    sink: Any = open_sink(config(line.address, partitions=2, delivery=delivery), task)
    stream = Stream(sink, task, task + ".orders", count, writes=WRITES)
    over, dice = threading.Event(), random.Random(7)

    def break_it() -> None:
        while stream.done < count - 5 and not over.wait(dice.uniform(0.05, 0.4)):
            line.delay(dice.choice((0.0, 0.02)))
            dice.choice((line.reset, lambda: line.cut_after(dice.randrange(1, 40_000), "up")))()
            line.pass_()

    nemesis = threading.Thread(target=break_it)
    nemesis.start()
    try:
        stream.run()
    finally:
        over.set()
        nemesis.join()
        sink.close()
    seen = per_key(read_all(line.address, task + ".orders"))
    assert len(seen) == 5
    for values in seen.values():
        assert firsts(values) == list(range(count * WRITES))
        assert delivery == "at_least_once" or len(values) == count * WRITES


def test_a_broker_that_refuses_for_a_moment_costs_no_more_than_that(line: Proxy, topic_prefix: str) -> None:
    """Requests of the transaction are asked again as soon as the broker is back."""
    task = topic_prefix + "copy"
    sink: Any = open_sink(config(line.address, partitions=1), task)
    over = threading.Event()

    def refuse() -> None:
        for _ in range(8):
            time.sleep(0.5)
            line.refuse()
            time.sleep(0.7)
            line.pass_()
        over.set()

    nemesis = threading.Thread(target=refuse)
    try:
        sink.open(term(task))
        nemesis.start()
        longest, last, number = 0.0, time.monotonic(), 0
        while not over.is_set():
            try:
                sink.write(batch(number, (task + ".orders", b"k", b"%d" % number)))
                sink.commit(at(number))
                number += 1
                longest, last = max(longest, time.monotonic() - last), time.monotonic()
            except SinkUnavailable:  # the moment was that in which a transaction begins
                held = sink.open(term(task))
                number = held.offset + 1 if held else 0
    finally:
        nemesis.join()
        sink.close()
    assert longest < 10
    assert [int(each.value or b"") for each in read_all(line.address, task + ".orders")] == list(range(number))
