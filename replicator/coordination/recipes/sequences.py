"""Unique ids: series of numbers that rise over the whole cluster, given out in blocks.

A block is one write, of up to `BLOCK` ids. It raises a counter; sequence numbers of znodes begin again when their
parent is created again, and each of them costs a znode.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Node
from replicator.coordination.recipes import fencing
from replicator.coordination.recipes.names import checked
from replicator.coordination.recipes.records import SequenceRecord
from replicator.coordination.records import dump, load
from replicator.errors import NodeExists, NodeMissing, VersionConflict

BLOCK: Final = 1000
"""Ids that one write gives out at most."""
_PER_ZXID: Final = 1024
"""A series whose counter may have been deleted begins at its czxid times this: as each zxid has given out fewer ids,
that is above all of them."""
_PAUSE: Final = 0.005
RESTORE_JUMP: Final = 1 << 40
"""A million ids a second for 12 days."""


class Sequences:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator = coordinator
        self._layout = layout

    def take(self, name: str, count: int = 1) -> range:
        """The next `count` ids (1 to BLOCK), which no other call gets. All are above those of every call that had
        returned before this one began.

        Raises:
            NotConnected: the outcome is unknown; the ids may be lost, and are never given out.
            ProcessError: E5140 a name that no series can have.
            CoordinationError: E4009, E4010 a counter that can't be read.
        """
        if not 1 <= count <= BLOCK:
            raise ValueError(f"1 to {BLOCK} ids at a time")
        path = self._layout.sequence(checked(name, "series of ids"))
        while True:
            node = self._node(path)
            if node is None:
                continue
            first = load(SequenceRecord, node.data, path).next if node.data else self._first(node)
            try:
                self._coordinator.set(path, dump(SequenceRecord(next=first + count)), node.stat.version)
            except VersionConflict:
                time.sleep(_PAUSE)  # another process was faster, so there is progress
                continue
            except NodeMissing:
                continue
            return range(first, first + count)

    def _node(self, path: str) -> Node | None:
        """None: again. A new counter is empty until its first block, as its first id may depend on its czxid."""
        try:
            return self._coordinator.get(path)
        except NodeMissing:
            try:
                self._coordinator.create(path, parents=True)
            except NodeExists:
                return None
        return None

    def _first(self, node: Node) -> int:
        """1, where it is certain that the series is new: no counter was ever deleted, and no backup restored."""
        above = fencing.base(self._coordinator, self._layout)
        if not above and self._unbroken(self._layout.sequences) and self._unbroken(f"{self._layout.root}/ids"):
            return 1
        return (above + node.stat.czxid) * _PER_ZXID

    def _unbroken(self, path: str) -> bool:
        """No child was ever deleted: each creation and each deletion counts one."""
        stat = self._coordinator.exists(path)
        return stat is not None and stat.cversion == stat.children


class Ids:
    """Ids one by one, for one process; each of its blocks is one write. Thread-safe.

    Ids of two processes do not rise in the order in which they are used, since each has a block.
    """

    def __init__(self, sequences: Sequences, name: str, block: int = BLOCK) -> None:
        self._sequences = sequences
        self._name = name
        self._block = block
        self._lock = threading.Lock()
        self._left: Iterator[int] = iter(())

    def next(self) -> int:
        """Raises as `Sequences.take`."""
        with self._lock:
            for number in self._left:
                return number
            self._left = iter(self._sequences.take(self._name, self._block))
            return next(self._left)


def restored(record: SequenceRecord) -> SequenceRecord:
    """A counter as a backup has it, above all ids that were given out after the backup."""
    return SequenceRecord(next=record.next + RESTORE_JUMP)
