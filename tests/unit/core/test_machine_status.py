from __future__ import annotations

import threading
import time

import pytest

from core.machine_status import MachineStatus
from replicator.coordination.clock import now_ms
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.machines import Machines
from replicator.coordination.machines.stopped import KEEP_MS, StoppedCores
from replicator.coordination.records import MachineRecord, StoppedRecord, dump
from replicator.telemetry.zookeeper_requests import measured
from tests.support.waiting import eventually


@pytest.fixture
def ensemble() -> MemoryEnsemble:
    return MemoryEnsemble(time.monotonic)


def claimant(ensemble: MemoryEnsemble, process: str, timeout: float = 10.0) -> MachineStatus:
    session = ensemble.session(timeout)
    return MachineStatus(session, Layout(), "host-a", process, time.monotonic)


def never() -> bool:
    return False


def test_a_free_name_is_taken_at_once(ensemble: MemoryEnsemble) -> None:
    begun = time.monotonic()
    assert claimant(ensemble, "1" * 32).claim(never).host == "host-a"
    assert time.monotonic() - begun < 0.3


def test_the_name_of_a_dead_process_is_taken_when_its_node_is_gone_and_has_been_missed(
    ensemble: MemoryEnsemble,
) -> None:
    dead = ensemble.session()
    Machines(dead, Layout()).publish(
        "host-a", MachineRecord(host="host-a", pid=1, process="0" * 32, started_ms=0, time_ms=0)
    )
    names: list[str] = []
    thread = threading.Thread(target=lambda: names.append(claimant(ensemble, "2" * 32).claim(never).host))
    thread.start()
    time.sleep(0.3)
    dead.close()
    look = ensemble.session()
    time.sleep(0.3)
    assert Machines(look, Layout()).read("host-a") is None, "successors may not have looked yet"
    thread.join(5)
    assert names == ["host-a"]
    assert Machines(look, Layout()).read("host-a") is not None


def test_a_living_process_keeps_its_name(ensemble: MemoryEnsemble) -> None:
    Machines(ensemble.session(), Layout()).publish(
        "host-a", MachineRecord(host="host-a", pid=1, process="0" * 32, started_ms=0, time_ms=0)
    )
    assert claimant(ensemble, "3" * 32, timeout=0.4).claim(never).host == "host-a~3333"


def test_an_end_on_request_is_on_record_until_the_next_start(ensemble: MemoryEnsemble) -> None:
    status = claimant(ensemble, "5" * 32)
    status.claim(never)
    ended = StoppedCores(ensemble.session(), Layout())
    ended.record("host-b", "9" * 32)
    status.record_end()
    assert {name: record.process[0] for name, record in ended.list().items()} == {"host-a": "5", "host-b": "9"}
    status.record_end()
    again = claimant(ensemble, "6" * 32)
    again.start(dict)
    eventually(lambda: list(ended.list()) == ["host-b"])
    again.stop()


def test_records_of_hosts_that_never_came_back_are_removed(ensemble: MemoryEnsemble) -> None:
    session, layout = ensemble.session(), Layout()
    ended = StoppedCores(session, layout)
    for host, age in (("host-old", KEEP_MS + 1000), ("host-new", KEEP_MS - 60_000)):
        record = StoppedRecord(process="p", time_ms=now_ms() - age)
        session.create(layout.stopped_core(host), dump(record), parents=True)
    session.create(layout.stopped_core("junk"), b"{")
    expected = ExpectedMachines(session, layout)
    for host in ("host-old", "host-ordered", "host-new"):
        expected.learn(host)
    old = StoppedRecord(process="p", time_ms=now_ms() - KEEP_MS - 1000)
    session.create(layout.stopped_core("host-ordered"), dump(old))
    expected.expect("host-ordered", "me", "")
    ended.record("host-a", "1" * 32)
    ended.remove_old()
    assert sorted(expected.list()) == ["host-new", "host-ordered"], "what has ended for good is not missing"
    assert sorted(ended.list()) == ["host-a", "host-new", "host-ordered"]
    assert session.exists(layout.stopped_core("host-old")) is None


def test_waiting_for_a_name_ends_when_asked_to(ensemble: MemoryEnsemble) -> None:
    Machines(ensemble.session(), Layout()).publish(
        "host-a", MachineRecord(host="host-a", pid=1, process="0" * 32, started_ms=0, time_ms=0)
    )
    asked = threading.Event()
    timer = threading.Timer(0.3, asked.set)
    timer.start()
    assert claimant(ensemble, "4" * 32).claim(asked.is_set).host == "host-a"
    timer.join()


def test_a_machine_is_expected_from_its_first_report_on(ensemble: MemoryEnsemble) -> None:
    expected = ExpectedMachines(ensemble.session(), Layout())
    status = claimant(ensemble, "7" * 32)
    status.claim(never)
    assert expected.list() == {}
    status.start(dict)
    eventually(lambda: list(expected.list()) == ["host-a"])
    status.stop()
    assert expected.list()["host-a"].record.learned


def test_the_report_has_vitals(ensemble: MemoryEnsemble) -> None:
    status = claimant(ensemble, "8" * 32)
    status.claim(never)
    node = Machines(ensemble.session(), Layout()).read("host-a")
    assert node is not None and node.record is not None
    assert node.record.role == "core" and node.record.vitals.booted_ms > 0
    assert node.record.cores > 0


def test_what_the_core_counts_is_published(ensemble: MemoryEnsemble) -> None:
    status = claimant(ensemble, "1" * 32)
    status.counters.fenced("lease")
    with measured():
        pass
    status.claim(never)
    machine = Machines(ensemble.session(), Layout()).read("host-a")
    assert machine is not None
    assert machine.record is not None
    assert machine.record.counts.fenced == {"lease": 1}
    assert machine.record.requests is not None
    assert machine.record.requests.count >= 1
