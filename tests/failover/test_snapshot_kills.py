"""Workers are killed, and fenced, at named steps of a snapshot's chunk, on a whole bus."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator

import psutil
import pytest
from kafka import KafkaProducer

from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.faults.proxy import Proxy
from dev.servers import Kafka
from dev.servers.ports import free_port
from replicator.coordination.installation import installation_id
from replicator.sink.kafka.names import transactional_id
from tests.failover.bus import Bus
from tests.failover.test_snapshots import progress
from tests.servers import started
from tests.support.changes import Changes, Copied, contents, fill
from tests.support.held_snapshot import Gate, Step

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
ROWS = 600
STEPS: tuple[Step, ...] = ("before the view", "before the SELECT", "during the SELECT", "before COMMIT", "before high")
_END_TRANSACTION = b"\x00\x1a\x00\x05\x00\x00"
"""Key and version of the request, and the first half of its number."""


class Ways:
    """Proxies on the way to the source and to Kafka, which outlive the bus, and the broker."""

    def __init__(self, source: Proxy, kafka: Proxy, broker: Kafka) -> None:
        self.source, self.kafka, self.broker = source, kafka, broker


@pytest.fixture(scope="module")
def ways() -> Iterator[Ways]:
    """The broker has a second listener behind its proxy, for the task; consumers of the test use the first one."""
    port, held, controller = free_port(), free_port(), free_port()
    with Proxy(0) as source, Proxy(held) as kafka:
        broker = Kafka(
            port=port,
            fast=True,
            modest=True,
            properties={
                "listeners": f"PLAINTEXT://127.0.0.1:{port},HELD://127.0.0.1:{held},CONTROLLER://127.0.0.1:{controller}",
                "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},HELD://{kafka.address}",
                "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,HELD:PLAINTEXT,CONTROLLER:PLAINTEXT",
            },
        )
        yield Ways(source, kafka, started(broker))
        broker.close()


def kill_worker(bus: Bus) -> None:
    """The one that figures name can have ended: on a busy machine a Core loses its session and hands over."""

    def killed() -> psutil.Process | None:
        figures = bus.look().figures
        if figures is None or not figures.worker_pid:
            return None
        with contextlib.suppress(psutil.NoSuchProcess):
            found = psutil.Process(figures.worker_pid)
            found.kill()
            return found
        return None

    worker = wait_for(killed, "a worker", 40)
    wait_for(lambda: not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE, "its end", 10)


def read_rows(bus: Bus) -> int:
    """Rows of the snapshot that a consumer sees."""
    return sum(json.loads(record.value or b"{}").get("op") == "r" for record in bus.records("stock"))


@pytest.fixture
def stopped(ways: Ways, make_bus: MakeBus) -> Iterator[tuple[Bus, Gate]]:
    """A bus with tables `stock` and `mark`, and a gate for the chunks of the first. lastCommit is written when a worker
    begins and not again soon, so that Kafka is ahead of it."""
    gates: list[Gate] = []

    def prepare(bus: Bus) -> None:
        ways.source.target = bus.database.port
        fill(bus.database, f"{bus.name}.stock", ROWS)
        bus.database.execute(f"CREATE TABLE {bus.name}.mark (id INT PRIMARY KEY, text VARCHAR(20))")
        gates.append(Gate(ways.source, bus.database))

    bus = make_bus(
        kafka=ways.broker,
        before=prepare,
        session_seconds=6.0,  # what a worker is held for must be no reason to hand over
        rate=10,
        source={"port": ways.source.port, "snapshot": {"tables": ["*.stock"], "chunk_rows": 20}},
        sink={"bootstrap_servers": [ways.kafka.address]},
        settings={"checkpoint_interval_ms": 60_000},
    )
    yield bus, gates[0]
    ways.source.pass_()
    ways.kafka.pass_()


def test_70_the_worker_is_killed_at_each_step_of_a_chunk(ways: Ways, stopped: tuple[Bus, Gate]) -> None:
    """From the open window to the commit in Kafka and before lastCommit is written: no row is lost or comes twice."""
    (bus, gate), way = stopped, ways.kafka
    table, mark = f"{bus.name}.stock", f"{bus.name}.mark"
    with Changes(bus.database, table, ROWS + 20, seed=3, pause=0.05):
        for step in STEPS:
            with gate.at(step):
                kill_worker(bus)
        with gate.at("before its place", mark):
            wait_for(lambda: read_rows(bus) > progress(bus).rows, "Kafka to be ahead of lastCommit", 20, every=0.2)
            bus.cluster.cores[bus.look().host].kill()
        with gate.at("before its place", mark):
            before, end = read_rows(bus), way.hold_before(_END_TRANSACTION)
        end.wait()
        kill_worker(bus)
        way.reset()  # the proxy would send what it holds
        end.release()
        assert read_rows(bus) == before, "Kafka has not committed them"
        for _ in range(4):
            with gate.at("before its place", mark):
                before, end = read_rows(bus), way.hold_before(_END_TRANSACTION)
            end.wait()
            way.black_hole("down")
            end.release()
            seen = grown(bus, before, 6)
            kill_worker(bus)
            way.pass_()
            if seen:
                break
        else:  # the transactions were those of changes in front of the chunk
            pytest.fail("no commit of a chunk that the worker does not learn of")
        gate.close()
    each_row_once(bus)


def test_75_another_producer_fences_the_worker_with_a_chunk_in_the_middle(
    ways: Ways, stopped: tuple[Bus, Gate]
) -> None:
    """It has the task's transactional id, and comes while a chunk is read, and while one is in a transaction."""
    (bus, gate), way = stopped, ways.kafka
    with Changes(bus.database, f"{bus.name}.stock", ROWS + 20, seed=4, pause=0.05):
        with gate.at("before COMMIT"):
            fence(bus)
        with gate.at("before its place", f"{bus.name}.mark"):
            before, end = read_rows(bus), way.hold_before(_END_TRANSACTION)
        end.wait()
        fence(bus)
        assert read_rows(bus) == before, "their transaction was aborted"
        end.release()
        gate.close()
        wait_for(
            lambda: read_rows(bus) > before,
            lambda: f"rows of the snapshot: {bus.look().state} {bus.look().problems}{bus.logs()}",
            60,
            every=0.3,
        )
    each_row_once(bus)


def grown(bus: Bus, before: int, seconds: float) -> bool:
    """Whether a consumer sees more rows of the snapshot in time."""
    with contextlib.suppress(ServerFailed):
        wait_for(lambda: read_rows(bus) > before, "more rows", seconds, every=0.2)
        return True
    return False


def fence(bus: Bus) -> None:
    """As anybody can who has the right to use the transactional id."""
    name = transactional_id(bus.name, installation_id(bus.coordinator, bus.layout))
    producer = KafkaProducer(bootstrap_servers=bus.kafka.address, transactional_id=name)
    producer.init_transactions()
    producer.close()


def each_row_once(bus: Bus) -> None:
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    wanted = contents(bus.database, f"{bus.name}.stock")
    wait_for(lambda: Copied(bus.records("stock")).rows == wanted, "the same rows", 60, every=1.0)
    copied = Copied(bus.records("stock"))
    assert copied.backwards == [] and len(copied.read) == len(set(copied.read))
