"""The coordinator in memory, for tests and for faults that a real server rarely shows.

One `MemoryEnsemble` is the servers (tree, sessions, transaction ids), one `MemoryCoordinator` a client's session. The
faults are methods: `suspend`/`resume` (connection lost and back), `silence`/`hear` (frozen process or half-open
connection: the session ages and the client does not know), `expire`, `lose_reply`, `hold_write` (kept
while the connection is down and sent when it is back), and, on the ensemble, `hold_watches`/`release_watches`.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from replicator.coordination.in_memory.tree import Tree
from replicator.coordination.limits import check_request
from replicator.coordination.ports import (
    Acl,
    Change,
    Check,
    Connection,
    Create,
    Delete,
    Grant,
    Identity,
    Listing,
    Node,
    Op,
    Set,
    Stat,
    Watcher,
)
from replicator.coordination.rights import Guard
from replicator.errors import CoordinationError, NodeMissing, NotConnected, SessionLost

Event = tuple[Watcher, Change, str]


class MemoryEnsemble:
    """The servers. `clock`: monotonic seconds; a session that is silent for longer than its timeout is expired by the
    next thing that happens, or by `expire_overdue`."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.lock = threading.RLock()
        self.tree = Tree()
        self._sessions: dict[int, MemoryCoordinator] = {}
        self._next_session = 0x1000
        self._watches: dict[tuple[str, bool], list[tuple[int, Watcher]]] = {}
        self._held: list[Event] | None = None
        self._due: list[Event] = []

    def session(
        self, timeout: float = 10.0, identities: Sequence[Identity] = (), guard: Guard | None = None
    ) -> MemoryCoordinator:
        """A new client, connected. identities: that it logs in as; guard: gives the ACLs of what it creates."""
        return MemoryCoordinator(self, timeout, identities, guard)

    def hold_watches(self) -> None:
        """Events are kept back until `release_watches`."""
        with self.lock:
            self._held = self._held if self._held is not None else []

    @property
    def holds_watches(self) -> bool:
        return self._held is not None

    def release_watches(self, twice: int = 0) -> None:
        """`twice`: so many of them are delivered once more, after all the others."""
        with self.lock:
            held, self._held = self._held or [], None
        _deliver(held + held[:twice])

    def expire_overdue(self) -> None:
        """Ends the sessions that nobody has heard of for their timeout."""
        with self.lock:
            for session, client in list(self._sessions.items()):
                since = client.silent_since
                if since is not None and self.clock() - since >= client.session_timeout:
                    self.end(session)
        self.flush()

    # What the clients use, with the lock held

    def begin(self, client: MemoryCoordinator) -> int:
        self._next_session += 1
        self._sessions[self._next_session] = client
        return self._next_session

    def alive(self, session: int) -> bool:
        return session in self._sessions

    def end(self, session: int) -> None:
        if self._sessions.pop(session, None) is None:
            return
        self.drop_watches(session)
        with self.tree.transaction():
            for path in self.tree.owned_by(session):
                self.tree.delete(path)
        self.fire()

    def watch(self, path: str, children: bool, session: int, watcher: Watcher) -> None:
        self._watches.setdefault((path, children), []).append((session, watcher))

    def drop_watches(self, session: int) -> list[tuple[Watcher, str]]:
        dropped = []
        for (path, _), entries in self._watches.items():
            dropped += [(watcher, path) for owner, watcher in entries if owner == session]
            entries[:] = [entry for entry in entries if entry[0] != session]
        return dropped

    def fire(self) -> None:
        """Turns the tree's changes into events; delivered by `flush`, without the lock."""
        for change, path in self.tree.take_changes():
            kinds = (True,) if change == "children" else (False, True) if change == "deleted" else (False,)
            for kind in kinds:
                for _, watcher in self._watches.pop((path, kind), []):
                    self._due.append((watcher, change, path))

    def flush(self) -> None:
        with self.lock:
            due, self._due = self._due, []
            if self._held is not None:
                self._held += due
                due = []
        _deliver(due)


def _deliver(events: Sequence[Event]) -> None:
    for watcher, change, path in events:
        watcher(change, path)


class MemoryCoordinator:
    """`replicator.coordination.ports.Coordinator` in memory; see there for the contract."""

    def __init__(
        self,
        ensemble: MemoryEnsemble,
        timeout: float,
        identities: Sequence[Identity] = (),
        guard: Guard | None = None,
    ) -> None:
        self._ensemble = ensemble
        self._identities = tuple(identities)
        self._guard = guard
        self._timeout = timeout
        self._listeners: list[Callable[[Connection], None]] = []
        self._closed = False
        self._lost_replies = 0
        self._holds = 0
        self._held: list[tuple[Sequence[Op], bool]] = []
        self.silent_since: float | None = None
        """Since when the servers have heard nothing of us; None while they do."""
        with ensemble.lock:
            self._state = Connection.CONNECTED
            self._session = ensemble.begin(self)

    @property
    def connection(self) -> Connection:
        return self._state

    @property
    def session_id(self) -> int:
        return self._session

    @property
    def session_timeout(self) -> float:
        return self._timeout

    def on_connection(self, listener: Callable[[Connection], None]) -> None:
        self._listeners.append(listener)

    def close(self) -> None:
        with self._ensemble.lock:
            told = self._closed
            self._closed = True
            self._state = Connection.LOST
            self._ensemble.end(self._session)
        self._ensemble.flush()
        if not told:
            self._tell(Connection.LOST)

    # Faults

    def suspend(self) -> None:
        """The connection breaks; the session ages."""
        with self._ensemble.lock:
            self.silent_since = self._ensemble.clock()
            self._state = Connection.SUSPENDED
            dropped = self._ensemble.drop_watches(self._session)
        self._tell(Connection.SUSPENDED)
        _deliver([(watcher, "session", path) for watcher, path in dropped])

    def resume(self) -> None:
        """The connection is back: to the same session if it still lives, else to a new one."""
        self._ensemble.expire_overdue()
        self.silent_since = None
        if not self._ensemble.alive(self._session):
            self._renew()
            return
        self._state = Connection.CONNECTED
        self._send_held()
        self._tell(Connection.CONNECTED)

    def silence(self) -> None:
        """The servers hear nothing of us any more and we do not notice."""
        if self.silent_since is None:
            self.silent_since = self._ensemble.clock()

    def hear(self) -> None:
        self._ensemble.expire_overdue()
        self.silent_since = None
        if not self._ensemble.alive(self._session):
            self._renew()
            return
        self._send_held()

    def expire(self) -> None:
        """The servers end the session; the client learns it and gets a new one."""
        with self._ensemble.lock:
            dropped = self._ensemble.drop_watches(self._session)
            self._ensemble.end(self._session)
        self._ensemble.flush()
        _deliver([(watcher, "session", path) for watcher, path in dropped])
        self._renew()

    def lose_reply(self, count: int = 1) -> None:
        """The next `count` writes are done, and the caller is told NotConnected."""
        self._lost_replies = count

    def hold_write(self, count: int = 1) -> None:
        """The connection breaks at the next write. That one and the next, `count` in all, are kept, and the caller is
        told NotConnected; they are done when it is back, if the session still lives then, and nobody learns how."""
        self._holds = count

    def _send_held(self) -> None:
        held, self._held = self._held, []
        for ops, parents in held:
            with contextlib.suppress(CoordinationError):
                self._do(ops, parents, False)

    def _renew(self) -> None:
        self._held = []
        self._state = Connection.LOST
        self._tell(Connection.LOST)
        with self._ensemble.lock:
            self._session = self._ensemble.begin(self)
            self._state = Connection.CONNECTED
        self._tell(Connection.CONNECTED)

    def _tell(self, state: Connection) -> None:
        for listener in list(self._listeners):
            listener(state)

    # Requests

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        parents: bool = False,
    ) -> str:
        return str(self._write([Create(path, data, ephemeral, sequential)], parents)[0])

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        result = self._write([Set(path, data, version)])[0]
        assert isinstance(result, Stat)  # noqa: S101 - what Set yields
        return result

    def delete(self, path: str, version: int = -1) -> None:
        self._write([Delete(path, version)])

    def multi(self, ops: Sequence[Op]) -> list[str | Stat | None]:
        check_request(ops)
        return self._write(ops, numbered=True)

    def get(self, path: str, watch: Watcher | None = None) -> Node:
        with self._ensemble.lock:
            self._refuse_unless_connected(path)
            with self._acting():
                node = self._ensemble.tree.get(path)
            if watch is not None:
                self._ensemble.watch(path, False, self._session, watch)
            return node

    def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        found: list[Node | None] = []
        for path in paths:
            try:
                found.append(self.get(path))
            except NodeMissing:
                found.append(None)
        return found

    def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        with self._ensemble.lock:
            self._refuse_unless_connected(path)
            if watch is not None:
                self._ensemble.watch(path, False, self._session, watch)
            try:
                return self._ensemble.tree.stat(path)
            except NodeMissing:
                return None

    def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        return list(self.listing(path, watch).names)

    def listing(self, path: str, watch: Watcher | None = None) -> Listing:
        with self._ensemble.lock:
            self._refuse_unless_connected(path)
            with self._acting():
                names = self._ensemble.tree.children(path)
            listing = Listing(tuple(names), self._ensemble.tree.stat(path))
            if watch is not None:
                self._ensemble.watch(path, True, self._session, watch)
            return listing

    def confirm(self, paths: Sequence[str]) -> list[Stat | None]:
        return [self.exists(path) for path in paths]

    def catch_up(self, path: str) -> None:
        with self._ensemble.lock:
            self._refuse_unless_connected(path)
            if self._ensemble.holds_watches:
                raise NotConnected("E4002", f"watches of {path} were not called in time", found="events are held back")
        self._ensemble.flush()

    def acl(self, path: str) -> Acl:
        with self._ensemble.lock:
            self._refuse_unless_connected(path)
            return self._ensemble.tree.acl(path)

    def set_acl(self, path: str, grants: Sequence[Grant], version: int = -1) -> None:
        with self._ensemble.lock:
            self._refuse_unless_connected(path)
            with self._acting(), self._ensemble.tree.transaction():
                self._ensemble.tree.set_acl(path, grants, version)

    def _acting(self) -> AbstractContextManager[None]:
        """The record is read at each request: in memory that costs nothing."""
        if self._guard is None:
            return self._ensemble.tree.acting_as(self._identities)
        try:
            self._guard.learn(self._ensemble.tree.get(self._guard.layout.security).data)
        except NodeMissing:
            self._guard.learn(None)
        return self._ensemble.tree.acting_as(self._identities, self._guard.grants)

    def _refuse_unless_connected(self, path: str) -> None:
        if self._state is not Connection.CONNECTED:
            raise NotConnected("E4002", f"a request for {path} was not sent", found=self._state.value)
        if self.silent_since is not None:
            raise NotConnected("E4002", f"a request for {path} got no answer", found="no reply in time")
        if not self._ensemble.alive(self._session):
            raise SessionLost("E4003", f"the session ended during a request for {path}")

    def _write(self, ops: Sequence[Op], parents: bool = False, numbered: bool = False) -> list[str | Stat | None]:
        if not ops:
            return []
        self._ensemble.expire_overdue()
        if self._holds and self._state is Connection.CONNECTED:
            self.suspend()
        try:
            results = self._do(ops, parents, numbered)
        except NotConnected:
            if self._holds:
                self._holds -= 1
                self._held.append((ops, parents))
            raise
        if self._lost_replies:
            self._lost_replies -= 1
            raise NotConnected("E4002", f"a request for {ops[0].path} got no answer", found="reply lost")
        return results

    def _do(self, ops: Sequence[Op], parents: bool, numbered: bool) -> list[str | Stat | None]:
        try:
            with self._ensemble.lock:
                self._refuse_unless_connected(ops[0].path)
                with self._acting():
                    if parents and ops[0].path.rpartition("/")[0]:
                        self._ensemble.tree.ensure(ops[0].path.rpartition("/")[0])
                    results = self._apply(ops, numbered)
                self._ensemble.fire()
        finally:
            self._ensemble.flush()
        return results

    def _apply(self, ops: Sequence[Op], numbered: bool) -> list[str | Stat | None]:
        results: list[str | Stat | None] = []
        with self._ensemble.tree.transaction():
            for index, op in enumerate(ops):
                try:
                    results.append(self._apply_one(op))
                except CoordinationError as error:
                    if numbered:
                        where = f"operation {index} ({type(op).__name__.lower()}) of {len(ops)}"
                        raise type(error)(error.code, error.what, found=where) from error
                    raise
        return results

    def _apply_one(self, op: Op) -> str | Stat | None:
        tree = self._ensemble.tree
        match op:
            case Create(path, data, ephemeral, sequential):
                return tree.create(path, data, self._session if ephemeral else 0, sequential)
            case Set(path, data, version):
                return tree.set(path, data, version)
            case Delete(path, version):
                tree.delete(path, version)
            case Check(path, version):
                tree.check(path, version)
        return None
