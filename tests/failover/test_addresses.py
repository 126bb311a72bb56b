"""The address book: a change repoints a running task after the checks of a fail-over, or is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from dev.cluster import wait_for
from dev.servers import Kafka, MySQL, ZooKeeper
from dev.servers.replication import await_caught_up, follow, promote
from replicator.config.ddns import parse_name
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.records import AddressFigures
from tests.failover.bus import Bus
from tests.failover.target_bus import TargetBus
from tests.failover.test_snapshots import OPTIONS, ROWS, a_part, each_row_once, progress
from tests.failover.test_source_changes import hand_over
from tests.support.changes import Changes, fill
from tests.support.present import present

pytestmark = pytest.mark.timeout(240)
MakeBus = Callable[..., Bus]
MakeMySQL = Callable[..., MySQL]
MakeKafka = Callable[..., Kafka]
SOURCE, SINK = "shop/orders", "shop/broker"


def set_address(bus: Bus, name: str, address: str) -> None:
    AddressBook(bus.coordinator, bus.layout).set(parse_name(name), address, "primary", "test")


def figure(bus: Bus, section: str = "source") -> AddressFigures | None:
    return next((one for one in bus.look().addresses if one.section == section), None)


def at(bus: Bus, address: str, section: str = "source") -> bool:
    found = figure(bus, section)
    return found is not None and found.in_use == address and found.error is None


def refusal(bus: Bus, text: str, section: str = "source") -> str:
    found = figure(bus, section)
    error = found.error["found"] if found is not None and found.error is not None else ""
    return error if text in error else ""


def group(make_mysql: MakeMySQL) -> tuple[MySQL, MySQL]:
    primary, replica = make_mysql(server_id=911), make_mysql(server_id=912)
    follow(replica, primary)
    return primary, replica


def test_86_a_change_under_load_repoints_the_source(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    """A promotion: the new primary has everything; the change comes while rows are written."""
    primary, replica = group(make_mysql)
    bus = make_bus(
        database=primary,
        source={"address": f"ddns:{SOURCE}"},
        before=lambda bus: set_address(bus, SOURCE, primary.address),
    )
    assert at(bus, primary.address)
    primary.execute("SET GLOBAL super_read_only = ON")
    await_caught_up(replica, primary)
    promote(replica)
    bus.writer.move(replica)
    bus.database = replica
    bus.cluster.cli("ddns", "set", SOURCE, replica.address, "--reason", "promoted")
    wait_for(lambda: at(bus, replica.address), "the task to read from the new primary", 40)
    bus.wait_delivered(80, timeout=60)
    assert len(bus.epochs()) == 1, "the term has not changed"
    wait_for(lambda: "answers for" in bus.cluster.cli("ddns", "get", SOURCE), "the Server's probe", 30)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_86_a_change_while_a_snapshot_reads_the_source(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    """The rest of the rows is read from the new primary, which the former one has fed: each row once."""
    primary, replica = group(make_mysql)

    def before(bus: Bus) -> None:
        set_address(bus, SOURCE, primary.address)
        fill(bus.database, f"{bus.name}.stock", ROWS)

    source = {"address": f"ddns:{SOURCE}", "snapshot": OPTIONS}
    bus = make_bus(database=primary, source=source, before=before, rate=20)
    with Changes(primary, f"{bus.name}.stock", ROWS + 200, seed=8, pause=0.002):
        part = a_part(bus)
    hand_over(bus, primary, replica)
    bus.database = replica
    set_address(bus, SOURCE, replica.address)
    with Changes(replica, f"{bus.name}.stock", ROWS + 200, seed=9, pause=0.002, after=1_000_000):
        wait_for(lambda: at(bus, replica.address), "the task to read from the new primary", 60)
        wait_for(lambda: progress(bus).ended_ms, "the end of the snapshot", 90, every=0.3)
    each_row_once(bus, part)


def test_85_a_server_that_lacks_gtids_is_refused(make_bus: MakeBus, make_mysql: MakeMySQL) -> None:
    """Nothing is lost: the task stays at the former server, also when its Core dies in that state; it follows when the
    server has caught up."""
    primary, replica = group(make_mysql)
    bus = make_bus(
        database=primary,
        source={"address": f"ddns:{SOURCE}"},
        before=lambda bus: set_address(bus, SOURCE, primary.address),
    )
    replica.execute("STOP REPLICA IO_THREAD")
    bus.wait_delivered(40)
    set_address(bus, SOURCE, replica.address)
    found = wait_for(lambda: refusal(bus, "E2209"), "the refusal", 40)
    assert "lacks transactions" in found and str(primary.execute("SELECT @@server_uuid")[0][0]) in found, found
    assert present(figure(bus)).in_use == primary.address
    bus.wait_delivered(40)
    bus.cluster.cores[bus.look().host].kill()
    wait_for(lambda: refusal(bus, "E2209"), "the successor's refusal", 60)
    bus.wait_delivered(40, timeout=60)
    assert present(figure(bus)).in_use == primary.address
    replica.execute("START REPLICA IO_THREAD")
    wait_for(lambda: at(bus, replica.address), "the task to follow", 60)
    bus.wait_delivered(40, timeout=60)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)


def test_85_a_target_without_the_position_is_refused(
    zookeeper: ZooKeeper, mysql: MySQL, make_mysql: MakeMySQL, tmp_path: Path
) -> None:
    """One that has an older one gets what it lacks again."""
    first, behind, empty = make_mysql(server_id=913), make_mysql(server_id=914), make_mysql(server_id=915)
    follow(behind, first)
    name = "shop/target"
    bus = TargetBus(zookeeper, mysql, first, tmp_path, sink={"address": f"ddns:{name}"})
    try:
        bus.prepare()
        set_address(bus, name, first.address)
        bus.start()
        empty.execute("CREATE USER applier@'%%' IDENTIFIED BY 'applier'")
        empty.execute("GRANT ALL ON *.* TO applier@'%%'")
        behind.execute("STOP REPLICA")
        set_address(bus, name, empty.address)
        wait_for(lambda: refusal(bus, "E4107", "sink"), "the refusal", 40)
        bus.wait_delivered(50)
        promote(behind)
        set_address(bus, name, behind.address)
        wait_for(lambda: at(bus, behind.address, "sink"), "the task to write to the new target", 40)
        bus.target = behind
        bus.wait_delivered(50)
        assert bus.differences() == []
    finally:
        bus.close()


def test_85_another_kafka_cluster_is_refused(make_bus: MakeBus, kafka: Kafka, make_kafka: MakeKafka) -> None:
    bus = make_bus(
        sink={"address": f"ddns:{SINK}"}, before=lambda bus: set_address(bus, SINK, kafka.address.split(",")[0])
    )
    first = kafka.address.split(",")[0]
    assert at(bus, first, "sink")
    other = make_kafka()
    set_address(bus, SINK, other.address.split(",")[0])
    assert "E4106" in wait_for(lambda: refusal(bus, "E4106", "sink"), "the refusal", 40)
    bus.wait_delivered(40)
    set_address(bus, SINK, first.replace("127.0.0.1", "localhost"))
    wait_for(lambda: at(bus, first.replace("127.0.0.1", "localhost"), "sink"), "another name of the same broker", 40)
    bus.wait_delivered(40)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
