"""What `replicator lock ls` shows: locks, who has them, and who waits."""

from __future__ import annotations

import msgspec

from replicator.coordination.layout import Layout, unescape
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes import fencing
from replicator.coordination.recipes.claims import Place, claims, place
from replicator.coordination.recipes.records import ClaimRecord
from replicator.coordination.records import load
from replicator.errors import CoordinationError, NodeMissing


class ClaimView(msgspec.Struct, frozen=True):
    """A claim. `state`: "held" or "waiting"; `token`: of the one that holds, or will; `path`: its znode."""

    path: str
    kind: str
    state: str
    token: int
    by: str
    host: str
    pid: int
    since_ms: int


class LockView(msgspec.Struct, frozen=True):
    name: str
    claims: tuple[ClaimView, ...]


def locks(coordinator: Coordinator, layout: Layout) -> list[LockView]:
    """Raises NotConnected; CoordinationError E4007."""
    try:
        children = coordinator.children(layout.locks)
    except NodeMissing:
        return []
    above = fencing.base(coordinator, layout)
    found = [LockView(unescape(child), claims_at(coordinator, f"{layout.locks}/{child}", above)) for child in children]
    return sorted((lock for lock in found if lock.claims), key=lambda lock: lock.name)


def claims_at(coordinator: Coordinator, base: str, above: int) -> tuple[ClaimView, ...]:
    """In the order of the queue. `base`: the node of the lock; `above`: `fencing.base`."""
    try:
        names = coordinator.children(base)
    except NodeMissing:
        return ()
    queue = claims(names)
    views = []
    paths = [f"{base}/{claim.name}" for claim in queue]
    for claim, path, node in zip(queue, paths, coordinator.get_many(paths), strict=True):
        if node is None or node.stat.owner == 0:
            continue
        try:
            record = load(ClaimRecord, node.data)
        except CoordinationError:
            record = ClaimRecord(by="", host="", pid=0, since_ms=node.stat.ctime_ms, timeout_s=0.0)
        state = "held" if place(names, claim.guid) is Place.FIRST else "waiting"
        views.append(
            ClaimView(
                path, claim.kind, state, above + node.stat.czxid, record.by, record.host, record.pid, record.since_ms
            )
        )
    return tuple(views)
