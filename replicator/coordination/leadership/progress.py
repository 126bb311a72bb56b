"""Writes the progress of a term to lastCommit while the term lasts."""

from __future__ import annotations

import contextlib

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator, Op
from replicator.coordination.records import CommitRecord
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.position_history import MINUTE_MS, PositionHistory
from replicator.errors import CoordinationError, LeadershipLost, NodeExists, NodeMissing, VersionConflict
from replicator.model.checkpoint import Checkpoint

_TRIES = 3


class TermProgress:
    """One term's pen. Not thread-safe.

    Args:
        own: name of our contender node.
        epoch: its czxid.
        uid: of the task's incarnation.
        above, previous: see `epochs`.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        task: str,
        own: str,
        epoch: int,
        uid: str,
        host: str,
        *,
        above: int = 0,
        previous: int = 0,
    ) -> None:
        self._coordinator = coordinator
        self._commits = Commits(coordinator, layout)
        self._task = task
        self._own = own
        self._epoch = epoch
        self._uid = uid
        self._host = host
        self._above, self._previous = above, previous
        self._session = coordinator.session_id
        self._position_history = PositionHistory(coordinator, layout)
        self._noted_ms = 0
        self._before: Commit | None = None
        """lastCommit as we know it; None: read it first."""

    def save(self, checkpoint: Checkpoint) -> None:
        """Writes `checkpoint` under our own node and the version that we know.

        Raises:
            LeadershipLost: our node is gone or a later term writes.
            PositionBehind: E4012; nothing was written.
            CoordinationError: E4009, lastCommit is not understood.
            NotConnected: the outcome is unknown; call again with this or a later checkpoint.
        """
        for attempt in range(_TRIES):
            before = self._before if self._before is not None else self._read()
            self._before = None  # until the answer is there
            point = self._point(checkpoint) if attempt == 0 else ()
            try:
                self._before = self._commits.write(self._task, self._own, before, self._record(checkpoint), point)
                self._note(checkpoint, noted=bool(point))
                return
            except (VersionConflict, NodeMissing, NodeExists):
                # An answer that was lost, the agent's own write, or a lastCommit deleted by hand: read and go on.
                if attempt == _TRIES - 1:
                    raise

    def _due(self, checkpoint: Checkpoint) -> bool:
        return abs(checkpoint.time_ms - self._noted_ms) >= MINUTE_MS

    def _point(self, checkpoint: Checkpoint) -> tuple[Op, ...]:
        """Of the position history, for the same transaction; () where it takes more than that."""
        if not self._due(checkpoint):
            return ()
        with contextlib.suppress(CoordinationError):
            return self._position_history.next_point(self._task, checkpoint)
        return ()

    def _note(self, checkpoint: Checkpoint, *, noted: bool) -> None:
        """Once a minute. A point that can't be written is missed; the progress itself stands already."""
        if not self._due(checkpoint):
            return
        self._noted_ms = checkpoint.time_ms
        if noted:
            return
        with contextlib.suppress(CoordinationError):
            self._position_history.add(self._task, self._own, checkpoint)

    def _read(self) -> Commit:
        commit = self._commits.read(self._task)
        if commit.record is not None and commit.record.epoch != self._epoch:
            raise LeadershipLost(
                "E4008",
                f"lastCommit of '{self._task}' is from another term",
                found=f"epoch {commit.record.epoch}",
                wanted=f"epoch {self._epoch}",
            )
        return commit

    def _record(self, checkpoint: Checkpoint) -> CommitRecord:
        return CommitRecord(
            epoch=self._epoch,
            checkpoint=checkpoint,
            session=self._session,
            timeout_s=self._coordinator.session_timeout,
            uid=self._uid,
            host=self._host,
            above=self._above,
            previous=self._previous,
        )
