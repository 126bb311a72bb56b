"""Locks of people who edit a task: `replicator task edit` holds one while its editor is open.

A Server holds the claim in its own session for the process that asks for it, and gives it up when that process has not
repeated its request for LEASE_S. The claim ends with the Server's session, too; a repeated request then gets another
one, from any Server.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

import msgspec

from replicator.coordination.clock import utc
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes import fencing
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.recipes.overview import ClaimView, claims_at
from replicator.coordination.recipes.removal import remove_claim
from replicator.errors import CoordinationError

LEASE_S: Final = 30.0
SELF: Final = Owner(by="server", host="", pid=0)


class _Held(msgspec.Struct):
    """`until`: on the clock of the Server, where the request is not repeated."""

    hold: Hold
    owner: Owner
    until: float


def lock_name(task: str) -> str:
    """As `replicator lock ls` shows it."""
    return f"task/{task}/edit"


class EditLocks:
    """Thread-safe. Every method but `expire` raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout, clock: Callable[[], float] = time.monotonic) -> None:
        self._coordinator, self._layout, self._clock = coordinator, layout, clock
        self._locks = Locks(coordinator, layout, SELF)
        self._lock = threading.Lock()
        self._held: dict[str, _Held] = {}

    def holder(self, task: str) -> ClaimView | None:
        """None: nobody edits it."""
        views = claims_at(self._coordinator, self._base(task), fencing.base(self._coordinator, self._layout))
        return next((view for view in views if view.state == "held"), None)

    def begin(self, task: str, owner: Owner, *, force: bool = False) -> ClaimView:
        """Takes the lock, or confirms that the owner has it: to be repeated within LEASE_S.

        Args:
            force: end the claim of another process first, which can't write under its token any more.

        Raises CoordinationError E4077, another process has it.
        """
        with self._lock:
            self._locks.keep()
            held = self._held.get(task)
            if held is not None and held.owner == owner and held.hold.valid():
                held.until = self._clock() + LEASE_S
                found = self.holder(task)
                if found is not None and found.path == held.hold.paths[0]:
                    return found
            if held is not None and (held.owner == owner or not held.hold.valid() or self._clock() > held.until):
                self._release(task, held)
            present = self.holder(task)
            if present is not None and (force or _owner(present) == owner):  # its own: another Server had it
                remove_claim(self._coordinator, present.path)
                if task in self._held:
                    self._release(task, self._held[task])
            elif present is not None:
                raise held_by(task, present)
            return self._acquire(task, owner)

    def _acquire(self, task: str, owner: Owner) -> ClaimView:
        name = f"the lock to edit '{task}'"
        try:
            hold = self._locks.acquire_at(self._base(task), name, "exclusive", 0, owner=owner)
        except CoordinationError as error:
            present = self.holder(task) if error.code == "E4070" else None
            if present is None:
                raise
            raise held_by(task, present) from None
        self._held[task] = _Held(hold, owner, self._clock() + LEASE_S)
        found = self.holder(task)
        if found is None or found.path != hold.paths[0]:
            raise lost(task, hold.token)
        return found

    def end(self, task: str, owner: Owner) -> None:
        """Fine where the owner does not have it."""
        with self._lock:
            held = self._held.get(task)
            if held is not None and held.owner == owner:
                self._release(task, held)
                return
        present = self.holder(task)
        if present is not None and _owner(present) == owner:
            remove_claim(self._coordinator, present.path)

    def proof(self, task: str, token: int) -> str:
        """The znode that exists as long as the holder of this token may write. Raises CoordinationError E4078."""
        found = self.holder(task)
        if found is None or found.token != token:
            raise lost(task, token, found)
        return found.path

    def expire(self) -> None:
        """Gives up the locks whose owners are silent. Raises nothing."""
        with self._lock:
            for task, held in list(self._held.items()):
                if self._clock() > held.until or held.hold.lease.over:
                    self._release(task, held)
            self._locks.keep()

    def _release(self, task: str, held: _Held) -> None:
        self._locks.release(held.hold)
        del self._held[task]

    def _base(self, task: str) -> str:
        return self._layout.lock(lock_name(task))


def _owner(view: ClaimView) -> Owner:
    return Owner(by=view.by, host=view.host, pid=view.pid)


def held_by(task: str, view: ClaimView) -> CoordinationError:
    found = f"{view.by or 'another process'}, on {view.host or 'an unknown host'}, since {utc(view.since_ms)}"
    return CoordinationError("E4077", f"task '{task}' is being edited", found=found)


def lost(task: str, token: int, view: ClaimView | None = None) -> CoordinationError:
    found = "no lock" if view is None else f"{view.by} edits it on {view.host} since {utc(view.since_ms)}"
    return CoordinationError(
        "E4078", f"the lock to edit '{task}' was lost", found=found, wanted=f"token {token}" if token else "the lock"
    )
