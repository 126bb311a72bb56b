"""The address book, as the API shows and changes it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable
from typing import Any

import msgspec

from replicator.config.ddns import Name, parse_address, references
from replicator.coordination.addresses.address_records import ProbeRecord
from replicator.coordination.addresses.book import AddressBook, AddressNode
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import TaskRecord, load
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, NodeMissing, ProcessError
from replicator.model.audit import Difference
from replicator.model.principal import Principal
from server import task_scope
from server.outgoing import OutgoingOperations
from server.responses import View


class Probe(msgspec.Struct, kw_only=True):
    """Whether the server of `address` answers the master Server's probes, since when, and if not, with which error."""

    answers: bool
    address: str
    since_ms: int
    code: str = ""
    found: str = ""
    by: str = ""


class AddressValue(msgspec.Struct, kw_only=True):
    """An earlier value of an address."""

    address: str
    role: str
    by: str
    time_ms: int
    reason: str


class AddressEntry(msgspec.Struct, kw_only=True):
    """An address of the address book. `role`: primary or replica, as operators say. `version`: for If-Match.
    `tasks`: that use it; `probe`: null before the first one; `problem`: why the record can't be used; `earlier`: the
    values before, newest first."""

    name: str
    version: int
    address: str = ""
    role: str = ""
    by: str = ""
    time_ms: int = 0
    reason: str = ""
    tasks: list[str] = msgspec.field(default_factory=list)
    probe: Probe | None = None
    problem: dict[str, str] | None = None
    earlier: list[AddressValue] = msgspec.field(default_factory=list)


class Address(AddressEntry, kw_only=True, rename={"api_version": "apiVersion"}):
    api_version: str = "v1"
    kind: str = "Address"


class AddressList(View, kw_only=True):
    kind: str = "AddressList"
    items: list[AddressEntry]


class AddressOperations:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._book = AddressBook(coordinator, layout)
        self._outgoing = OutgoingOperations(coordinator, layout)
        self._registry = Registry(coordinator, layout)

    def addresses(self, login: Principal) -> list[AddressEntry]:
        users = self._users(login)
        return [msgspec.structs.replace(_entry(node, users), earlier=[]) for node in self._book.nodes()]

    def read(self, name: Name, login: Principal) -> Address:
        return Address(**msgspec.structs.asdict(_entry(self._book.read_all(name), self._users(login))))

    def set(
        self, name: Name, address: str, role: str | None, by: str, reason: str, version: int | None
    ) -> list[Difference]:
        """`role` None: as it is, else primary. See `AddressBook.set`.

        Raises ConfigError E1050 for an address that the list of this Server or of the cluster never allows.
        """
        self._outgoing.check_address(*parse_address(address))
        if role is None:
            role = self._role(name)
        before, after = self._book.set(name, address, role, by, reason, version)
        old = before.record.present if before is not None and before.record is not None else None
        new = after.record.present if after.record is not None else None
        assert new is not None  # noqa: S101 - it was written
        pairs = (("address", old and old.address, new.address), ("role", old and old.role, new.role))
        return [Difference(key, was, is_) for key, was, is_ in pairs if was != is_]

    def _role(self, name: Name) -> str:
        try:
            record = self._book.read(name).record
        except NodeMissing:
            record = None
        return record.present.role if record is not None else "primary"

    def delete(self, name: Name, version: int | None) -> None:
        """Raises ProcessError E4103 while tasks use it, NodeMissing E4101, VersionConflict E4006."""
        self._book.read(name)
        users = self._all_users().get(str(name), [])
        if users:
            raise ProcessError(
                "E4103", f"the address {name} is in use", found=f"tasks {', '.join(users[:10])}", wanted="no task"
            )
        self._book.delete(name, version)

    def nodes(self) -> list[AddressNode]:
        return self._book.nodes()

    def note_probe(self, name: Name, record: ProbeRecord) -> None:
        self._book.note_probe(name, record)

    def users(self) -> dict[str, list[tuple[str, str]]]:
        """By name of an address, section and type of the tasks' ends that are connected to it: how it is probed."""
        found: dict[str, list[tuple[str, str]]] = {}
        for _, config in self._configs():
            for section, name in references(config):
                found.setdefault(str(name), []).append((section, str(config[section].get("type"))))
        return found

    def _all_users(self) -> dict[str, list[str]]:
        return _by_name(self._configs())

    def _users(self, login: Principal) -> dict[str, list[str]]:
        return _by_name((task, config) for task, config in self._configs() if task_scope.includes(login, config))

    def _configs(self) -> Iterable[tuple[str, dict[str, Any]]]:
        """Of all tasks. Those that can't be read use no address that anybody knows of."""
        names = self._registry.names()
        nodes = self._coordinator.get_many([self._layout.task(name) for name in names])
        for task, node in zip(names, nodes, strict=True):
            with contextlib.suppress(CoordinationError):
                config = load(TaskRecord, node.data).config if node is not None else None
                if config is not None:
                    yield task, config


def _by_name(configs: Iterable[tuple[str, dict[str, Any]]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for task, config in configs:
        for name in dict.fromkeys(str(name) for _, name in references(config)):
            found.setdefault(name, []).append(task)
    return found


def _entry(node: AddressNode, users: dict[str, list[str]]) -> AddressEntry:
    entry = AddressEntry(name=str(node.name), version=node.version, tasks=users.get(str(node.name), []))
    if node.problem is not None:
        entry.problem = node.problem.to_dict()
    probe = node.probe
    if node.record is None:
        return entry
    present = node.record.present
    entry.address, entry.role, entry.by = present.address, present.role, present.by
    entry.time_ms, entry.reason = present.time_ms, present.reason
    entry.earlier = [
        AddressValue(address=one.address, role=one.role, by=one.by, time_ms=one.time_ms, reason=one.reason)
        for one in node.record.earlier
    ]
    if probe is not None and probe.address == present.address:  # else of the value before
        entry.probe = Probe(
            answers=probe.answers,
            address=probe.address,
            since_ms=probe.since_ms,
            code=probe.code,
            found=probe.found,
            by=probe.by,
        )
    return entry
