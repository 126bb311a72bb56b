"""The address book over the coordinator in memory."""

from __future__ import annotations

import pytest

from replicator.config.ddns import Name
from replicator.coordination.addresses.book import KEPT, AddressBook
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.records import ProbeRecord
from replicator.errors import ConfigError, CoordinationError, NodeMissing, VersionConflict

NAME = Name("shop", "orders")
LAYOUT = Layout()


@pytest.fixture
def coordinator() -> MemoryCoordinator:
    return MemoryEnsemble().session()


@pytest.fixture
def book(coordinator: MemoryCoordinator) -> AddressBook:
    return AddressBook(coordinator, LAYOUT)


def test_an_empty_book(book: AddressBook) -> None:
    assert (book.names(), book.nodes()) == ([], [])
    for ask in (book.read, book.delete, lambda name: book.set(name, "a:1", "primary", "", "", 0)):
        with pytest.raises(NodeMissing) as error:
            ask(NAME)
        assert error.value.code == "E4101"


def test_set_and_changed(book: AddressBook) -> None:
    before, first = book.set(NAME, "DB1:3306", "primary", "ann", "new")
    assert before is None and first.version == 0
    _, second = book.set(NAME, "db2:3306", "replica", "bob", "moved", 0)
    assert (second.address, second.version) == ("db2:3306", 1)
    node = book.read(NAME)
    assert node.record is not None and node.record.present.by == "bob"
    assert [(one.address, one.by, one.reason) for one in node.record.earlier] == [("db1:3306", "ann", "new")]


def test_the_same_value_is_no_change(book: AddressBook) -> None:
    book.set(NAME, "db1:3306", "primary", "ann")
    _, again = book.set(NAME, "DB1:3306", "primary", "bob")
    assert again.version == 0 and again.record is not None and again.record.present.by == "ann"
    assert book.set(NAME, "db1:3306", "replica", "bob")[1].version == 1


def test_another_operators_change_is_not_overwritten(book: AddressBook) -> None:
    book.set(NAME, "db1:3306", "primary", "ann")
    book.set(NAME, "db2:3306", "primary", "bob", version=0)
    for act in (lambda: book.set(NAME, "db3:3306", "primary", "ann", version=0), lambda: book.delete(NAME, 0)):
        with pytest.raises(VersionConflict) as error:
            act()
        assert error.value.code == "E4006"
    assert book.read(NAME).address == "db2:3306"


def test_the_history_is_bounded(book: AddressBook) -> None:
    for port in range(1, KEPT + 10):
        book.set(NAME, f"db:{port}", "primary", "ann")
    record = book.read(NAME).record
    assert record is not None and len(record.earlier) == KEPT
    assert record.earlier[0].address == f"db:{KEPT + 8}"


def test_deleted_with_its_probe_and_created_again(book: AddressBook, coordinator: MemoryCoordinator) -> None:
    book.set(NAME, "db1:3306", "primary", "ann")
    probe = ProbeRecord(address="db1:3306", answers=False, since_ms=1, code="E4108", found="refused")
    book.note_probe(NAME, probe)
    book.note_probe(NAME, probe)
    assert book.read_all(NAME).probe == probe and book.nodes()[0].probe == probe
    book.delete(NAME)
    assert book.names() == []
    book.note_probe(NAME, probe)  # of a round that had begun
    assert book.names() == [] and coordinator.exists(LAYOUT.address_probe(*NAME)) is None
    _, again = book.set(NAME, "db1:3306", "primary", "ann")
    assert again.record is not None and again.record.earlier == [] and book.read_all(NAME).probe is None


@pytest.mark.parametrize("data", [b"", b"{", b'{"v": 99}', b'{"v": 1, "present": {"address": "nonsense"}}'])
def test_a_damaged_record_is_shown_and_repaired(book: AddressBook, coordinator: MemoryCoordinator, data: bytes) -> None:
    book.set(NAME, "db1:3306", "primary", "ann")
    coordinator.set(LAYOUT.address(*NAME), data)
    node = book.nodes()[0]
    assert node.record is None and node.problem is not None
    with pytest.raises(CoordinationError) as error:
        node.address  # noqa: B018
    assert error.value.code == "E4102"
    book.set(NAME, "db1:3306", "primary", "ann")
    assert book.read(NAME).address == "db1:3306"
    coordinator.set(LAYOUT.address(*NAME), data)
    book.delete(NAME)
    assert book.names() == []


def test_foreign_children_are_left_out(book: AddressBook, coordinator: MemoryCoordinator) -> None:
    book.set(NAME, "db1:3306", "primary", "ann")
    coordinator.create(f"{LAYOUT.addresses}/shop/%20odd", b"")
    coordinator.create(f"{LAYOUT.addresses}/-x/y", b"", parents=True)
    assert book.names() == [NAME]


def test_what_is_refused_is_not_written(book: AddressBook) -> None:
    for address, role in (("db1", "primary"), ("db1:1", "leader")):
        with pytest.raises(ConfigError):
            book.set(NAME, address, role, "ann")
    assert book.names() == []


def test_two_installations_have_a_book_each(coordinator: MemoryCoordinator) -> None:
    one, other = AddressBook(coordinator, Layout("/one")), AddressBook(coordinator, Layout("/other"))
    one.set(NAME, "db1:3306", "primary", "ann")
    other.set(NAME, "db2:3306", "primary", "ann")
    assert (one.read(NAME).address, other.read(NAME).address) == ("db1:3306", "db2:3306")


def test_a_watch_waits_for_a_missing_name(book: AddressBook) -> None:
    fired: list[str] = []
    with pytest.raises(NodeMissing):
        book.read(NAME, lambda change, path: fired.append(path))
    book.set(NAME, "db1:3306", "primary", "ann")
    assert fired == [LAYOUT.address(*NAME)]
