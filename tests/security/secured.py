"""A secured tree with one session for each role, in memory or on a ZooKeeper, over digest logins."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import msgspec

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import SecurityRecord
from replicator.coordination.rights import ROLES, Guard, Role
from replicator.coordination.secured_tree import SecuredTree, Walked
from replicator.zookeeper.access import Access
from replicator.zookeeper.client import connect

Make = Callable[[Access, Guard | None], Coordinator]


def login(role: str) -> Access:
    return Access(login="digest", user=role, password=f"s3cret-{role}")


def recorded(login_of: Callable[[str], Access]) -> SecurityRecord:
    found = {role: list(login_of(role).identities()) for role in ROLES}
    return msgspec.convert(msgspec.to_builtins(found), SecurityRecord)


def quiet(done: Walked) -> None: ...


class SecuredSite:
    def __init__(self, make: Make) -> None:
        self.layout = Layout(f"/secured-{uuid.uuid4().hex[:8]}")
        self._make = make
        self._opened: list[Coordinator] = []
        self.admin, self.guard = self.open("admin")
        self.tree = SecuredTree(self.admin, self.guard)
        self.record = recorded(login)

    @classmethod
    def in_memory(cls) -> SecuredSite:
        ensemble = MemoryEnsemble()
        return cls(lambda access, guard: ensemble.session(10.0, access.identities(), guard))

    @classmethod
    def on(cls, hosts: str) -> SecuredSite:
        return cls(lambda access, guard: connect(hosts, 10.0, access=access, guard=guard))

    def open(self, role: Role | None, user: str = "") -> tuple[Coordinator, Guard]:
        guard = Guard(self.layout, role)
        self._opened.append(self._make(login(user or str(role)), guard))
        return self._opened[-1], guard

    def session(self, role: Role | None, user: str = "") -> Coordinator:
        return self.open(role, user)[0]

    def anonymous(self) -> Coordinator:
        self._opened.append(self._make(Access(), None))
        return self._opened[-1]

    def unaware(self, user: str) -> Coordinator:
        """With a login, and without the record."""
        self._opened.append(self._make(login(user), None))
        return self._opened[-1]

    def establish(self, *, existing: bool = False) -> Walked:
        return self.tree.establish(self.record, quiet, existing=existing)

    def close(self) -> None:
        for one in self._opened:
            one.close()
