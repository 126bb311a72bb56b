"""The coordinator on a real ZooKeeper, through kazoo."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from kazoo.client import TransactionRequest
from kazoo.handlers.utils import AsyncResult
from kazoo.protocol.states import Callback, EventType, KazooState, WatchedEvent, ZnodeStat
from kazoo.security import ACL, Id

from replicator.coordination.layout import Layout
from replicator.coordination.limits import check_node, check_request
from replicator.coordination.ports import (
    DEFAULT_SESSION_TIMEOUT,
    Acl,
    Change,
    Check,
    Connection,
    Create,
    Delete,
    Grant,
    Listing,
    Node,
    Op,
    Set,
    Stat,
    Watcher,
)
from replicator.coordination.rights import ALL, OPEN, Guard, Role
from replicator.errors import CoordinationError, NodeExists, NodeMissing, NotConnected
from replicator.host.addresses import parse_ensemble
from replicator.telemetry.zookeeper_requests import measured
from replicator.zookeeper.access import NO_ACCESS, Access, of_environment, require_secured
from replicator.zookeeper.admission import Admission
from replicator.zookeeper.attempts import UNREACHABLE
from replicator.zookeeper.connection import Client
from replicator.zookeeper.errors import SKIPPED, translate
from replicator.zookeeper.file_watch import FileWatch

T = TypeVar("T")

_IN_FLIGHT = 100
"""Reads that wait for their answers at a time: with parts of 455 kB that is 45 MB within one request timeout."""

_CHANGES: dict[str, Change] = {
    EventType.CREATED: "created",
    EventType.CHANGED: "changed",
    EventType.DELETED: "deleted",
    EventType.CHILD: "children",
}


class ZookeeperCoordinator:
    """`replicator.coordination.ports.Coordinator` over one kazoo client; see there for the contract.

    It connects in the background, tries for ever, and replaces a lost session by a new one by itself.

    Args:
        hosts: `HOST:PORT[,HOST:PORT...]`.
        session_timeout: seconds asked for.
        access: login and TLS.
        guard: gives the ACL of each node that is created, parents included. It learns the identities at each
            connection, before anybody is told that there is one. None: nodes are open to whoever reaches the servers.
    """

    def __init__(
        self,
        hosts: str,
        session_timeout: float = DEFAULT_SESSION_TIMEOUT,
        access: Access = NO_ACCESS,
        guard: Guard | None = None,
    ) -> None:
        self.hosts = hosts
        self.warnings: list[str] = []
        self._client = Client(hosts, session_timeout, access)
        self._guard = guard
        self._admission = Admission(self._client, access, guard, self._admitted) if guard is not None else None
        self._asked = session_timeout
        self._lock = threading.Condition()
        self._state = Connection.LOST
        self._session = 0
        self._listeners: list[Callable[[Connection], None]] = []
        self._client.add_listener(self._on_state)
        self._client.start_async()

    # State

    def _on_state(self, state: str) -> None:
        """In kazoo's connection thread: the state is kept here because kazoo's own may already be ahead."""
        if state == KazooState.CONNECTED and self._admission is not None:
            self._admission.begin()
            return
        if self._admission is not None:
            self._admission.cancel()
        now = {KazooState.CONNECTED: Connection.CONNECTED, KazooState.SUSPENDED: Connection.SUSPENDED}
        self._enter(now.get(state, Connection.LOST))

    def _admitted(self) -> None:
        self._enter(Connection.CONNECTED)

    def _enter(self, state: Connection) -> None:
        if state is Connection.CONNECTED:
            self._client.attempts.admitted()
        with self._lock:
            self._state = state
            if self._state is Connection.CONNECTED:
                self._session = self._client.current_session()
            self._lock.notify_all()
            listeners, told = list(self._listeners), self._state
        for listener in listeners:
            listener(told)

    @property
    def connection(self) -> Connection:
        with self._lock:
            return self._state

    @property
    def session_id(self) -> int:
        with self._lock:
            return self._session

    @property
    def session_timeout(self) -> float:
        return self._client.negotiated or self._asked

    @property
    def request_timeout(self) -> float:
        """Seconds. Half a session timeout: an answer that takes longer could not extend a lease any more."""
        return max(1.0, self.session_timeout / 2)

    def on_connection(self, listener: Callable[[Connection], None]) -> None:
        with self._lock:
            self._listeners.append(listener)

    def wait_connected(self, timeout: float) -> None:
        """Raises NotConnected E4001 when there is no connection after `timeout` seconds; it goes on trying."""
        with self._lock:
            if self._lock.wait_for(lambda: self._state is Connection.CONNECTED, timeout):
                return
        found = f"no session within {timeout:g} s; {self.reasons()}"
        code = self._client.attempts.code
        what = f"no ZooKeeper server answers at {self.hosts}" if code == UNREACHABLE else "ZooKeeper cannot be used"
        raise NotConnected(code, what, found=found)

    @property
    def code(self) -> str:
        """Of the error that there is no connection."""
        return self._client.attempts.code

    def reasons(self) -> str:
        """Why there is no connection: why the last attempt at each server failed. Looks names up."""
        return self._client.attempts.reasons()

    def reconnect(self) -> None:
        """With the login and the certificates of now. The session goes on."""
        self._client.drop_connection()

    def close(self) -> None:
        """Ends the session. Bounded: a server that does not answer lets the session expire instead."""
        stopper = threading.Thread(target=self._stop, name="zookeeper-close", daemon=True)
        stopper.start()
        stopper.join(timeout=max(2.0, self.session_timeout))

    def _stop(self) -> None:
        for end in (self._client.stop, self._client.close):
            with contextlib.suppress(Exception):  # nothing of use can be done about a client that won't stop
                end()

    # Requests

    def _refuse_unless_connected(self, path: str) -> None:
        state = self.connection
        if state is not Connection.CONNECTED:
            raise NotConnected("E4002", f"a request for {path} was not sent", found=state.value, wanted="connected")

    def _wait(self, result: AsyncResult[T], path: str, deadline: float) -> T:
        try:
            return result.get(timeout=max(0.001, deadline - time.monotonic()))
        except Exception as error:
            raise self._failed(error, path) from error

    def _failed(self, error: BaseException, path: str, found: str = "") -> CoordinationError:
        """A request without an answer in time: the connection may be half dead, so we leave it."""
        if isinstance(error, self._client.handler.timeout_exception):
            self._client.drop_connection()
        return translate(error, path, found)

    def _ask(self, path: str, send: Callable[[], AsyncResult[T]]) -> T:
        self._refuse_unless_connected(path)
        with measured() as began:
            return self._wait(send(), path, began + self.request_timeout)

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        parents: bool = False,
    ) -> str:
        check_node(path, data)
        if not parents:
            return self._ask(path, lambda: self._create(path, data, ephemeral, sequential))
        for _ in range(3):
            try:
                return self._ask(path, lambda: self._create(path, data, ephemeral, sequential))
            except NodeMissing:
                self._ensure(path.rpartition("/")[0])
        raise NodeMissing("E4004", f"the parent of {path} was deleted after each attempt to create it")

    def _create(self, path: str, data: bytes, ephemeral: bool, sequential: bool) -> AsyncResult[str]:
        return self._client.create_async(path, data, acl=self._acl(path), ephemeral=ephemeral, sequence=sequential)

    def _acl(self, path: str) -> list[ACL]:
        return _to_kazoo(OPEN if self._guard is None else self._guard.grants(path))

    def _ensure(self, path: str) -> None:
        """The node with its parents, with our ACL (kazoo's ensure_path gives none unless told). Begins below: where a
        process may not create nodes, ZooKeeper answers so also for those that exist."""
        for _ in range(2):
            try:
                self._ask(path, partial(self._create, path, b"", False, False))
            except NodeExists:
                return
            except NodeMissing as error:
                above = path.rpartition("/")[0]
                if not above:
                    raise self._no_chroot() or error from None
                self._ensure(above)
            else:
                return

    def _no_chroot(self) -> CoordinationError | None:
        """Below a chroot that does not exist the first node can't be created. It is not created here: a typing error
        would begin a second bus."""
        chroot = parse_ensemble(self.hosts).chroot
        if not chroot:
            return None
        return CoordinationError(
            "E4004",
            f"the chroot {chroot} of --zookeeper does not exist",
            fix=f"Create the znode {chroot} with `zkCli.sh`, or correct --zookeeper.",
        )

    def get(self, path: str, watch: Watcher | None = None) -> Node:
        data, stat = self._ask(path, lambda: self._client.get_async(path, _adapt(watch, path)))
        return Node(data or b"", _stat(stat))

    def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        return [node for at in range(0, len(paths), _IN_FLIGHT) for node in self._get_some(paths[at : at + _IN_FLIGHT])]

    def _get_some(self, paths: Sequence[str]) -> list[Node | None]:
        self._refuse_unless_connected(paths[0])
        found: list[Node | None] = []
        with measured() as began:
            pending = [self._client.get_async(path) for path in paths]
            for path, result in zip(paths, pending, strict=True):
                try:
                    data, stat = self._wait(result, path, began + self.request_timeout)
                    found.append(Node(data or b"", _stat(stat)))
                except NodeMissing:
                    found.append(None)
        return found

    def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        stat = self._ask(path, lambda: self._client.exists_async(path, _adapt(watch, path)))
        return None if stat is None else _stat(stat)

    def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        names = self._ask(path, lambda: self._client.get_children_async(path, _adapt(watch, path)))
        return sorted(names)

    def listing(self, path: str, watch: Watcher | None = None) -> Listing:
        ask = self._client.get_children_async
        names, stat = self._ask(path, lambda: ask(path, _adapt(watch, path), include_data=True))
        return Listing(tuple(sorted(names)), _stat(stat))

    def confirm(self, paths: Sequence[str]) -> list[Stat | None]:
        if not paths:
            return []
        self._refuse_unless_connected(paths[0])
        with measured() as began:
            deadline = began + self.request_timeout
            # Answers come in the order of the requests: what follows a sync is as new as the leader.
            synced = self._client.sync_async(paths[0])
            pending = [self._client.exists_async(path) for path in paths]
            self._wait(synced, paths[0], deadline)
            stats = [self._wait(result, path, deadline) for path, result in zip(paths, pending, strict=True)]
        return [None if stat is None else _stat(stat) for stat in stats]

    def catch_up(self, path: str) -> None:
        self._refuse_unless_connected(path)
        deadline = time.monotonic() + self.request_timeout
        # The server sends what a commit fires before the answer to a sync behind it, and kazoo queues it for the thread
        # of its callbacks in that order: when that thread has come to this event, it has called all watches before it.
        self._wait(self._client.sync_async(path), path, deadline)
        called = threading.Event()
        self._client.handler.dispatch_callback(Callback("watch", called.set, ()))
        if not called.wait(max(0.001, deadline - time.monotonic())):
            raise NotConnected("E4002", f"watches of {path} were not called in time", found="callbacks are late")

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        check_node(path, data)
        return _stat(self._ask(path, lambda: self._client.set_async(path, data, version)))

    def delete(self, path: str, version: int = -1) -> None:
        self._ask(path, lambda: self._client.delete_async(path, version))

    def acl(self, path: str) -> Acl:
        found, stat = self._ask(path, lambda: self._client.get_acls_async(path))
        return Acl(_from_kazoo(found), stat.aversion)

    def set_acl(self, path: str, grants: Sequence[Grant], version: int = -1) -> None:
        self._ask(path, lambda: self._client.set_acls_async(path, _to_kazoo(grants), version))

    def multi(self, ops: Sequence[Op]) -> list[str | Stat | None]:
        if not ops:
            return []
        check_request(ops)
        transaction = self._client.transaction()
        for op in ops:
            self._add(transaction, op)
        results = self._ask(ops[0].path, transaction.commit_async)
        # kazoo returns the errors in the list instead of raising them, those of innocent operations included.
        self._raise_first(ops, results)
        return [_result(op, result) for op, result in zip(ops, results, strict=True)]

    def _add(self, transaction: TransactionRequest, op: Op) -> None:
        match op:
            case Create(path, data, ephemeral, sequential):
                transaction.create(path, data, acl=self._acl(path), ephemeral=ephemeral, sequence=sequential)
            case Set(path, data, version):
                transaction.set_data(path, data, version)
            case Delete(path, version):
                transaction.delete(path, version)
            case Check(path, version):
                transaction.check(path, version)

    def _raise_first(self, ops: Sequence[Op], results: Sequence[Any]) -> None:
        errors = [(index, result) for index, result in enumerate(results) if isinstance(result, BaseException)]
        if not errors:
            return
        index, error = next((pair for pair in errors if not isinstance(pair[1], SKIPPED)), errors[0])
        kind = type(ops[index]).__name__.lower()
        raise self._failed(error, ops[index].path, f"operation {index} ({kind}) of {len(ops)}") from error


def for_process(hosts: str, session_timeout: float, layout: Layout, role: Role) -> ZookeeperCoordinator:
    """The coordinator of a Core, Server or Monitor, with login and TLS of the environment. It follows changed files.

    Raises ConfigError E4034, E4036.
    """
    access = of_environment()
    warnings = require_secured(hosts, access)
    guard = Guard(layout, role, required=access.has_identity and not access.insecure)
    made = ZookeeperCoordinator(hosts, session_timeout, access, guard)
    made.warnings = warnings
    FileWatch(access, guard, made.reconnect).start()
    return made


def connect(
    hosts: str,
    session_timeout: float = DEFAULT_SESSION_TIMEOUT,
    wait: float = 15.0,
    access: Access = NO_ACCESS,
    guard: Guard | None = None,
) -> ZookeeperCoordinator:
    """A coordinator that is connected.

    Raises:
        NotConnected: E4001 when nothing answers within `wait` seconds, E4030 to E4037 when login or TLS are refused;
            nothing is left behind then.
    """
    coordinator = ZookeeperCoordinator(hosts, session_timeout, access, guard)
    try:
        coordinator.wait_connected(wait)
    except NotConnected:
        coordinator.close()
        raise
    return coordinator


_BITS = {"c": 4, "d": 8, "r": 1, "w": 2, "a": 16}


def _to_kazoo(grants: Sequence[Grant]) -> list[ACL]:
    return [ACL(sum(_BITS[letter] for letter in one.rights), Id(one.scheme, one.id)) for one in grants]


def _from_kazoo(found: Sequence[ACL]) -> tuple[Grant, ...]:
    rights = {entry: "".join(letter for letter in ALL if entry.perms & _BITS[letter]) for entry in found}
    return tuple(sorted(Grant(entry.id.scheme, entry.id.id, letters) for entry, letters in rights.items()))


def _stat(stat: ZnodeStat) -> Stat:
    return Stat(
        version=stat.version,
        czxid=stat.czxid,
        mzxid=stat.mzxid,
        owner=stat.ephemeralOwner,
        ctime_ms=stat.ctime,
        mtime_ms=stat.mtime,
        children=stat.numChildren,
        cversion=stat.cversion,
        pzxid=stat.pzxid,
    )


def _result(op: Op, result: Any) -> str | Stat | None:
    match op:
        case Create():
            return str(result)
        case Set():
            return _stat(result)
        case _:
            return None


def _adapt(watch: Watcher | None, path: str) -> Callable[[WatchedEvent], None] | None:
    """kazoo drops all watches when the connection breaks and says so with an event of type NONE."""
    if watch is None:
        return None
    return lambda event: watch(_CHANGES.get(event.type, "session"), event.path or path)
