"""The interface of the coordinator: a small tree of versioned nodes with sessions.

Everything that we do with ZooKeeper (registry, election, lease, checkpoint, commands) is written once over this port.
`replicator/zookeeper` implements it on kazoo, `coordination/in_memory/` in memory; tests/conformance holds both to it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import Enum
from typing import Literal, Protocol, TypeAlias

import msgspec

DEFAULT_SESSION_TIMEOUT = 10.0
"""Seconds asked for; the server clamps it to 2-20 of its ticks."""


class Connection(Enum):
    """CONNECTED: requests go through. SUSPENDED: no server reached; the session may live or be gone.
    LOST: the session is gone, and with it all of our ephemeral nodes; a new one follows by itself."""

    CONNECTED = "connected"
    SUSPENDED = "suspended"
    LOST = "lost"


class Stat(msgspec.Struct, frozen=True):
    """version: of the data, from 0; czxid: id of the transaction that created the node, rises over the whole tree for
    ever; mzxid: of the last change; owner: session id of an ephemeral node, else 0; ctime_ms, mtime_ms: server's wall
    clock; children: number; cversion: how many children were ever created and deleted; pzxid: transaction that did so
    last, or that created the node."""

    version: int
    czxid: int
    mzxid: int
    owner: int
    ctime_ms: int = 0
    mtime_ms: int = 0
    children: int = 0
    cversion: int = 0
    pzxid: int = 0


class Identity(msgspec.Struct, frozen=True, order=True):
    """Who a session is, in public: `digest` with `user:HASH`, `sasl` with a user, `x509` with a certificate's
    subject."""

    scheme: str
    id: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.id}"


class Grant(msgspec.Struct, frozen=True, order=True):
    """An entry of an ACL. `rights`: letters of zkCli.sh in the order `cdrwa`: create and delete children, read, write,
    change the ACL."""

    scheme: str
    id: str
    rights: str

    def __str__(self) -> str:
        return f"{self.scheme}:{self.id}:{self.rights}"


class Acl(msgspec.Struct, frozen=True):
    """`grants`: sorted; `version` of the ACL, from 0."""

    grants: tuple[Grant, ...]
    version: int


class Node(msgspec.Struct, frozen=True):
    data: bytes
    stat: Stat


class Listing(msgspec.Struct, frozen=True):
    """Names of children, sorted, and the parent's stat at that same moment."""

    names: tuple[str, ...]
    stat: Stat


class Create(msgspec.Struct, frozen=True):
    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


class Set(msgspec.Struct, frozen=True):
    path: str
    data: bytes
    version: int = -1


class Delete(msgspec.Struct, frozen=True):
    path: str
    version: int = -1


class Check(msgspec.Struct, frozen=True):
    """The node exists and, unless -1, has this version."""

    path: str
    version: int = -1


Op: TypeAlias = Create | Set | Delete | Check
Change: TypeAlias = Literal["created", "changed", "deleted", "children", "session"]
Watcher: TypeAlias = Callable[[Change, str], None]
"""Called once, from the coordinator's own thread, with (what, path): must not block and must not call back. "session":
the watch is void because the connection or the session is gone; set it anew."""


class Coordinator(Protocol):
    """All calls are thread-safe, block for at most the request timeout, and are refused at once (NotConnected) unless
    CONNECTED: nothing is ever queued for later, because a queued write of a former leader would land after reconnect.

    Raises (each where it applies): NotConnected (also when the outcome is unknown), SessionLost, NodeMissing,
    NodeExists, VersionConflict, CoordinationError E4007 (ACL), E4011 (too large).
    """

    @property
    def connection(self) -> Connection: ...

    @property
    def session_id(self) -> int:
        """0 before the first connection."""
        ...

    @property
    def session_timeout(self) -> float:
        """Negotiated, seconds: the server clamps what was asked."""
        ...

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        parents: bool = False,
    ) -> str:
        """Returns the path with its sequence number. Raises NodeMissing without a parent.

        Args:
            parents: create missing parents too (persistent, empty). Never for a path below a task: a write that comes
                after the task's deletion would bring an empty task back (`task_nodes.create_in_task`).
        """
        ...

    def get(self, path: str, watch: Watcher | None = None) -> Node: ...

    def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        """As `get`, for many nodes without a wait between them; None for one that is missing. Blocks for at most the
        request timeout for each 100 of them."""
        ...

    def exists(self, path: str, watch: Watcher | None = None) -> Stat | None: ...

    def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        """Names, sorted. NodeMissing when the parent is not there."""
        ...

    def listing(self, path: str, watch: Watcher | None = None) -> Listing:
        """`children` together with the parent's stat, in one answer."""
        ...

    def confirm(self, paths: Sequence[str]) -> list[Stat | None]:
        """For the lease: which of these nodes exist, in one pipelined exchange, and not older than the call.

        A plain read is answered by whichever server we are connected to, and one that is cut off from its leader goes
        on answering for a while, also for a session that the leader has ended. Here the server first catches up with
        the leader, so that an answer proves that the nodes were there after the call began.
        """
        ...

    def catch_up(self, path: str) -> None:
        """Returns when later reads find everything that was committed before the call, and when the watches that it
        fired have been called: what is kept of earlier reads under watches that did not fire is as new as this call.

        Raises NotConnected when that takes longer than a request may.
        """
        ...

    def set(self, path: str, data: bytes, version: int = -1) -> Stat: ...

    def delete(self, path: str, version: int = -1) -> None:
        """NodeExists when it has children."""
        ...

    def acl(self, path: str) -> Acl: ...

    def set_acl(self, path: str, grants: Sequence[Grant], version: int = -1) -> None:
        """`version`: of the ACL. Raises VersionConflict."""
        ...

    def multi(self, ops: Sequence[Op]) -> list[str | Stat | None]:
        """All or nothing, in a request of at most 1 MB (E4011). Raises the first real error, with the index of its
        operation in `found`. Returns per operation: the path created, the Stat set, or None."""
        ...

    def on_connection(self, listener: Callable[[Connection], None]) -> None:
        """Called from the coordinator's own thread at each change; must not block."""
        ...

    def close(self) -> None:
        """Ends the session: its ephemeral nodes go at once, all in one transaction (as when a session expires).
        Listeners are called with LOST, once, before this returns."""
        ...
