"""The lease thread: confirms the election znodes of this Core every T/6 and extends the leases of those that exist.

Nothing else runs in this thread and all nodes are asked for in one pipelined exchange, so that no amount of other work
makes a lease run out.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Final, Protocol

from replicator.coordination.leadership.grace import margin
from replicator.coordination.leadership.lease import Lease
from replicator.coordination.ports import Connection, Coordinator, Stat
from replicator.errors import LeadershipLost, NotConnected
from replicator.model import lease_clock

CHECKS_PER_TIMEOUT = 6
_LOOK_SECONDS: Final = 0.25


class Extensible(Protocol):
    def extend(self, deadline: float, wall_deadline: float = math.inf) -> None: ...


class LeaseRenewal:
    """Args:
    over: called with a task whose node is gone, from this thread; must not block.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        over: Callable[[str], None],
        clock: Callable[[], float] = lease_clock.now,
        wall: Callable[[], float] = lease_clock.wall,
    ) -> None:
        self._coordinator = coordinator
        self._over = over
        self._clock = clock
        self._wall = wall
        self._ahead = wall() - clock()  # of the lease clock, when it was looked at last
        self._lock = threading.Lock()
        self._held: dict[str, tuple[Lease, Extensible | None]] = {}
        self._kick = threading.Event()
        self._stopped = False
        self._thread = threading.Thread(target=self._run, name="leases", daemon=True)

    def start(self) -> None:
        self._coordinator.on_connection(self._on_connection)
        self._thread.start()

    def begin(self, task: str, path: str, epoch: int) -> Lease:
        """The first confirmation, which a worker needs before it starts.

        Raises LeadershipLost when the node is gone, NotConnected.
        """
        lease = Lease(path, epoch, self._coordinator.session_id)
        sent, wall = self._clock(), self._wall()
        stat = self._coordinator.confirm([path])[0]
        if not lease.confirm(stat, sent, self._coordinator.session_timeout, wall):
            raise LeadershipLost("E4008", f"the election znode of this process for '{task}' is gone")
        with self._lock:
            self._held[task] = (lease, None)
        return lease

    def attach(self, task: str, worker: Extensible) -> None:
        """The worker whose lease it is; it gets what was confirmed while it was being started."""
        with self._lock:
            held = self._held.get(task)
            if held is None:
                worker.extend(0.0)
                return
            self._held[task] = (held[0], worker)
            worker.extend(held[0].deadline, held[0].wall_deadline)

    def drop(self, task: str) -> None:
        """Ends a lease for good."""
        with self._lock:
            held = self._held.pop(task, None)
            if held is not None:
                _end(*held)

    def left(self, task: str) -> float:
        """Seconds of lease left, 0.0 at least."""
        with self._lock:
            held = self._held.get(task)
            return max(0.0, held[0].deadline - self._clock()) if held else 0.0

    def least(self, task: str) -> float:
        """The fewest seconds that were left of the lease when it was renewed, in this whole term, or that are left now;
        half a session timeout on a machine that is never late."""
        with self._lock:
            held = self._held.get(task)
            return max(0.0, min(held[0].least, held[0].deadline - self._clock())) if held else 0.0

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for held in self._held.values():
                _end(*held)
            self._held.clear()
        self._kick.set()
        self._thread.join(timeout=5)

    def _on_connection(self, state: Connection) -> None:
        """In the coordinator's thread. A lost session ends every lease at once; a connection that is back is used at
        once."""
        if state is Connection.LOST:
            with self._lock:
                for held in self._held.values():
                    _end(*held)
        elif state is Connection.CONNECTED:
            self._kick.set()

    def _run(self) -> None:
        due = 0.0
        while not self._stopped:
            kicked = self._kick.wait(min(_LOOK_SECONDS, max(0.0, due - self._clock())))
            self._kick.clear()
            if kicked or self._clock() >= due or self._jumped():
                due = self._clock() + self._coordinator.session_timeout / CHECKS_PER_TIMEOUT
                self._round()

    def _jumped(self) -> bool:
        """Whether the wall clock has gone further than the lease clock since the last look: workers wait then until
        their leases are confirmed."""
        before, self._ahead = self._ahead, self._wall() - self._clock()
        return self._ahead - before > margin(self._coordinator.session_timeout)

    def _round(self) -> None:
        with self._lock:
            held = {task: lease for task, (lease, _) in self._held.items() if not lease.over}
        if not held:
            return
        sent, wall = self._clock(), self._wall()
        try:
            stats = self._coordinator.confirm([lease.path for lease in held.values()])
        except NotConnected:
            return  # the leases run on to their ends
        timeout = self._coordinator.session_timeout
        gone = [
            task
            for (task, lease), stat in zip(held.items(), stats, strict=True)
            if not self._confirm(task, lease, stat, timeout, sent, wall)
        ]
        for task in gone:
            self._over(task)

    def _confirm(self, task: str, lease: Lease, stat: Stat | None, timeout: float, sent: float, wall: float) -> bool:
        """False when the term is over. One step under the lock: a lease that was ended is never extended again."""
        with self._lock:
            current = self._held.get(task)
            if current is None or current[0] is not lease:
                return True  # ended meanwhile, by ourselves
            lease.answered(self._clock())
            good = lease.confirm(stat, sent, timeout, wall)
            if current[1] is not None:
                current[1].extend(lease.deadline, lease.wall_deadline)
            return good


def _end(lease: Lease, worker: Extensible | None) -> None:
    lease.end()
    if worker is not None:
        worker.extend(0.0)
