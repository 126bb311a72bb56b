"""Group, weight and standbys of each task, as their configurations say; read again when one changes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from typing import Any

import msgspec

from replicator.coordination.groups.placement import Demand
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Change, Coordinator
from replicator.coordination.records import TaskRecord, load
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, NodeMissing

_CHECKED = 20
"""Tasks that are read again at each reading although no watch fired: watches are only a hint."""


class Wish(msgspec.Struct, frozen=True):
    """What a configuration says. `group` "": all Cores without a group."""

    group: str = ""
    weight: int = 1
    standbys: int = 1

    def demand(self, pin: str = "") -> Demand:
        return Demand(self.weight, self.standbys, pin)


def wish_of(config: Mapping[str, Any] | None) -> Wish:
    """Also of a configuration that is not valid as a whole."""
    found = config or {}

    def number(key: str, least: int, default: int) -> int:
        value = found.get(key)
        return value if isinstance(value, int) and value >= least else default

    group = found.get("group")
    return Wish(group if isinstance(group, str) else "", number("weight", 1, 1), number("standbys", 0, 1))


class Wishes:
    """Args:
    wake: called from any thread when a task comes, goes or changes; must not block.
    """

    def __init__(self, coordinator: Coordinator, layout: Layout, wake: Callable[[], None]) -> None:
        self._coordinator, self._layout, self._wake = coordinator, layout, wake
        self._registry = Registry(coordinator, layout)
        self._known: dict[str, Wish] = {}
        self._lock = threading.Lock()
        self._watched: set[str] = set()  # "" is the list of tasks
        self._turn = 0

    def read(self, again: Collection[str] = ()) -> Mapping[str, Wish]:
        """Of all tasks; of one that can't be read what it was before. `again`: tasks that are read although no watch
        fired. Raises NotConnected."""
        names = self._names()
        for gone in set(self._known) - set(names):
            del self._known[gone]
        for name in names:
            if self._begin(name):
                self._read(name, watched=True)
            elif name in again:
                self._read(name, watched=False)
        self._check(names)
        return dict(self._known)

    def _names(self) -> list[str]:
        if not self._begin(""):
            return self._registry.names()
        try:
            return self._registry.names(self._watch(""))
        except CoordinationError:
            self._end("")
            raise

    def _check(self, names: list[str]) -> None:
        if names:
            self._turn %= len(names)
            for name in names[self._turn : self._turn + _CHECKED]:
                self._read(name, watched=False)
            self._turn += _CHECKED

    def _read(self, name: str, *, watched: bool) -> None:
        path = self._layout.task(name)
        try:
            node = self._coordinator.get(path, self._watch(name) if watched else None)
            self._known[name] = wish_of(load(TaskRecord, node.data, path).config)
        except NodeMissing:
            self._end(name)
            self._known.pop(name, None)
        except CoordinationError as error:
            if error.transient:
                self._end(name)
                raise

    def _begin(self, name: str) -> bool:
        """True when a watch is to be set."""
        with self._lock:
            new = name not in self._watched
            self._watched.add(name)
            return new

    def _end(self, name: str) -> None:
        with self._lock:
            self._watched.discard(name)

    def _watch(self, name: str) -> Callable[[Change, str], None]:
        def fired(change: Change, path: str) -> None:
            self._end(name)
            self._wake()

        return fired

    def clear(self) -> None:
        """The session is gone, and all watches with it."""
        with self._lock:
            self._watched.clear()
