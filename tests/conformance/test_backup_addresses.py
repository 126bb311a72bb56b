"""A restore of a backup whose address book is older than that of the tree."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from pathlib import Path

from replicator.config.ddns import Name
from replicator.coordination.addresses.address_records import AcceptedAddress, TaskAddressesRecord
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.addresses.task_addresses import TaskAddresses
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import dump
from replicator.coordination.watches import Watches
from tests.conformance.test_backup import TASK, make, put_back, taken
from tests.support.present import present

Session = Callable[[], Coordinator]


def test_an_older_address_book_replaces_no_address(session: Session, tmp_path: Path) -> None:
    """The book of today knows where the servers are now: a restore must not point tasks at those of yesterday. A name
    that is missing comes back, and a task with the address that it had accepted."""
    zk, old = session(), Layout(f"/old-{uuid.uuid4().hex}")
    uid = make(zk, old)
    book, names = AddressBook(zk, old), [Name("shop", "orders"), Name("shop", "broker")]
    for name in names:
        book.set(name, "old:3306", "primary", "me")
    accepted = dump(TaskAddressesRecord(uid=uid, accepted={"source": AcceptedAddress("shop/orders", "old:3306")}))
    zk.create(old.task_addresses(TASK), accepted)
    taken(zk, old, tmp_path / "backup")
    book.set(names[0], "new:3306", "primary", "me")
    book.delete(names[1])
    zk.set(old.task_addresses(TASK), accepted.replace(b"old:", b"new:"))
    put_back(zk, old, tmp_path / "backup", overwrite=True)
    assert [book.read(name).address for name in names] == ["new:3306", "old:3306"]
    read = TaskAddresses(zk, old).read(TASK, uid, {"source": {"address": "ddns:shop/orders"}}, Watches(lambda: None))
    assert [(one.wanted, present(one.accepted).address) for one in read] == [("new:3306", "old:3306")]
