"""Base class of formats that emit records for rows only and no messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from replicator.encode import snapshot_marker
from replicator.model.metadata_event import Message, Moment, Statement
from replicator.model.snapshot import SnapshotMoment
from replicator.model.snapshot_steps import SnapshotEnds, SnapshotStep
from replicator.pipeline.ports import Interest


class Silent:
    """A `ports.Narrator`, and what snapshots need beside it, without messages; formats override what they do write."""

    interests: frozenset[Interest] = frozenset()

    def statement(self, statement: Statement, moment: Moment) -> Sequence[Message]:
        return ()

    def begin(self, moment: Moment) -> Sequence[Message]:
        return ()

    def end(self, moment: Moment, rows: Mapping[tuple[str, str], int]) -> Sequence[Message]:
        return ()

    def query(self, text: str, moment: Moment) -> Sequence[Message]:
        return ()

    def heartbeat(self, moment: Moment) -> Sequence[Message]:
        return ()

    @property
    def defines_tables(self) -> bool:
        return False

    def snapshot_messages(self, step: SnapshotStep, topic: str, moment: SnapshotMoment) -> Iterable[Message]:
        """The one that says that it is complete, where a topic is configured."""
        return (snapshot_marker.record(step, topic),) if isinstance(step, SnapshotEnds) and topic else ()
