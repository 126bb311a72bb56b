"""Puts a tree under the ACLs of `rights`, and finds the nodes that deviate from them.

Everything can be interrupted and run again: the record of identities is written first, and processes that run create
new nodes by it, while the walk changes the nodes that exist, one by one.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from replicator.coordination.installation import installation_id
from replicator.coordination.ports import Acl, Coordinator, Identity
from replicator.coordination.records import SecurityRecord, dump, load
from replicator.coordination.rights import FIXED, OPTIONAL, ROLES, Guard, Role, grants, known
from replicator.errors import CoordinationError, NodeExists, NodeMissing, VersionConflict

_PASSES: Final = 10


class Walked(msgspec.Struct):
    """`refused`: paths whose ACL this login may not change."""

    nodes: int = 0
    changed: int = 0
    refused: list[str] = []


Progress = Callable[[Walked], None]


class SecuredTree:
    """
    Args:
        coordinator: of an administrator.
        guard: the coordinator's own.
    """

    def __init__(self, coordinator: Coordinator, guard: Guard) -> None:
        self._coordinator = coordinator
        self._guard = guard
        self._layout = guard.layout

    def read(self) -> tuple[SecurityRecord | None, int]:
        """With the node's version. Raises CoordinationError E4007, E4009, E4010."""
        try:
            node = self._coordinator.get(self._layout.security)
        except NodeMissing:
            return None, -1
        return load(SecurityRecord, node.data, self._layout.security), node.stat.version

    def establish(self, record: SecurityRecord, progress: Progress, *, existing: bool) -> Walked:
        """Writes the record, creates what only administrators create, and walks the tree.

        Args:
            existing: the tree may have tasks, and a record, which has to be the same.

        Raises CoordinationError E4038.
        """
        for role in ROLES:
            if not record.of(role) and role not in OPTIONAL:
                raise CoordinationError("E4038", f"the role {role} has no identity", fix=f"Give --{role} IDENTITY.")
        present, _ = self.read()
        if present is not None and (not existing or present != record):
            raise CoordinationError(
                "E4038",
                f"there is a record of identities at {self._layout.security} already",
                fix="Change one by `replicator cluster rotate`; `replicator cluster secure` without identities "
                "sets the ACLs again.",
            )
        if not existing and self._has_tasks():
            fix = "Use `replicator cluster secure`, which brings existing nodes under ACLs."
            raise CoordinationError("E4038", f"{self._layout.root} has tasks already", fix=fix)
        self._guard.record = record
        if present is None:
            with contextlib.suppress(NodeExists):
                self._coordinator.create(self._layout.security, dump(record), parents=True)
        for name in FIXED:
            with contextlib.suppress(NodeExists):
                self._coordinator.create(f"{self._layout.root}/{name}", parents=True)
        installation_id(self._coordinator, self._layout)
        return self.walk(record, progress)

    def change(self, role: Role, identity: Identity, progress: Progress, *, add: bool) -> Walked:
        """Adds or removes an identity of a role everywhere. Raises CoordinationError E4035, E4038, VersionConflict."""
        record, version = self.read()
        if record is None:
            raise CoordinationError("E4035", f"there is no record of identities at {self._layout.security}")
        listed = record.of(role)
        if add and identity not in listed:
            listed.append(identity)
        elif not add and identity in listed:
            listed.remove(identity)
        if not listed and role not in OPTIONAL:
            raise CoordinationError(
                "E4038", f"{identity} is the only identity of {role}", fix="Add its successor first."
            )
        self._coordinator.set(self._layout.security, dump(record), version)
        self._guard.record = record
        return self.walk(record, progress)

    def walk(self, record: SecurityRecord, progress: Progress) -> Walked:
        """Until a pass over all nodes finds nothing to change: processes that have not read the record yet may have
        created open nodes behind the walk."""
        done = Walked()
        for _ in range(_PASSES):
            done = Walked(changed=done.changed)
            before = done.changed
            for path in self.paths():
                self._secure(record, path, done)
                done.nodes += 1
                if done.nodes % 100 == 0:
                    progress(done)
            if done.changed == before:
                break
        progress(done)
        return done

    def _secure(self, record: SecurityRecord, path: str, done: Walked) -> None:
        wanted = grants(record, self._layout, path)
        with contextlib.suppress(NodeMissing, VersionConflict):
            try:
                present = self._coordinator.acl(path)
                if present.grants != wanted:
                    self._coordinator.set_acl(path, wanted, present.version)
                    done.changed += 1
            except CoordinationError as error:
                if error.code != "E4007":
                    raise
                done.refused.append(path)

    def deviating(self, record: SecurityRecord | None) -> Iterator[tuple[str, Acl | None]]:
        """Nodes that are open, or whose ACL is another one than it should be; None: this login may not see it."""
        for path in self.paths():
            with contextlib.suppress(NodeMissing):
                try:
                    found = self._coordinator.acl(path)
                except CoordinationError as error:
                    if error.code != "E4007":
                        raise
                    yield path, None
                    continue
                if record is None or found.grants != grants(record, self._layout, path):
                    yield path, found

    def foreign(self, path: str) -> bool:
        """No process of ours writes it."""
        return known(self._layout, path) is None

    def paths(self) -> Iterator[str]:
        """The root and all nodes below it, parents first."""
        waiting = [self._layout.root]
        while waiting:
            path = waiting.pop()
            yield path
            try:
                names = self._coordinator.children(path)
            except NodeMissing:
                continue
            except CoordinationError as error:
                if error.code != "E4007":
                    raise
                continue
            waiting += [f"{path}/{name}" for name in reversed(names)]

    def _has_tasks(self) -> bool:
        try:
            return bool(self._coordinator.children(self._layout.tasks))
        except NodeMissing:
            return False
