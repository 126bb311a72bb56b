"""The address book: znodes /ddns/APP/DOMAIN."""

from __future__ import annotations

import contextlib
from typing import Final, NamedTuple

from replicator.config.ddns import Name, canonical, parse_address, parse_name, parse_role
from replicator.coordination.clock import now_ms
from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator, Create, Delete, Node, Op, Watcher
from replicator.coordination.records import AddressChange, AddressRecord, ProbeRecord, dump, load
from replicator.errors import (
    ConfigError,
    CoordinationError,
    NodeExists,
    NodeMissing,
    ProcessError,
    ReplicatorError,
    VersionConflict,
)

KEPT: Final = 20
"""Earlier values of an address."""
MOST: Final = 1000
_TRIES: Final = 3
_SEE: Final = "`replicator ddns ls` shows the names."


class AddressNode(NamedTuple):
    """`version`: of the record, for If-Match. `record` None: `problem` says why it can't be used."""

    name: Name
    version: int
    record: AddressRecord | None
    probe: ProbeRecord | None = None
    problem: ReplicatorError | None = None

    @property
    def address(self) -> str:
        """Raises CoordinationError E4102."""
        if self.problem is not None:
            raise self.problem
        assert self.record is not None  # noqa: S101 - one of the two
        return self.record.present.address


class AddressBook:
    """Thread-safe: it keeps nothing but the coordinator."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def names(self) -> list[Name]:
        """Sorted. Children that are not named like an address are left out."""
        found = []
        for app in self._children(self._layout.addresses):
            for domain in self._children(self._layout.addresses_of(app)):
                with contextlib.suppress(ConfigError):
                    found.append(parse_name(f"{app}/{domain}"))
        return sorted(found)

    def _children(self, path: str) -> list[str]:
        try:
            return [unescape(child) for child in self._coordinator.children(path)]
        except NodeMissing:
            return []

    def nodes(self) -> list[AddressNode]:
        names = self.names()
        nodes = self._coordinator.get_many([self._layout.address(*name) for name in names])
        probes = self._coordinator.get_many([self._layout.address_probe(*name) for name in names])
        together = zip(names, nodes, probes, strict=True)
        return [self._parsed(name, node, probe) for name, node, probe in together if node is not None]

    def read(self, name: Name, watch: Watcher | None = None) -> AddressNode:
        """`watch` waits for a change, also where there is no such address. Raises NodeMissing E4101."""
        path = self._layout.address(*name)
        try:
            node = self._coordinator.get(path, watch)
        except NodeMissing:
            if watch is not None:
                self._coordinator.exists(path, watch)
            raise _missing(name) from None
        return self._parsed(name, node, None)

    def read_all(self, name: Name) -> AddressNode:
        """With the probe. Raises NodeMissing E4101."""
        node = self.read(name)
        probe = self._coordinator.get_many([self._layout.address_probe(*name)])[0]
        return node._replace(probe=_probe(probe))

    def _parsed(self, name: Name, node: Node, probe: Node | None) -> AddressNode:
        try:
            record = load(AddressRecord, node.data, self._layout.address(*name))
            parse_address(record.present.address)
        except ReplicatorError as error:
            problem = CoordinationError(
                "E4102", f"the address {name} can't be used", found=f"{error.code} {error.what}"
            )
            return AddressNode(name, node.stat.version, None, _probe(probe), problem)
        return AddressNode(name, node.stat.version, record, _probe(probe))

    def set(
        self, name: Name, address: str, role: str, by: str, reason: str = "", version: int | None = None
    ) -> tuple[AddressNode | None, AddressNode]:
        """Creates or replaces an address; nothing is written where it is the same already.

        Args:
            version: the caller's idea of the present version, None: any, or no address at all.

        Returns:
            Before, None without one, and after.

        Raises:
            ConfigError: E4100.
            NodeMissing: E4101, with `version`.
            VersionConflict: E4006.
        """
        wanted = AddressChange(canonical(address), parse_role(role), by, now_ms(), reason)
        for _ in range(_TRIES):
            before = self._find(name)
            _check_version(name, before, version)
            present = before.record.present if before is not None and before.record is not None else None
            if before is not None and present and (present.address, present.role) == (wanted.address, wanted.role):
                return before, before
            try:
                return before, self._write(name, before, wanted)
            except (NodeExists, NodeMissing, VersionConflict):
                continue  # changed meanwhile: decided anew
        raise VersionConflict("E4006", f"the address {name} is being changed by other processes")

    def _find(self, name: Name) -> AddressNode | None:
        try:
            return self.read(name)
        except NodeMissing:
            return None

    def _write(self, name: Name, before: AddressNode | None, wanted: AddressChange) -> AddressNode:
        path = self._layout.address(*name)
        if before is None:
            if len(self.names()) >= MOST:
                raise ProcessError("E4100", "there are too many addresses", found=str(MOST), fix=f"Delete some: {_SEE}")
            record = AddressRecord(present=wanted)
            self._coordinator.create(path, dump(record), parents=True)
            return AddressNode(name, 0, record)
        known = [before.record.present, *before.record.earlier] if before.record is not None else []
        record = AddressRecord(present=wanted, earlier=known[:KEPT])
        stat = self._coordinator.set(path, dump(record), before.version)
        return AddressNode(name, stat.version, record)

    def delete(self, name: Name, version: int | None = None) -> None:
        """Also of a record that can't be read. Raises NodeMissing E4101, VersionConflict E4006."""
        path, probe = self._layout.address(*name), self._layout.address_probe(*name)
        for _ in range(_TRIES):
            present = self.read(name)
            _check_version(name, present, version)
            ops: list[Op] = [Delete(path, present.version)]
            if self._coordinator.exists(probe) is not None:
                ops.insert(0, Delete(probe))
            try:
                self._coordinator.multi(ops)
                return
            except (NodeExists, NodeMissing, VersionConflict):
                continue  # its probe came or went, or the address was changed
        raise VersionConflict("E4006", f"the address {name} is being changed by other processes")

    def note_probe(self, name: Name, record: ProbeRecord) -> None:
        """Nothing happens where the address is gone."""
        path, data = self._layout.address_probe(*name), dump(record)
        with contextlib.suppress(NodeMissing, NodeExists):
            try:
                self._coordinator.set(path, data)
            except NodeMissing:
                self._coordinator.multi([Create(path, data)])


def _probe(node: Node | None) -> ProbeRecord | None:
    """None also for one that can't be read: the next probe replaces it."""
    try:
        return load(ProbeRecord, node.data) if node is not None else None
    except CoordinationError:
        return None


def _check_version(name: Name, present: AddressNode | None, version: int | None) -> None:
    if version is None:
        return
    if present is None:
        raise _missing(name)
    if present.version != version:
        what, found = f"the address {name} was changed by another process", f"version {present.version}"
        raise VersionConflict("E4006", what, found=found, wanted=str(version))


def _missing(name: Name) -> NodeMissing:
    return NodeMissing("E4101", f"there is no address {name} in the address book")
