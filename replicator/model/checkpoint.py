"""The checkpoint: the stored progress of a task."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Place, Position
from replicator.model.quarantine import Quarantined

ApplyMode: TypeAlias = Literal["binlog", "sql"]
"""Row images in a BINLOG statement, or SQL statements."""


class Checkpoint(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything up to `position` is delivered and acknowledged.

    Attributes:
        position: where the next term resumes.
        epoch: term that wrote it.
        time_ms: wall clock of the writer, ms; only shown, never decided upon.
        source_ms: commit time at the source of the last delivered transaction, ms; 0 when unknown.
        rows, transactions: delivered since the task was made.
        dead_letters: of these rows' records, those that went to the dead letters for their size.
        in_sink: the sink held `position`, or a later one, when this was written; False: it holds none, or an older one;
            None: an earlier version wrote this, and did not say, or an operator has set the position since.
        conflicts: rows at the sink that were not what the source says they were, since the task was made.
        skipped: transactions that were left out because a task has written them (`source.skip_replicated`).
        conflict_counts: of these by policy and kind; those that earlier versions have counted are not in it.
        by_sql: the sink writes rows by SQL statements instead of row images.
        quarantined: tables that are or were left out; those that are over first, each in the order of its beginning.
    """

    position: Position
    epoch: int = 0
    time_ms: int = 0
    source_ms: int = 0
    rows: int = 0
    transactions: int = 0
    dead_letters: int = 0
    quarantined: tuple[Quarantined, ...] = ()
    in_sink: bool | None = None
    conflicts: int = 0
    skipped: int = 0
    by_sql: bool = False
    conflict_counts: ConflictCounts = ()


def apply_mode(checkpoint: Checkpoint | None, sink: str) -> ApplyMode | None:
    """How rows are written at a target that is a database; None: not known yet, or another sink. `sink`: its type."""
    if checkpoint is None or sink not in ("mysql", "mariadb"):
        return None
    return "sql" if checkpoint.by_sql else "binlog"


def with_unseen(checkpoint: Checkpoint) -> Checkpoint:
    """As restored from a backup: of what comes behind its position, and was delivered since, nothing else is known. A
    session that begins at the sink's later position reads the statements in between."""
    position = checkpoint.position
    if position.topics or position.unseen is not None:
        return checkpoint
    place = Place(position.file, position.offset, position.gtid, position.server)
    return msgspec.structs.replace(checkpoint, position=msgspec.structs.replace(position, unseen=place))
