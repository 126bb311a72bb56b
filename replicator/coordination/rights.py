"""Rights by identity for each znode: which process may create, read, write and delete it.

ZooKeeper checks CREATE and DELETE at the parent, so the rights of a node are those to its data (`r`, `w`) and those to
its children (`c`, `d`). Administrators have all rights everywhere, including `a`, which changes an ACL; identities that
are not in the record at /security have none. A Core removes no task. The Monitor writes only what it says of itself:
the node of its listener, its log lines where they are asked for, and which alerts it has sent. An agent is on hosts
that have nothing else of ours: it neither sees tasks nor writes where a Core reports.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Mapping
from typing import Final, Literal, NamedTuple, TypeAlias

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Grant
from replicator.coordination.records import SecurityRecord, load
from replicator.errors import CoordinationError

Role: TypeAlias = Literal["core", "server", "monitor", "agent", "admin"]
ROLES: Final[tuple[Role, ...]] = ("core", "server", "monitor", "agent", "admin")
OPTIONAL: Final[frozenset[Role]] = frozenset({"agent"})
"""Roles without which a tree can be secured."""
ALL: Final = "cdrwa"
OPEN: Final = (Grant("world", "anyone", ALL),)
"""For everyone: a tree without a record of identities."""


class Rights(NamedTuple):
    core: str
    server: str
    monitor: str = "r"
    agent: str = ""

    def of(self, role: Role) -> str:
        return ALL if role == "admin" else str(getattr(self, role))


_TASK: Final = "tasks/*"
TABLE: Final[Mapping[str, Rights]] = {
    # The Server creates and deletes /maintenance.
    "": Rights("r", "cdr", agent="r"),
    "security": Rights("r", "r", agent="r"),
    "installation": Rights("r", "r"),
    "maintenance": Rights("r", "rw"),
    "outgoing": Rights("r", "rw"),
    # A Core registers the task that it is started for; the Server creates, configures and removes tasks.
    "tasks": Rights("cr", "cdr"),
    _TASK: Rights("cr", "cdrw"),
    f"{_TASK}/instance": Rights("cdr", "r"),
    f"{_TASK}/instance/*": Rights("rw", "r"),
    # `task position set` writes it while nobody leads.
    f"{_TASK}/lastCommit": Rights("rw", "rw"),
    f"{_TASK}/status": Rights("r", "rw"),
    f"{_TASK}/maintenance": Rights("r", "rw"),
    f"{_TASK}/quarantine": Rights("r", "rw"),
    f"{_TASK}/removing-*": Rights("r", "r"),
    # `replicator cluster restore` is an administrator's.
    f"{_TASK}/restoring-*": Rights("r", "r"),
    "restoring": Rights("r", "r"),
    f"{_TASK}/verify": Rights("rw", "rw"),
    # The Server orders it, the Core that leads the task notes how it ended.
    f"{_TASK}/verify-order": Rights("rw", "rw"),
    f"{_TASK}/check": Rights("rw", "r"),
    f"{_TASK}/addresses": Rights("rw", "r"),
    f"{_TASK}/trail": Rights("cdr", "dr"),
    f"{_TASK}/trail/*": Rights("rw", "r"),
    f"{_TASK}/schema": Rights("cdr", "cdr"),
    f"{_TASK}/schema/*": Rights("r", "r"),
    # The Server writes commands, the Core deletes them when they are done.
    f"{_TASK}/commands": Rights("dr", "cdr"),
    f"{_TASK}/commands/*": Rights("r", "r"),
    f"{_TASK}/history": Rights("cdr", "cdr"),
    f"{_TASK}/history/*": Rights("r", "r"),
    f"{_TASK}/versions": Rights("r", "cdr"),
    f"{_TASK}/versions/*": Rights("r", "rw"),
    "ddns": Rights("r", "cdr"),
    "ddns/*": Rights("r", "cdr"),
    "ddns/*/*": Rights("r", "cdrw"),
    "ddns/*/*/probe": Rights("r", "rw"),
    "source-locks": Rights("r", "cdr"),
    "source-locks/*": Rights("r", "rw"),
    "cutovers": Rights("r", "cdr"),
    "cutovers/*": Rights("r", "rw"),
    "ids": Rights("cr", "cr"),
    "ids/replicas": Rights("cdr", "dr"),
    "ids/replicas/*": Rights("rw", "r"),
    # Identities of Core and Server use the recipes, also for what people run: `replicator lock run`.
    "ids/sequences": Rights("cr", "cr"),
    "ids/sequences/*": Rights("rw", "rw"),
    "fencing": Rights("r", "r"),
    "locks": Rights("cdr", "cdr"),
    "locks/*": Rights("cdr", "cdr"),
    "locks/*/*": Rights("rw", "rw"),
    "barriers": Rights("cdr", "cdr"),
    "barriers/*": Rights("cdr", "cdr"),
    "barriers/*/*": Rights("rw", "rw"),
    "queues": Rights("cdr", "cdr"),
    "queues/*": Rights("cdr", "cdr"),
    "queues/*/*": Rights("cdrw", "cdrw"),
    "queues/*/line/*": Rights("rw", "rw"),
    "master_election": Rights("r", "cdr"),
    "master_election/*": Rights("r", "cdr"),
    "master_election/*/*": Rights("r", "cdr"),
    "master_election/*/*/*": Rights("r", "rw"),
    "machines": Rights("cdr", "r"),
    "machines/*": Rights("rw", "r"),
    # A Server forgets machines, and with them how they ended.
    "stopped": Rights("cdr", "dr"),
    "stopped/*": Rights("rw", "r"),
    # A Core notes that it is there, and removes records of those that have ended long ago.
    "expected": Rights("cdr", "cdr", agent="cr"),
    "expected/*": Rights("r", "rw", agent="r"),
    "agents": Rights("r", "r"),
    "agents/online": Rights("r", "r", agent="cr"),
    "agents/online/*": Rights("r", "r", agent="rw"),
    "agents/stopped": Rights("dr", "dr", agent="cdr"),
    "agents/stopped/*": Rights("r", "r", agent="rw"),
    "drained": Rights("r", "cdr"),
    "drained/*": Rights("r", "rw"),
    # Cores write where tasks are placed, the Server pins and moves them, in the same node.
    "task-groups": Rights("cr", "cr"),
    "task-groups/*": Rights("crw", "crw"),
    "task-groups/*/members": Rights("cdr", "r"),
    "task-groups/*/members/*": Rights("rw", "r"),
    "servers": Rights("r", "cr"),
    "servers/instance": Rights("r", "cdr"),
    "servers/instance/*": Rights("r", "rw"),
    "monitors": Rights("r", "r", "cdr"),
    "monitors/*": Rights("r", "r", "rw"),
    # The Server silences alerts; one Monitor, which has the lock, sends them and notes what it has sent.
    "alerts": Rights("", "cr", "cr"),
    "alerts/silences": Rights("", "cdr"),
    "alerts/silences/*": Rights("", "r"),
    "alerts/sender": Rights("", "r", "cdr"),
    "alerts/sender/*": Rights("", "r", "rw"),
    "alerts/sent": Rights("", "r", "rw"),
    # Each process creates and deletes its log lines, and only the Server, or an administrator, asks for them and reads
    # them.
    "logs": Rights("r", "cdr", agent="r"),
    "logs/requests": Rights("r", "cdr", agent="r"),
    "logs/requests/*": Rights("r", "r", agent="r"),
    "logs/parts": Rights("cd", "cdr", "cd", "cd"),
    "logs/parts/*": Rights("", "r", ""),
    # The Monitor verifies logins by itself. A Core has nothing to do with them.
    "tokens": Rights("", "cdr"),
    "tokens/*": Rights("", "rw"),
    "users": Rights("", "cdr"),
    "users/*": Rights("", "rw"),
    "audit": Rights("", "cdr"),
    "audit/*": Rights("", "r"),
    "requests": Rights("", "cdr", ""),
    "requests/*": Rights("", "rw", ""),
    "purged": Rights("cdr", "cdr"),
    "purged/*": Rights("rw", "rw"),
}
"""Path below the root, `*` for a name -> rights."""

FIXED: Final = (
    "tasks",
    "cutovers",
    "source-locks",
    "ddns",
    "ids",
    "ids/replicas",
    "ids/sequences",
    "fencing",
    "locks",
    "barriers",
    "queues",
    "master_election",
    "machines",
    "stopped",
    "expected",
    "agents",
    "agents/online",
    "agents/stopped",
    "drained",
    "task-groups",
    "servers",
    "servers/instance",
    "monitors",
    "alerts",
    "alerts/silences",
    "alerts/sender",
    "logs",
    "logs/requests",
    "logs/parts",
    "tokens",
    "users",
    "audit",
    "requests",
    "purged",
)
"""Empty nodes that `replicator cluster init` creates: processes may not create children of the root."""


def known(layout: Layout, path: str) -> Rights | None:
    """The rights to a node of ours, or to one above the root; None for a path that no process of ours writes."""
    if path == layout.root:
        return TABLE[""]
    if not path.startswith(f"{layout.root}/"):
        return Rights("r", "r") if layout.root.startswith(f"{path.rstrip('/')}/") else None
    names = path.removeprefix(f"{layout.root}/").split("/")
    for pattern, rights in TABLE.items():
        wanted = pattern.split("/")
        if len(wanted) == len(names) and all(map(fnmatch.fnmatchcase, names, wanted)):
            return rights
    return None


def grants(record: SecurityRecord, layout: Layout, path: str) -> tuple[Grant, ...]:
    """The ACL of a node. A node that is none of ours belongs to administrators alone."""
    rights = known(layout, path) or Rights("", "", "")
    found: dict[tuple[str, str], str] = {}
    for role in ROLES:
        for identity in record.of(role):
            key = (identity.scheme, identity.id)
            found[key] = "".join(sorted({*found.get(key, ""), *rights.of(role)}, key=ALL.index))
    return tuple(Grant(scheme, name, given) for (scheme, name), given in sorted(found.items()) if given)


class Guard:
    """Which ACL the nodes get that a process creates. Thread-safe: the record is replaced as a whole.

    Args:
        role: of this process, as which it has to be known in the record; None: any of them will do.
        required: refuse to write to a tree without a record.
    """

    def __init__(self, layout: Layout, role: Role | None, *, required: bool = False) -> None:
        self.layout = layout
        self.role: Role | None = role
        self.required = required
        self.record: SecurityRecord | None = None

    def learn(self, data: bytes | None) -> None:
        """`data`: of /security, None where there is no such node. Raises CoordinationError E4009, E4010."""
        self.record = None if data is None else load(SecurityRecord, data, self.layout.security)

    def grants(self, path: str) -> tuple[Grant, ...]:
        """Raises CoordinationError E4035 where a record is required and missing, also when it was deleted just now."""
        record = self.record
        if record is not None:
            return grants(record, self.layout, path)
        if self.required:
            raise CoordinationError("E4035", f"there is no record of identities at {self.layout.security}")
        return OPEN
