"""Waits for a lock: one claim on its way through the queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from replicator.coordination.layout import Layout, witness
from replicator.coordination.leadership.lease import Lease
from replicator.coordination.ports import Node
from replicator.coordination.recipes import fencing
from replicator.coordination.recipes.claim_nodes import ClaimNodes, Owner
from replicator.coordination.recipes.claims import Kind, Place, claims, of, place
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.records import ClaimRecord
from replicator.coordination.records import load
from replicator.coordination.watches import Watches
from replicator.errors import CoordinationError, NodeMissing, NotConnected

_RETRY: Final = 0.1
_READ_AGAIN: Final = 1.0
_AT_ONCE: Final = 20
"""Steps without a pause, which should be two or three."""
_FOREVER: Final = 3600.0


class Waiting:
    """
    Args:
        until: on the lease clock; None: for ever.
        cancelled: asked after each pause; gives up when it is true.
        owner: whom the claim names; None: the owner of `nodes`.
    """

    def __init__(
        self,
        nodes: ClaimNodes,
        layout: Layout,
        base: str,
        name: str,
        kind: Kind,
        until: float | None,
        cancelled: Callable[[], bool],
        clock: Callable[[], float],
        wall: Callable[[], float],
        owner: Owner | None = None,
    ) -> None:
        self._nodes = nodes
        self._coordinator = nodes.coordinator
        self._layout = layout
        self._name = name
        self._until = until
        self._cancelled = cancelled
        self._clock = clock
        self._wall = wall
        self._claim = nodes.new(base, kind, owner)
        self._wake = threading.Event()
        self._watches = Watches(self._wake.set)
        self._ignored: set[str] = set()
        self._front: Node | None = None

    def run(self) -> Hold:
        """Raises CoordinationError E4070; NotConnected when that was so in the end."""
        try:
            return self._run()
        except BaseException:
            self._nodes.remove(self._claim)
            raise

    def _run(self) -> Hold:
        outage: NotConnected | None = None
        for step in range(1 << 62):
            self._wake.clear()
            try:
                found: Hold | float = self._step()
                outage = None
            except NotConnected as error:
                found, outage = _RETRY, error
            if isinstance(found, Hold):
                return found
            pause = found or (_RETRY if step % _AT_ONCE == _AT_ONCE - 1 else 0.0)
            if pause:
                left = _FOREVER if self._until is None else self._until - self._clock()
                if left <= 0 or self._cancelled():
                    raise outage or self._not_free()
                self._wake.wait(min(pause, left))
        raise AssertionError

    def _step(self) -> Hold | float:
        """The lock, or how long to wait at most."""
        if self._claim.session != self._coordinator.session_id:
            self._begin_again()
        base, guid = self._claim.base, self._claim.guid
        names = self._nodes.names(base)
        found = place(names or [], guid, self._ignored)
        if isinstance(found, str):
            return self._behind(f"{base}/{found}", found)
        if found is Place.FIRST:
            return self._first(next(f"{base}/{each.name}" for each in claims(names or []) if each.guid == guid))
        if of(names or [], guid):
            self._begin_again()  # a person has deleted half of it
        else:
            self._nodes.join(self._claim, names)
        return 0.0

    def _begin_again(self) -> None:
        """At the end of the queue, as another claim."""
        self._nodes.remove(self._claim)
        self._watches.clear()
        self._claim = self._nodes.new(self._claim.base, self._claim.kind, self._claim.owner)

    def _behind(self, path: str, name: str) -> float:
        try:
            with self._watches.on("data", path) as watch:
                node = self._coordinator.get(path, watch)
        except NodeMissing:
            return 0.0
        if node.stat.owner == 0:
            self._ignored.add(name)  # made by hand: it would never go away by itself
            return 0.0
        self._front = node
        # A watch is lost with the connection.
        return min(_READ_AGAIN, self._coordinator.session_timeout / 3)

    def _first(self, path: str) -> Hold | float:
        claim = self._claim
        above = fencing.base(self._coordinator, self._layout)
        sent, wall = self._clock(), self._wall()
        paths = (path, witness(claim.base, claim.guid))
        stats = self._coordinator.confirm(paths)
        czxid = stats[0].czxid if stats[0] is not None else 0
        lease = Lease(path, czxid, claim.session)
        hold = Hold(self._name, claim.kind, claim.base, claim.guid, above + czxid, lease, paths[1])
        if hold.confirm(stats, sent, self._coordinator.session_timeout, wall):
            return hold
        self._begin_again()
        return 0.0

    def _not_free(self) -> CoordinationError:
        found = holder(self._front)
        return CoordinationError("E4070", f"{self._name} did not become free in time", found=found)


def holder(node: Node | None) -> str:
    if node is None:
        return "another claim"
    try:
        record = load(ClaimRecord, node.data)
    except CoordinationError:
        return "a claim whose content cannot be read"
    since = time.strftime("%H:%M:%S", time.localtime(record.since_ms / 1000))
    return f"in front of this claim: {record.by}, process {record.pid} on {record.host}, since {since}"
