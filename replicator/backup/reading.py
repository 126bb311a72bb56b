"""Reads the tree for a backup, each task so that its parts fit together.

A task is written all the time, and ZooKeeper has no read of several znodes at one moment. So the order of reading and a
second look decide: lastCommit is read before everything else of the task, as the table definitions that it needs are
durable before it is written; afterwards everything but what only grows (history, position history) must be as it was
when the reading began. Otherwise the task is read again.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

import msgspec

from replicator.backup.nodes import MARKERS, PASSING, QUEUES, SECRETS, SavedNode, SavedPart, saved
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Stat
from replicator.coordination.records import StatusRecord, load
from replicator.errors import CoordinationError, NodeMissing, ProcessError

ATTEMPTS: Final = 8
_FIRST_PAUSE: Final = 0.05
_SINCE: Final = 1000
"""Children that a parent may get between the reading of its stat and that of its children."""


class _Moved(Exception):
    """The task has changed while it was read."""


class Found(msgspec.Struct):
    """What a reading has come across. zxid: the last change that it has seen."""

    zxid: int = 0
    nodes: int = 0

    def take(self, stat: Stat) -> None:
        self.zxid = max(self.zxid, stat.mzxid, stat.czxid, stat.pzxid)
        self.nodes += 1


class TreeReader:
    """Args: sleep: waits between attempts; another one only in tests."""

    def __init__(self, coordinator: Coordinator, layout: Layout, sleep: Callable[[float], object] = time.sleep) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._sleep = sleep
        self.found = Found()

    def tasks(self) -> list[str]:
        try:
            children = self._coordinator.children(self._layout.tasks)
        except NodeMissing:
            return []
        return [self._layout.task_name(child) for child in children if self._layout.is_task(child)]

    def cluster(self, *, logins: bool) -> SavedPart:
        """What does not belong to a task. Raises NodeMissing: there is no such root."""
        left_out = (*PASSING, *(() if logins else SECRETS))
        root = self._layout.root
        paths = [f"{root}/{name}" for name in self._coordinator.children(root) if name not in left_out]
        nodes = [node for path in paths for node in self._walk(path, root, {}, missing_is_fine=True)]
        return SavedPart("", tuple(nodes))

    def task(self, name: str) -> SavedPart | None:
        """None: it was deleted, or is being deleted. Raises ProcessError E5101, NotConnected."""
        pause = _FIRST_PAUSE
        for _ in range(ATTEMPTS):
            try:
                return self._task(name)
            except (_Moved, NodeMissing):
                self._sleep(pause)
                pause *= 2
        raise ProcessError("E5101", f"'{name}' changed during each of {ATTEMPTS} attempts to read it")

    def _task(self, name: str) -> SavedPart | None:
        top = self._layout.task(name)
        try:
            node = self._coordinator.get(top)
        except NodeMissing:
            return None
        if self._is_deleted(name):
            return None
        seen: dict[str, Stat] = {top: node.stat}
        nodes = [self._saved(top, top, node.data, node.stat)]
        commit = self._layout.last_commit(name)
        # They get entries all the time and lose old ones: an entry that is missing is not missed.
        growing = (self._layout.history(name), self._layout.position_history(name))
        nodes += self._one(commit, top)
        for child in self._coordinator.children(top):
            path = f"{top}/{child}"
            if path == commit or child.startswith(MARKERS):
                continue
            if child in QUEUES:
                nodes += self._one(path, top)
            else:
                grows = path in growing
                nodes += self._walk(path, top, {} if grows else seen, missing_is_fine=grows)
        self._refuse_moved(seen)
        return SavedPart(name, tuple(nodes))

    def _is_deleted(self, name: str) -> bool:
        path = self._layout.status(name)
        try:
            record = load(StatusRecord, self._coordinator.get(path).data, path)
        except NodeMissing:
            return False
        except CoordinationError as error:
            if error.transient:
                raise
            return False
        if record.restoring:
            raise ProcessError("E5105", f"'{name}' is being restored, and is not complete", found=record.reason)
        return record.desired == "deleted"

    def _refuse_moved(self, seen: dict[str, Stat]) -> None:
        """Raises _Moved unless each of these nodes is as it was, and has the children that it had."""
        paths = list(seen)
        for path, stat in zip(paths, self._coordinator.confirm(paths), strict=True):
            was = seen[path]
            if stat is None or (stat.czxid, stat.mzxid, stat.pzxid) != (was.czxid, was.mzxid, was.pzxid):
                raise _Moved

    def _one(self, path: str, top: str) -> Iterator[SavedNode]:
        """A node without its children."""
        try:
            node = self._coordinator.get(path)
        except NodeMissing:
            return
        yield self._saved(path, top, node.data, node.stat)

    def _walk(self, path: str, top: str, seen: dict[str, Stat], *, missing_is_fine: bool) -> Iterator[SavedNode]:
        """The persistent nodes from `path` on, parents first, level by level. `seen`: gets their stats."""
        level = {path: 0}  # with the number of children that the parent has had
        while level:
            below: dict[str, int] = {}
            for at, node in zip(level, self._coordinator.get_many(list(level)), strict=True):
                if node is None:
                    if missing_is_fine:
                        continue
                    raise _Moved
                if node.stat.owner:
                    continue  # of a session
                seen[at] = node.stat
                yield self._saved(at, top, node.data, node.stat, level[at])
                if node.stat.children:
                    names = self._children(at, missing_is_fine=missing_is_fine)
                    below |= {f"{at}/{name}": node.stat.cversion + _SINCE for name in names}
            level = below

    def _children(self, path: str, *, missing_is_fine: bool) -> list[str]:
        try:
            return self._coordinator.children(path)
        except NodeMissing:
            if missing_is_fine:
                return []
            raise

    def _saved(self, path: str, top: str, data: bytes, stat: Stat, born: int = 0) -> SavedNode:
        self.found.take(stat)
        return saved(path[len(top) + 1 :], data, stat, born)
