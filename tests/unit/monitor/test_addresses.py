"""Addresses of the book in the Monitor: refusals of tasks, and probes."""

from __future__ import annotations

from replicator.config.ddns import parse_name
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.records import AddressFigures, ProbeRecord
from tests.unit.monitor.scene import Bus
from tests.unit.monitor.test_metrics import value
from tests.unit.monitor.test_view_builder import Eye

NAME = parse_name("shop/orders")
ERROR = {"code": "E4105", "what": "not connected", "found": "E2209 lacks u:1-5", "wanted": "", "fix": ""}


def test_a_refusal_and_a_probe() -> None:
    bus = Bus()
    bus.task("orders")
    source = AddressFigures(section="source", name=str(NAME), wanted="b:1", in_use="a:1", error=ERROR)
    sink = AddressFigures(section="sink", name="shop/kafka", wanted="k:1", in_use="k:1")
    core = bus.core("host-a")
    core.stand("orders", "RUNNING", addresses=[source, sink])
    core.report()
    eye = Eye(bus)
    book = AddressBook(eye.coordinator, bus.layout)
    book.set(NAME, "b:1", "primary", "ann")
    view = eye.look()
    (row,) = view.tasks
    assert "source address b:1 refused (E4105), a:1 is in use" in row.notes and row.tone == "warn"
    assert any(error["code"] == "E4105" for error in row.errors)
    assert value(view, "bus_task_address_refused", task="orders", section="source") == 1
    assert value(view, "bus_task_address_refused", task="orders", section="sink") == 0
    assert value(view, "bus_address_answers", name=str(NAME), address="b:1") is None, "not probed yet"
    book.note_probe(NAME, ProbeRecord(address="b:1", answers=False, since_ms=1, code="E4108", found="refused"))
    assert value(eye.look(), "bus_address_answers", name=str(NAME), address="b:1") == 0
    book.set(NAME, "c:1", "primary", "ann")
    assert value(eye.look(), "bus_address_answers", name=str(NAME), address="c:1") is None, "of the value before"


def test_a_damaged_record_disturbs_nothing_else() -> None:
    bus = Bus()
    eye = Eye(bus)
    AddressBook(eye.coordinator, bus.layout).set(NAME, "b:1", "primary", "ann")
    eye.coordinator.set(bus.layout.address(*NAME), b"junk")
    assert eye.look().addresses[0].address == ""
