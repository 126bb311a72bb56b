"""Locks: exclusive or shared, first come first served, reentrant, with a lease and a fencing token.

`Locks` are those of one owner over one session. The owner may use a lock while `Hold.valid()`, and has to stop before
it calls `release`. `keep` confirms all of them; `keeper.Keeper` calls it every T/6.
"""

from __future__ import annotations

import threading
from collections.abc import Callable

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Stat
from replicator.coordination.recipes.claim_nodes import Claim, ClaimNodes, Owner
from replicator.coordination.recipes.claims import Kind
from replicator.coordination.recipes.hold import Hold, end_with_session, lost
from replicator.coordination.recipes.names import checked
from replicator.coordination.recipes.waiting import Waiting
from replicator.errors import CoordinationError, NotConnected
from replicator.model import lease_clock


class Locks:
    """Thread-safe; all threads are one owner. A lock that it has is acquired again at once, and released with the last
    `release`."""

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        owner: Owner,
        *,
        clock: Callable[[], float] = lease_clock.now,
        wall: Callable[[], float] = lease_clock.wall,
    ) -> None:
        self._coordinator = coordinator
        self._layout = layout
        self._clock = clock
        self._wall = wall
        self._nodes = ClaimNodes(coordinator, owner, clock)
        self._lock = threading.RLock()
        self._held: dict[str, Hold] = {}
        end_with_session(coordinator, self._holds)

    def _holds(self) -> list[Hold]:
        with self._lock:
            return list(self._held.values())

    def acquire(
        self,
        name: str,
        kind: Kind = "exclusive",
        wait: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> Hold:
        """
        Args:
            wait: seconds, None for ever. 0 asks once.
            cancelled: asked after each pause, of a second at most; gives up when it is true.

        Raises:
            CoordinationError: E4070 not free in time, E4071 this owner has lost it and has not released it, E4072 this
                owner has it shared.
            ProcessError: E5140 a name that no lock can have.
            NotConnected: there is no connection at the end of the wait.
        """
        return self.acquire_at(self._layout.lock(checked(name, "lock")), f"the lock '{name}'", kind, wait, cancelled)

    def acquire_at(
        self,
        base: str,
        name: str,
        kind: Kind,
        wait: float | None = None,
        cancelled: Callable[[], bool] = lambda: False,
        owner: Owner | None = None,
    ) -> Hold:
        """`base`: the node of the lock; `name`: for people; `owner`: whom the claim names, where a process holds locks
        for several people."""
        held = self._again(base, kind)
        if held is not None:
            return held
        until = None if wait is None else self._clock() + wait
        waiting = Waiting(self._nodes, self._layout, base, name, kind, until, cancelled, self._clock, self._wall, owner)
        hold = waiting.run()
        with self._lock:
            if self._again(base, kind) is None:
                self._held[base] = hold
                if hold.lease.session != self._coordinator.session_id:
                    hold.end()  # the session has just ended
                return hold
        self._nodes.remove(self._claim(hold))  # two threads had asked for it, shared
        return self._held[base]

    def _again(self, base: str, kind: Kind) -> Hold | None:
        with self._lock:
            held = self._held.get(base)
            if held is None:
                return None
            if not held.valid(self._clock, self._wall):
                raise lost(held.name)
            if held.kind == "shared" and kind == "exclusive":
                raise CoordinationError(
                    "E4072",
                    f"{held.name} is held shared by this owner, which now requests it exclusively",
                    found="two owners that do so would wait for each other for ever",
                )
            held.count += 1
            return held

    def release(self, hold: Hold) -> None:
        """Raises nothing: what can't be removed now goes with the session, or with a later `keep`."""
        with self._lock:
            hold.count -= 1
            if hold.count > 0:
                return
            hold.lease.end()
            if self._held.get(hold.base) is hold:
                del self._held[hold.base]
        self._nodes.remove(self._claim(hold))

    @staticmethod
    def _claim(hold: Hold) -> Claim:
        return Claim(hold.base, hold.kind, hold.guid, hold.lease.session)

    def keep(self) -> None:
        """Confirms all that is held, in one exchange. Raises nothing: a lease that is not confirmed ends by itself."""
        with self._lock:
            held = list(self._held.values())
        confirm(self._coordinator, held, self._clock, self._wall)
        self._nodes.sweep()

    def close(self) -> None:
        with self._lock:
            held = list(self._held.values())
        for hold in held:
            hold.count = 1
            self.release(hold)


def confirm(coordinator: Coordinator, holds: list[Hold], clock: Callable[[], float], wall: Callable[[], float]) -> None:
    """Raises nothing."""
    sent, sent_wall, timeout = clock(), wall(), coordinator.session_timeout
    try:
        paths = [path for hold in holds for path in hold.paths]
        stats: list[Stat | None] = coordinator.confirm(paths) if paths else []
    except NotConnected:
        return
    for hold in holds:
        own, stats = stats[: len(hold.paths)], stats[len(hold.paths) :]
        hold.confirm(own, sent, timeout, sent_wall)
