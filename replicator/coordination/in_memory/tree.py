"""The znode tree of the coordinator in memory: nodes, versions, transaction ids and sequence numbers as in
ZooKeeper."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from replicator.coordination.limits import check_node
from replicator.coordination.ports import Acl, Change, Grant, Identity, Node, Stat
from replicator.coordination.rights import OPEN
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict


class _Entry:
    def __init__(self, data: bytes, owner: int, zxid: int, grants: Sequence[Grant] = OPEN) -> None:
        self.grants = tuple(sorted(grants))
        self.aversion = 0
        self.data = data
        self.owner = owner
        self.version = 0
        self.czxid = self.mzxid = self.pzxid = zxid
        self.cversion = 0
        self.ctime_ms = self.mtime_ms = time.time_ns() // 1_000_000
        self.names: set[str] = set()
        self.sequence = 0
        """The number that the next sequential child gets. It restarts with the node, as ZooKeeper's does."""


class Tree:
    """Not thread-safe; every change is made within `transaction()`, which undoes all of it when one raises."""

    def __init__(self) -> None:
        self._entries: dict[str, _Entry] = {"/": _Entry(b"", 0, 0)}
        self._zxid = 0
        self._before: dict[str, _Entry | None] = {}
        self._changes: list[tuple[Change, str]] = []
        self._identities: frozenset[Identity] | None = None
        self._grants: Callable[[str], Sequence[Grant]] = lambda path: OPEN

    @contextmanager
    def acting_as(
        self, identities: Sequence[Identity], grants: Callable[[str], Sequence[Grant]] = lambda path: OPEN
    ) -> Iterator[None]:
        """Within, ACLs are checked for these identities, and new nodes get `grants(path)`. Outside, nothing is
        checked: the servers themselves delete ephemeral nodes."""
        self._identities, self._grants = frozenset(identities) | {Identity("world", "anyone")}, grants
        try:
            yield
        finally:
            self._identities, self._grants = None, lambda path: OPEN

    def _refuse_without(self, right: str, path: str, entry: _Entry) -> None:
        if self._identities is None:
            return
        if not any(right in one.rights and Identity(one.scheme, one.id) in self._identities for one in entry.grants):
            raise CoordinationError("E4007", f"ZooKeeper refuses access to {path}")

    def acl(self, path: str) -> Acl:
        entry = self._entry(path)
        return Acl(entry.grants, entry.aversion)

    def set_acl(self, path: str, grants: Sequence[Grant], version: int) -> None:
        entry = self._entry(path)
        self._refuse_without("a", path, entry)
        if version not in (-1, entry.aversion):
            raise VersionConflict("E4006", f"{path} was changed by another process")
        self._keep(path)
        entry.grants, entry.aversion = tuple(sorted(grants)), entry.aversion + 1

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All changes within have one transaction id."""
        changes, zxid = len(self._changes), self._zxid
        self._before.clear()
        self._zxid += 1
        try:
            yield
        except CoordinationError:
            self._undo()
            self._zxid = zxid
            del self._changes[changes:]
            raise

    def _keep(self, path: str) -> None:
        """Remembers an entry as it was before the transaction's first change of it."""
        if path not in self._before:
            entry = self._entries.get(path)
            kept = copy.copy(entry)
            if entry is not None and kept is not None:
                kept.names = set(entry.names)
            self._before[path] = kept

    def _undo(self) -> None:
        for path, entry in self._before.items():
            if entry is None:
                self._entries.pop(path, None)
            else:
                self._entries[path] = entry

    def take_changes(self) -> list[tuple[Change, str]]:
        taken, self._changes = self._changes, []
        return taken

    def _entry(self, path: str) -> _Entry:
        try:
            return self._entries[path]
        except KeyError:
            raise NodeMissing("E4004", f"{path} does not exist") from None

    def get(self, path: str) -> Node:
        entry = self._entry(path)
        self._refuse_without("r", path, entry)
        return Node(entry.data, self._stat(path, entry))

    def _stat(self, path: str, entry: _Entry) -> Stat:
        return Stat(
            version=entry.version,
            czxid=entry.czxid,
            mzxid=entry.mzxid,
            owner=entry.owner,
            ctime_ms=entry.ctime_ms,
            mtime_ms=entry.mtime_ms,
            children=len(entry.names),
            cversion=entry.cversion,
            pzxid=entry.pzxid,
        )

    def stat(self, path: str) -> Stat:
        """Needs no right."""
        return self._stat(path, self._entry(path))

    def children(self, path: str) -> list[str]:
        entry = self._entry(path)
        self._refuse_without("r", path, entry)
        return sorted(entry.names)

    def owned_by(self, session: int) -> list[str]:
        return sorted(path for path, entry in self._entries.items() if entry.owner == session)

    def ensure(self, path: str) -> None:
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts) + 1):
            parent = "/" + "/".join(parts[:depth])
            if parent not in self._entries:
                with self.transaction():
                    self.create(parent, b"", 0, False)

    def create(self, path: str, data: bytes, owner: int, sequential: bool) -> str:
        check_node(path, data)
        above = path.rpartition("/")[0] or "/"
        parent = self._entry(above)
        self._refuse_without("c", above, parent)
        if sequential:
            path = f"{path}{parent.sequence:010d}"
        if path in self._entries:
            raise NodeExists("E4005", f"{path} already exists")
        self._keep(above)
        self._keep(path)
        parent.sequence += 1
        parent.names.add(path.rpartition("/")[2])
        parent.cversion, parent.pzxid = parent.cversion + 1, self._zxid
        self._entries[path] = _Entry(data, owner, self._zxid, self._grants(path))
        self._changes += [("created", path), ("children", above)]
        return path

    def set(self, path: str, data: bytes, version: int) -> Stat:
        check_node(path, data)
        entry = self._entry(path)
        self._refuse_without("w", path, entry)
        self._refuse_other(path, version)
        self._keep(path)
        entry.data, entry.mzxid = data, self._zxid
        entry.version += 1
        entry.mtime_ms = time.time_ns() // 1_000_000
        self._changes.append(("changed", path))
        return self._stat(path, entry)

    def delete(self, path: str, version: int = -1) -> None:
        self._refuse_without("d", path.rpartition("/")[0] or "/", self._entry(path.rpartition("/")[0] or "/"))
        self._refuse_other(path, version)
        if self._entry(path).names:
            raise NodeExists("E4005", f"{path} has children")
        above, _, name = path.rpartition("/")
        self._keep(above or "/")
        self._keep(path)
        del self._entries[path]
        parent = self._entry(above or "/")
        parent.names.discard(name)
        parent.cversion, parent.pzxid = parent.cversion + 1, self._zxid
        self._changes += [("deleted", path), ("children", above or "/")]

    def check(self, path: str, version: int) -> None:
        self._refuse_without("r", path, self._entry(path))
        self._refuse_other(path, version)

    def _refuse_other(self, path: str, version: int) -> None:
        if version not in (-1, self._entry(path).version):
            raise VersionConflict("E4006", f"{path} was changed by another process")
