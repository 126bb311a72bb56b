"""The epoch as sinks and consumers see it: the czxid of the term's znode, raised above any epoch that a sink holds.

czxids only rise as long as ZooKeeper keeps its state. One that was put back to an earlier state gives lower ones than
stand at the sinks already; lastCommit then remembers the epoch that the next ones have to be above.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.coordination.records import CommitRecord
from replicator.model.checkpoint import with_unseen

RESTORED: Final = 1
"""`CommitRecord.epoch` of a lastCommit that was restored from a backup: the czxid of no znode, as a session has to be
created before the first one, and below all of them."""
_JUMP: Final = 1 << 44
"""Above the last epoch of a backup. The upper half of a czxid counts the elections of ZooKeeper's leader, so this
leaves room for 4096 of them after the backup; and 500 restores stay within the 53 bits that every consumer can read."""


def sink_epoch(czxid: int, above: int) -> int:
    return above + czxid


def opened(last: CommitRecord | None, czxid: int) -> tuple[int, int]:
    """(above, previous) of the term that opens after `last`; previous: the epoch of the term before it, 0: not known.
    `last` is that very term's own where the answer to its opening was lost."""
    if last is None:
        return 0, 0
    if last.epoch == czxid:
        return last.above, last.previous
    return last.above, sink_epoch(last.epoch, last.above) if last.epoch else 0


def taken_over(found: int, czxid: int, above: int) -> int:
    """The new `above`, where an operator says that the epoch `found` at the sink is of a term before ours. It is above
    our own epochs so far, too: they only ever rise."""
    return max(found, sink_epoch(czxid, above))


def restored(record: CommitRecord, zxid: int) -> CommitRecord:
    """lastCommit as a backup has it, for a tree whose czxids begin again: the epochs of its next terms are above those
    of every term before, also of the terms after the backup.

    Whoever had the last term may still run under a lease: as nothing is known of it, the next term waits for its end.

    Args:
        zxid: the last transaction that the backup has seen.
    """
    above = max(sink_epoch(record.epoch, record.above), zxid) + _JUMP
    checkpoint = with_unseen(record.checkpoint) if record.checkpoint is not None else None
    return msgspec.structs.replace(
        record, epoch=RESTORED, checkpoint=checkpoint, above=above, previous=0, released=False, successor="", session=0
    )
