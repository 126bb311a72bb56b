"""Kafka and the way to it: one broker of three, none in step, slow, its topics changed by hand."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.admin import KafkaAdminClient
from kafka.protocol.consumer.offsets import OffsetSpec

from dev.checker.consumer import read_topics
from dev.cluster import wait_for
from dev.faults.proxy import Proxy
from dev.servers import Kafka
from dev.servers.ensembles import KafkaCluster
from dev.servers.ports import free_port
from tests.failover.bus import Bus
from tests.failover.test_consumers import stand
from tests.support.long_run import LONG
from tests.support.present import present

pytestmark = pytest.mark.timeout(300)
MakeBus = Callable[..., Bus]


def clean(bus: Bus, more: int = 50, timeout: float = 90) -> None:
    bus.wait_delivered(more, timeout=timeout)
    verdict = bus.verdict(timeout)
    assert verdict.clean, str(verdict)


@contextlib.contextmanager
def admin(address: str) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=address.split(","))
    try:
        yield client
    finally:
        client.close()


@pytest.fixture(scope="module")
def brokers() -> Iterator[KafkaCluster]:
    with KafkaCluster() as cluster:
        yield cluster


def partitions(cluster: KafkaCluster, bus: Bus) -> list[dict[str, Any]]:
    """Of the writer's topic, as the brokers describe them now."""
    with admin(cluster.address) as client:
        return list(client.describe_topics([f"{bus.topics}hot_item"])[0]["partitions"])


def in_step(cluster: KafkaCluster, bus: Bus) -> None:
    """Waits until every broker has all that was acknowledged."""

    def all_of_them() -> bool:
        return all(len(partition["isr_nodes"]) == len(cluster.members) for partition in partitions(cluster, bus))

    wait_for(all_of_them, "every replica in step", 60, every=0.5)


@pytest.fixture
def whole(brokers: KafkaCluster) -> Iterator[KafkaCluster]:
    """All three serve, before and after."""
    yield brokers
    for broker in brokers.members:
        broker.resume()
        broker.start()


WAYS = [("kill", "restart", "kill")]
if LONG:
    WAYS += [("kill", "kill", "kill"), ("restart", "restart", "restart"), ("restart", "kill", "restart")]


@pytest.mark.parametrize("ways", WAYS, ids="-".join)
def test_22_24_26_each_broker_goes_in_turn(make_bus: MakeBus, whole: KafkaCluster, ways: Sequence[str]) -> None:
    """Among them the leader of each partition, the controller, and the coordinator of the task's transactions. One that
    is restarted hands its partitions over before."""
    bus = make_bus(kafka=whole, sink={"replication_factor": 3})
    for broker, way in zip(whole.members, ways, strict=True):
        if way == "restart":
            broker.restart()
        else:
            broker.kill()
            bus.wait_delivered(30, timeout=90)
            broker.start()
        in_step(whole, bus)
        bus.wait_delivered(20, timeout=90)
    clean(bus)


def test_22_a_broker_is_killed_at_least_once(make_bus: MakeBus, whole: KafkaCluster) -> None:
    """The leader of a partition."""
    bus = make_bus(kafka=whole, sink={"delivery": "at_least_once", "replication_factor": 3})
    leads = partitions(whole, bus)[0]["leader_id"]
    broker = whole.members[leads - 1]
    began = time.monotonic()
    broker.kill()
    bus.wait_delivered(50, timeout=90)
    outage = time.monotonic() - began
    verdict = bus.verdict(90)
    assert len(verdict.duplicated) <= 80 * 3.5 * (outage + 1), "more than was written since the last checkpoint"
    verdict.duplicated.clear()
    assert verdict.clean, str(verdict)


def test_25_nothing_is_checkpointed_while_too_few_are_in_step(make_bus: MakeBus, whole: KafkaCluster) -> None:
    """Two of three are frozen, and with them the controllers' quorum: nothing is acknowledged at all. That a broker
    which is alone refuses with NotEnoughReplicas is not had here, as each broker is a controller too."""
    bus = make_bus(kafka=whole, sink={"replication_factor": 3})
    before = bus.look()
    for broker in whole.members[1:]:
        broker.pause()
    time.sleep(4)
    stuck = bus.look().last_commit
    time.sleep(4)
    assert bus.look().last_commit == stuck, "the checkpoint went on without an acknowledgement"
    for broker in whole.members[1:]:
        broker.resume()
    bus.wait_delivered(50, timeout=120)
    assert bus.look().epoch >= before.epoch
    clean(bus)


def test_23_a_long_outage_costs_no_memory(make_bus: MakeBus, make_kafka: Callable[..., Kafka]) -> None:
    import psutil

    broker = make_kafka()
    bus = make_bus(kafka=broker, rate=400)
    figures = wait_for(lambda: (found := bus.look().figures) and found.worker_pid and found, "a worker", 20)
    worker = psutil.Process(figures.worker_pid)
    before = worker.memory_info().rss
    broker.kill()
    time.sleep(12)
    assert worker.is_running() and worker.memory_info().rss < before + (120 << 20)
    broker.start()
    clean(bus)


@pytest.mark.parametrize("bulk", [5_000_000, 1_200_000])
def test_27_a_record_too_large_stops_the_task_or_leaves_a_reference(make_bus: MakeBus, bulk: int) -> None:
    bus = make_bus()
    table = f"{bus.name}.large"
    bus.database.execute(f"CREATE TABLE {table} (id INT PRIMARY KEY, v LONGTEXT)")
    bus.database.execute(f"INSERT INTO {table} VALUES (1, 'small')")
    bus.database.execute(f"INSERT INTO {table} VALUES (2, REPEAT('x', {bulk}))")
    bus.database.execute(f"INSERT INTO {table} VALUES (3, 'small')")
    problem = bus.failed(60)
    assert problem["code"] == "E3102" and f"{bus.topics}large" in problem["what"], problem
    task = bus.task
    task["sink"]["oversize"] = "dead_letter"
    bus.cluster.apply(task)  # tried again of itself
    bus.wait_running()
    clean(bus)
    assert [json.loads(record.key)["id"] for record in bus.records("large")] in ([1, 3], [3, 1])
    [letter] = read_topics(bus.kafka.address, lambda topic: topic == f"{bus.name}.dead_letter")
    told = json.loads(present(letter.value))
    assert told["topic"] == f"{bus.topics}large" and json.loads(told["key"]) == {"id": 2}, told


@pytest.mark.parametrize("way", ["keep", "accept"])
def test_29_a_changed_number_of_partitions_stops_the_next_term_until_someone_decides(
    make_bus: MakeBus, way: str
) -> None:
    bus = make_bus()
    topic = f"{bus.topics}hot_item"
    with admin(bus.kafka.address) as client:
        client.create_partitions({topic: 5})
    bus.wait_delivered(50)
    assert {record.partition for record in bus.seen()} <= {0, 1, 2}, "goes on with the number that it knows"
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    problem = bus.failed(60)
    assert problem["code"] == "E3106" and "5" in problem["found"], problem
    task = bus.task
    task["sink"]["partitions_changed"] = way
    bus.cluster.apply(task)  # tried again of itself
    bus.wait_running()
    bus.wait_delivered(80)
    verdict = bus.verdict()
    used = {record.partition for record in bus.seen()}
    if way == "keep":
        assert verdict.clean and used == {0, 1, 2}, str(verdict)
    else:
        assert used == {0, 1, 2, 3, 4}
        assert not verdict.lost and not verdict.duplicated and not verdict.torn
        places: dict[int, set[int]] = {}
        for record in bus.seen():
            places.setdefault(record.key, set()).add(record.partition)
        wrong = [finding for finding in verdict.reordered if len(places[int(finding.split()[1])]) == 1]
        assert not wrong, "only keys that moved are out of order, as was accepted"


def test_30_a_consumer_that_sleeps_holds_nobody_up(make_bus: MakeBus) -> None:
    bus = make_bus()
    consumer = KafkaConsumer(
        f"{bus.topics}hot_item", bootstrap_servers=bus.kafka.address, auto_offset_reset="earliest", max_poll_records=1
    )
    try:
        assert consumer.poll(timeout_ms=20_000)
        clean(bus)
    finally:
        consumer.close(autocommit=False)


def test_30_a_group_that_loses_records_is_an_alarm(make_bus: MakeBus) -> None:
    bus = make_bus("host-a")
    place, group = TopicPartition(f"{bus.topics}hot_item", 0), f"{bus.topics}asleep"
    with admin(bus.kafka.address) as client:
        stand(client, group, place.topic, 0)
        wait_for(lambda: client.list_partition_offsets({place: OffsetSpec.LATEST})[place].offset > 4, "records", 30)
        client.delete_records({place: 4})
    bus.cluster.apply({**bus.task, "checkpoint_interval_ms": 400})  # looked at anew, not in an hour
    shown = wait_for(lambda: (found := bus.monitored()).get("late_consumers") and found, "the Monitor's alarm", 40)
    assert shown["late_consumers"] == [f"'{group}' has lost 4 records of {place.topic}/0: deleted before it read them"]
    assert (shown["tone"], shown["notes"][0]) == ("warn", f"consumer {shown['late_consumers'][0]}")
    assert bus.metric("bus_late_consumer_groups") == 1


def test_28_a_topic_that_is_deleted_stops_the_task(make_bus: MakeBus) -> None:
    """What went with the topic is gone; what came before, its consumers had."""
    bus = make_bus()
    before = bus.seen()
    with admin(bus.kafka.address) as client:
        client.delete_topics([f"{bus.topics}hot_item"])
    problem = bus.failed(60)
    assert problem["code"] == "E3101" and f"{bus.topics}hot_item" in json.dumps(problem), problem
    verdict = bus.verdict_until(before)
    assert verdict.clean and verdict.delivered == len(before), str(verdict)
    with admin(bus.kafka.address) as client:
        assert f"{bus.topics}hot_item" not in client.list_topics(), "made again behind the operator's back"


def test_30_a_slow_broker_slows_the_reading(make_bus: MakeBus, make_kafka: Callable[..., Kafka]) -> None:
    import psutil

    with Proxy(0, port=free_port()) as proxy:
        broker = make_kafka(properties={"advertised.listeners": f"PLAINTEXT://{proxy.address}"})
        proxy.target = broker.port
        bus = make_bus(kafka=broker, rate=400)
        figures = wait_for(lambda: (found := bus.look().figures) and found.worker_pid and found, "a worker", 20)
        worker = psutil.Process(figures.worker_pid)
        before = worker.memory_info().rss
        proxy.throttle(60_000, "up")
        time.sleep(8)
        assert worker.memory_info().rss < before + (120 << 20)
        proxy.pass_()
        clean(bus)
