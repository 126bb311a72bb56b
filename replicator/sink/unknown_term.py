"""Detects a position at a sink that no term of the task's history can have written."""

from __future__ import annotations

from replicator.errors import UnknownTerm
from replicator.model.term import Term


def refuse_unknown(term: Term, epoch: int, by: str) -> None:
    """Raises UnknownTerm E3111, unless a position of that epoch may be of this task's own history.

    Args:
        by: who wrote it, when and where, for people.
    """
    if term.knows(epoch):
        return
    before = f", or the previous one, {term.previous}" if term.previous is not None else ""
    error = UnknownTerm(
        "E3111",
        f"the position of '{term.task}' at the sink was written in a term that ZooKeeper does not know",
        found=f"epoch {epoch}, by {by}",
        wanted=f"this epoch, {term.epoch}{before}",
        fix="If ZooKeeper was restored to an earlier state and no other process runs this task: `replicator task retry "
        f"{term.task} --take-over`. If a copy of this ZooKeeper is in use, stop the Cores of one of them first.",
    )
    error.epoch = epoch
    raise error
