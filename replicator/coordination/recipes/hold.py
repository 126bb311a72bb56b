"""A lock, or the item of a queue, that is held under a lease."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Sequence

from replicator.coordination.leadership.lease import Lease
from replicator.coordination.ports import Connection, Coordinator, Stat
from replicator.coordination.recipes.claims import Kind
from replicator.errors import CoordinationError
from replicator.model import lease_clock


def end_with_session(coordinator: Coordinator, held: Callable[[], Iterable[Hold]]) -> None:
    """A session that has ended takes with it all that it held, whatever is left of the leases. `held`: called in the
    coordinator's thread."""

    def changed(state: Connection) -> None:
        if state is Connection.LOST:
            for hold in held():
                hold.end()

    coordinator.on_connection(changed)


class Hold:
    """What its owner may use while it is valid.

    Attributes:
        token: fencing token; rises from each holder to the next.
        paths: znodes that prove it; the first one is the claim, whose czxid is that of the lease.
        count: how often the owner has acquired it and not released.
        over: set when the claim is known to be gone; the lease may end before.
    """

    def __init__(self, name: str, kind: Kind, base: str, guid: str, token: int, lease: Lease, *more: str) -> None:
        self.name = name
        self.kind: Kind = kind
        self.base = base
        self.guid = guid
        self.token = token
        self.lease = lease
        self.paths = (lease.path, *more)
        self.count = 1
        self.over = threading.Event()

    def valid(self, clock: Callable[[], float] = lease_clock.now, wall: Callable[[], float] = lease_clock.wall) -> bool:
        """No other owner has it, and none gets it within T/3. The wall clock is a second witness, for a host that was
        suspended without its clock counting that."""
        return clock() < self.lease.deadline and wall() < self.lease.wall_deadline

    def confirm(self, stats: Sequence[Stat | None], sent: float, timeout: float, wall: float) -> bool:
        """`stats`: of `paths`, from a request that was sent then. Returns False when it is over."""
        if None in stats[1:]:
            self.lease.end()
        if not self.lease.confirm(stats[0], sent, timeout, wall):
            self.over.set()
        return not self.lease.over

    def end(self) -> None:
        """It is known to be gone."""
        self.lease.end()
        self.over.set()


def lost(what: str) -> CoordinationError:
    return CoordinationError("E4071", f"{what} was lost", found="the session has ended, or the znode of the claim")
