"""The znodes of claims: created and removed so that none is left behind, also when an answer is lost."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.layout import claim_prefix, witness
from replicator.coordination.ports import Coordinator, Create, Delete, Op
from replicator.coordination.recipes.claims import Kind, of
from replicator.coordination.recipes.records import ClaimRecord
from replicator.coordination.records import dump
from replicator.errors import CoordinationError, NodeExists, NodeMissing


class Owner(msgspec.Struct, frozen=True):
    """Who has a claim, for people."""

    by: str
    host: str
    pid: int

    def record(self, timeout: float) -> ClaimRecord:
        return ClaimRecord(by=self.by, host=self.host, pid=self.pid, since_ms=now_ms(), timeout_s=timeout)


class Claim(msgspec.Struct, frozen=True):
    """A claim at the lock whose node is `base`. `session`: that it was made for; `owner`: None: the one of all claims
    of the process."""

    base: str
    kind: Kind
    guid: str
    session: int
    owner: Owner | None = None


class ClaimNodes:
    """Thread-safe.

    Args:
        clock: the lease clock.
    """

    def __init__(self, coordinator: Coordinator, owner: Owner, clock: Callable[[], float]) -> None:
        self.coordinator = coordinator
        self._owner = owner
        self._clock = clock
        self._lock = threading.Lock()
        self._abandoned: dict[Claim, float] = {}
        """Claims whose removal is not confirmed -> when to forget them."""

    def new(self, base: str, kind: Kind, owner: Owner | None = None) -> Claim:
        return Claim(base, kind, uuid.uuid4().hex, self.coordinator.session_id, owner)

    def names(self, base: str) -> list[str] | None:
        """None: there is no such lock."""
        try:
            return self.coordinator.children(base)
        except NodeMissing:
            return None

    def join(self, claim: Claim, names: list[str] | None) -> None:
        """Creates the claim at the end of the queue, unless it is there; to be found in the next `names`.

        The witness has no sequence number, so that the claim is created once, also when an answer was lost.

        Args:
            names: of the lock's children, None where there is no such node.
        """
        record = dump((claim.owner or self._owner).record(self.coordinator.session_timeout))
        prefix = claim_prefix(claim.base, claim.kind, claim.guid)
        ops: list[Op] = [
            Create(prefix, record, ephemeral=True, sequential=True),
            Create(witness(claim.base, claim.guid), ephemeral=True),
        ]
        if names is None:
            ops.insert(0, Create(claim.base))
        try:
            self.coordinator.multi(ops)
        except NodeExists:
            return  # another process has created the lock's node, or the claim is there
        except NodeMissing:
            if names is None:
                self._create_parent(claim.base)

    def _create_parent(self, base: str) -> None:
        try:
            self.coordinator.create(base.rpartition("/")[0], parents=True)
        except NodeExists:
            return

    def remove(self, claim: Claim) -> None:
        """Raises nothing: what can't be removed now goes with the session, or by `sweep`."""
        try:
            for _ in range(3):
                if self._removed(claim):
                    return
        except CoordinationError:
            with self._lock:
                self._abandoned.setdefault(claim, self._clock() + self.coordinator.session_timeout)

    def _removed(self, claim: Claim) -> bool:
        """The last one also removes the lock's node, so that none is left of names that are used once. The sequence
        then begins again; tokens are czxids, and rise nevertheless."""
        names = self.names(claim.base) or []
        own = of(names, claim.guid)
        if not own:
            return True
        ops: list[Op] = [Delete(f"{claim.base}/{name}") for name in own]
        if len(own) == len(names):
            ops.append(Delete(claim.base))
        try:
            self.coordinator.multi(ops)
        except (NodeExists, NodeMissing):
            return False
        return True

    def sweep(self) -> None:
        """Removes what `remove` could not. A request whose answer was lost may still arrive: it is looked for until its
        session has ended, or for the length of one."""
        with self._lock:
            waiting = list(self._abandoned.items())
        for claim, until in waiting:
            ended = claim.session != self.coordinator.session_id
            if not ended:
                self.remove(claim)
            if ended or self._clock() > until:
                with self._lock:
                    self._abandoned.pop(claim, None)
