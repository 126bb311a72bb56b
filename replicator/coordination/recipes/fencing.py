"""Fencing tokens: the czxid of a claim, raised above those of the ensemble that a backup was made of.

A resource that remembers the highest token that it has seen, and refuses lower ones, is safe from a former holder that
does not know that it has lost its lock.
"""

from __future__ import annotations

from typing import Final

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.records import FencingRecord
from replicator.coordination.records import dump, load
from replicator.errors import CoordinationError, NodeExists, NodeMissing

JUMP: Final = 1 << 44
"""Above the tokens that were given out after the backup; the upper half of a zxid counts elections of ZooKeeper."""


def base(coordinator: Coordinator, layout: Layout) -> int:
    """What is added to each czxid. Raises CoordinationError E4009, E4010; NotConnected."""
    try:
        node = coordinator.get(layout.fencing)
    except NodeMissing:
        return 0
    return load(FencingRecord, node.data, layout.fencing).above if node.data else 0


def raise_base(coordinator: Coordinator, layout: Layout, zxid: int, before: int) -> None:
    """After a restore. `zxid`: the last one of the ensemble of the backup; `before`: its base. Has no effect when it is
    repeated."""
    wanted = before + zxid + JUMP
    try:
        coordinator.create(layout.fencing, dump(FencingRecord(above=wanted)), parents=True)
        return
    except NodeExists:
        node = coordinator.get(layout.fencing)
    try:
        present = load(FencingRecord, node.data, layout.fencing).above if node.data else 0
    except CoordinationError:
        present = 0
    if present < wanted:
        coordinator.set(layout.fencing, dump(FencingRecord(above=wanted)), node.stat.version)
