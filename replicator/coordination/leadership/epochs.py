"""The epoch as sinks and consumers see it: the czxid of the term's znode, raised above any epoch that a sink holds.

czxids only rise as long as ZooKeeper keeps its state. One that was put back to an earlier state gives lower ones than
stand at the sinks already; lastCommit then remembers the epoch that the next ones have to be above.
"""

from __future__ import annotations

from replicator.coordination.records import CommitRecord


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
