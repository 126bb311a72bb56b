"""The addresses of the book that a task uses: what the book says, and what the task has accepted last."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

import msgspec

from replicator.config.ddns import Name, references
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Check, Coordinator, Create, Op, Set
from replicator.coordination.records import AcceptedAddress, TaskAddressesRecord, dump, load
from replicator.coordination.watches import Watches
from replicator.errors import (
    CoordinationError,
    LeadershipLost,
    NodeExists,
    NodeMissing,
    ReplicatorError,
    VersionConflict,
)


class TaskAddress(msgspec.Struct, frozen=True):
    """
    Attributes:
        section: "source" or "sink".
        name: APP/DOMAIN.
        wanted: host:port in the book; "" where it can't be had, and `problem` says why.
        accepted: what has passed the checks last; None: nothing under this name.
    """

    section: str
    name: str
    wanted: str = ""
    problem: dict[str, str] | None = None
    accepted: AcceptedAddress | None = None


class TaskAddresses:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._book = AddressBook(coordinator, layout)

    def read(self, task: str, uid: str, config: Mapping[str, Any], watches: Watches) -> tuple[TaskAddress, ...]:
        """() for a task that uses none: nothing is read. Raises NotConnected."""
        used = list(references(config))
        if not used:
            return ()
        accepted = self._find(task, uid)[0]
        return tuple(self._wanted(section, name, accepted.get(section), watches) for section, name in used)

    def _wanted(self, section: str, name: Name, accepted: AcceptedAddress | None, watches: Watches) -> TaskAddress:
        known = accepted if accepted is not None and accepted.name == str(name) else None
        try:
            return TaskAddress(section, str(name), self._address(name, watches), None, known)
        except ReplicatorError as error:
            if error.transient:
                raise
            return TaskAddress(section, str(name), "", error.to_dict(), known)

    def _address(self, name: Name, watches: Watches) -> str:
        """A watch waits for a name that is missing, too: it is set with the question whether it is there."""
        with watches.on("data", self._layout.address(*name)) as watch, contextlib.suppress(NodeMissing):
            return self._book.read(name).address if watch is None else self._watched(name, watch)
        raise NodeMissing("E4101", f"there is no address {name} in the address book")

    def _watched(self, name: Name, watch: Any) -> str:
        if self._coordinator.exists(self._layout.address(*name), watch) is None:
            raise NodeMissing("E4101", f"there is no address {name}")
        return self._book.read(name).address

    def _find(self, task: str, uid: str) -> tuple[dict[str, AcceptedAddress], int]:
        """By section, and the version of the node, -1 without one. A record that can't be read, or is of another
        incarnation, accepts nothing: the position decides then, as for a first address."""
        path = self._layout.task_addresses(task)
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return {}, -1
        try:
            record = load(TaskAddressesRecord, node.data, path)
        except CoordinationError:
            return {}, node.stat.version
        return (record.accepted if record.uid == uid else {}), node.stat.version

    def accept(self, task: str, uid: str, contender: str, section: str, address: AcceptedAddress) -> None:
        """Durably, while our node in the election, `contender`, stands.

        Raises NotConnected, LeadershipLost, and VersionConflict where another process has written meanwhile."""
        accepted, version = self._find(task, uid)
        path = self._layout.task_addresses(task)
        data = dump(TaskAddressesRecord(uid=uid, accepted={**accepted, section: address}))
        write: Op = Create(path, data) if version < 0 else Set(path, data, version)
        try:
            self._coordinator.multi([Check(self._layout.contender(task, contender)), write])
        except NodeExists as error:
            raise VersionConflict("E4006", f"the addresses of '{task}' were changed by another process") from error
        except NodeMissing as error:
            raise LeadershipLost("E4008", f"the election znode of this process for '{task}' is gone") from error
