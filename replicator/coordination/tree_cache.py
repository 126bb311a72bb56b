"""A cache of znodes that is kept current by watches: a node that does not change is read once.

Each read leaves a watch, and the watch removes what was kept; the next read asks again. So the number of requests
follows the changes, not the number of nodes or of readers. `catch_up` is the promise behind it: reads after it return
nothing older than its call. It is one request, whatever the number of nodes, and none where a caller accepts what is up
to `max_age_s` old. Everything is dropped when the connection breaks, as the watches are gone then, and reads without a
connection raise NotConnected as those of the coordinator do.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, Literal, TypeAlias, TypeVar

from replicator.coordination.ports import Acl, Change, Connection, Coordinator, Grant, Listing, Node, Op, Stat, Watcher
from replicator.errors import CoordinationError, NodeMissing

T = TypeVar("T")
Kind: TypeAlias = Literal["data", "presence", "children"]
_MISSING: Final = None
_MANY: Final = 20
_THREADS: Final = 8
"""Requests of several threads are on their way at a time."""


class _Entry:
    """What one read returned, `_MISSING` without such a node. `void`: its watch fired, or it was never kept.
    `watchers`: of readers who found it kept."""

    __slots__ = ("value", "void", "watchers")

    def __init__(self) -> None:
        self.value: Node | Stat | Listing | None = _MISSING
        self.void = False
        self.watchers: list[Watcher] = []


class _Derived:
    """A value made from entries; it holds as long as none of them is void."""

    __slots__ = ("entries", "value")

    def __init__(self, value: Any, entries: Sequence[_Entry]) -> None:
        self.value = value
        self.entries = tuple(entries)

    @property
    def holds(self) -> bool:
        return not any(entry.void for entry in self.entries)


class TreeCache:
    """A `Coordinator` whose reads are kept. Thread-safe. Everything else is passed on. What a Stat says of children is
    as of the read, as no watch fires for it.

    Args:
        path: any node, for `catch_up`.
    """

    def __init__(self, coordinator: Coordinator, path: str, clock: Callable[[], float] = time.monotonic) -> None:
        self._coordinator = coordinator
        self._path = path
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[tuple[Kind, str], _Entry] = {}
        self._derived: dict[object, _Derived] = {}
        self._connections = 0
        self._current_at = float("-inf")
        self._catching_up = threading.Lock()
        self._reading = threading.local()
        self._check_next: list[tuple[Kind, str]] = []
        coordinator.on_connection(self._on_connection)

    def _on_connection(self, state: Connection) -> None:
        self._drop()

    def _drop(self) -> None:
        watchers: list[tuple[Watcher, str]] = []
        with self._lock:
            self._connections += 1
            self._current_at = float("-inf")
            for (_, path), entry in self._entries.items():
                entry.void = True
                watchers += [(watcher, path) for watcher in entry.watchers]
                entry.watchers = []
            self._entries.clear()
            self._derived.clear()
        for watcher, path in watchers:
            watcher("session", path)

    def catch_up(self, path: str = "", max_age_s: float = 0.0) -> None:
        """Reads after it return nothing older than `max_age_s` before the call. Callers that wait share a request.

        Raises NotConnected.
        """
        asked = self._clock()
        if self._current_at >= asked - max_age_s:
            return
        with self._catching_up:
            if self._current_at >= asked - max_age_s:
                return
            connections, began = self._connections, self._clock()
            self._coordinator.catch_up(path or self._path)
            with self._lock:
                if self._connections == connections:
                    self._current_at = began

    def derived(self, key: object, make: Callable[[], T]) -> T:
        """What `make` returns, which is called again only when something that it read here has changed. It must not
        be changed by the caller."""
        with self._lock:
            found = self._derived.get(key)
            connections = self._connections
        if found is not None and found.holds:
            value: T = found.value
            self._note(found.entries)
            return value
        outer, self._reading.entries = getattr(self._reading, "entries", None), []
        try:
            value = make()
            read: list[_Entry] = self._reading.entries
        finally:
            self._reading.entries = outer
        self._note(read)
        with self._lock:
            if self._connections == connections:
                self._derived[key] = _Derived(value, read)
        return value

    def warm(self, makes: Mapping[Any, Callable[[], object]]) -> None:
        """Makes many derived values at once, so that their reads do not wait for each other: at the start, and after a
        lost connection. Values whose making fails are left to the one who needs them. Raises NotConnected."""
        with self._lock:
            known = {key: self._derived.get(key) for key in makes}
        cold = [key for key, found in known.items() if found is None or not found.holds]
        if len(cold) < _MANY:
            return

        def make(key: object) -> None:
            with contextlib.suppress(NodeMissing):
                self.derived(key, makes[key])

        with ThreadPoolExecutor(_THREADS, "tree-cache") as pool:
            list(pool.map(make, cold))

    def _note(self, entries: Sequence[_Entry]) -> None:
        reading: list[_Entry] | None = getattr(self._reading, "entries", None)
        if reading is not None:
            reading += entries

    def keep_below(self, parent: str, names: Collection[str]) -> None:
        """Forgets what is below other children of `parent`: they are gone, and no watch says so of nodes that were
        missing before."""
        start = f"{parent}/"
        with self._lock:
            gone = [
                key
                for key in self._entries
                if key[1].startswith(start) and key[1][len(start) :].partition("/")[0] not in names
            ]
            for key in gone:
                self._entries.pop(key).void = True
            self._derived = {key: found for key, found in self._derived.items() if found.holds}

    def check(self, count: int) -> str:
        """Reads `count` entries again, the next ones at each call. If one of them is not as the coordinator has it
        although no watch fired, or must not be read any more (no watch tells of an ACL), drops everything and returns
        its path, else "". Raises NotConnected."""
        for key in self._next(count):
            with self._lock:
                entry = self._entries.get(key)
            if entry is None or self._still(key, entry):
                continue
            self._coordinator.catch_up(self._path)
            if not entry.void:
                self._drop()
                return key[1]
        return ""

    def _still(self, key: tuple[Kind, str], entry: _Entry) -> bool:
        try:
            return _same(entry.value, self._ask(key, None))
        except CoordinationError as error:
            if error.transient:
                raise
            return False

    def _next(self, count: int) -> list[tuple[Kind, str]]:
        with self._lock:
            if not self._check_next:
                self._check_next = list(self._entries)
            taken, self._check_next = self._check_next[:count], self._check_next[count:]
        return taken

    def _read(
        self, kind: Kind, path: str, watch: Watcher | None = None, *, of_missing: bool = False
    ) -> Node | Stat | Listing | None:
        """`watch` is called when that changes which is returned; of a missing node only with `of_missing`, as a read
        of one leaves no watch."""
        key = (kind, path)
        while True:
            with self._lock:
                entry = self._entries.get(key)
                connections = self._connections
            if entry is None:
                entry = self._fetch(key, connections)
            wanted = watch is not None and (of_missing or entry.value is not _MISSING)
            if not wanted or self._watched(entry, watch):
                self._note([entry])
                return entry.value

    def _watched(self, entry: _Entry, watch: Watcher | None) -> bool:
        """False when it has changed already."""
        with self._lock:
            if entry.void or watch is None:
                return False
            entry.watchers.append(watch)
            return True

    def _fetch(self, key: tuple[Kind, str], connections: int) -> _Entry:
        entry = _Entry()

        def fired(change: Change, path: str) -> None:
            entry.void = True
            with self._lock:
                if self._entries.get(key) is entry:
                    del self._entries[key]
                watchers, entry.watchers = entry.watchers, []
            for watcher in watchers:
                watcher(change, path)

        try:
            entry.value = self._ask(key, fired)
        except Exception:
            failed = _Entry()
            failed.void = True  # the next read asks again: what is made from an error is not kept
            self._note([failed])
            raise
        with self._lock:
            if self._connections != connections:
                entry.void = True
            elif not entry.void:
                self._entries[key] = entry
        return entry

    def _ask(self, key: tuple[Kind, str], watch: Watcher | None) -> Node | Stat | Listing | None:
        """None: there is no such node. A read of a missing node leaves no watch, a question whether it exists does."""
        kind, path = key
        while True:
            try:
                if kind == "data":
                    return self._coordinator.get(path, watch)
                if kind == "children":
                    return self._coordinator.listing(path, watch)
            except NodeMissing:
                if self._coordinator.exists(path, watch) is None:
                    return _MISSING
                continue  # created meanwhile
            return self._coordinator.exists(path, watch)

    # Coordinator: what is kept

    def get(self, path: str, watch: Watcher | None = None) -> Node:
        found = self._read("data", path, watch)
        if not isinstance(found, Node):
            raise _missing(path)
        return found

    def get_many(self, paths: Sequence[str]) -> list[Node | None]:
        found = [self._read("data", path) for path in paths]
        return [node if isinstance(node, Node) else None for node in found]

    def exists(self, path: str, watch: Watcher | None = None) -> Stat | None:
        with self._lock:
            known = ("data", path) in self._entries
        found = self._read("data" if known else "presence", path, watch, of_missing=True)
        return found.stat if isinstance(found, Node) else found if isinstance(found, Stat) else None

    def listing(self, path: str, watch: Watcher | None = None) -> Listing:
        found = self._read("children", path, watch)
        if not isinstance(found, Listing):
            raise _missing(path)
        return found

    def children(self, path: str, watch: Watcher | None = None) -> list[str]:
        return list(self.listing(path, watch).names)

    # Coordinator: the rest

    @property
    def connection(self) -> Connection:
        return self._coordinator.connection

    @property
    def session_id(self) -> int:
        return self._coordinator.session_id

    @property
    def session_timeout(self) -> float:
        return self._coordinator.session_timeout

    def create(
        self,
        path: str,
        data: bytes = b"",
        *,
        ephemeral: bool = False,
        sequential: bool = False,
        parents: bool = False,
    ) -> str:
        return self._coordinator.create(path, data, ephemeral=ephemeral, sequential=sequential, parents=parents)

    def confirm(self, paths: Sequence[str]) -> list[Stat | None]:
        return self._coordinator.confirm(paths)

    def set(self, path: str, data: bytes, version: int = -1) -> Stat:
        return self._coordinator.set(path, data, version)

    def delete(self, path: str, version: int = -1) -> None:
        self._coordinator.delete(path, version)

    def acl(self, path: str) -> Acl:
        return self._coordinator.acl(path)

    def set_acl(self, path: str, grants: Sequence[Grant], version: int = -1) -> None:
        self._coordinator.set_acl(path, grants, version)

    def multi(self, ops: Sequence[Op]) -> list[str | Stat | None]:
        return self._coordinator.multi(ops)

    def on_connection(self, listener: Callable[[Connection], None]) -> None:
        self._coordinator.on_connection(listener)

    def close(self) -> None:
        self._coordinator.close()


def _missing(path: str) -> NodeMissing:
    return NodeMissing("E4004", f"{path} does not exist")


def _same(kept: Node | Stat | Listing | None, present: Node | Stat | Listing | None) -> bool:
    """Whether both are of one version of one node; a Stat counts its children, for which no watch is set."""
    match kept, present:
        case Node(), Node():
            return kept.data == present.data and _version(kept.stat) == _version(present.stat)
        case Listing(), Listing():
            return (kept.names, kept.stat.czxid) == (present.names, present.stat.czxid)
        case Stat(), Stat():
            return _version(kept) == _version(present)
        case _:
            return kept is None and present is None


def _version(stat: Stat) -> tuple[int, int]:
    return stat.czxid, stat.mzxid
