"""Response types of the API for cut-overs."""

from __future__ import annotations

import msgspec

from replicator.coordination.cutovers.cutover_records import Party
from replicator.coordination.cutovers.store import CutoverNode
from server.responses import View


class CutoverTask(msgspec.Struct, kw_only=True):
    """A task of a cut-over. `source`: tasks with the same one stop at the same position; `goal`: where, `reached`:
    where it has stopped, "" for not yet; `gtid`: of `reached`; `problem`: why it can't take part."""

    task: str
    state: str
    source: str = ""
    goal: str = ""
    reached: str = ""
    gtid: str = ""
    problem: str = ""


class CutoverEntry(msgspec.Struct, kw_only=True):
    """A cut-over. `id`: "" for a dry run; `phase`: stopping, aligning, reached or failed; times are ms since the epoch,
    0 for not yet; `resume`: the tasks continue when all have stopped; `keep`: those that have stopped stay paused when
    it fails; `code`, `found`: why it has failed."""

    id: str
    phase: str
    by: str
    reason: str
    began_ms: int
    deadline_ms: int
    ended_ms: int
    resume: bool
    keep: bool
    cancelled_by: str
    code: str
    found: str
    tasks: list[CutoverTask]


class Cutover(CutoverEntry, kw_only=True, rename={"api_version": "apiVersion"}):
    api_version: str = "v1"
    kind: str = "Cutover"


class CutoverList(View, kw_only=True):
    kind: str = "CutoverList"
    items: list[CutoverEntry]


def cutover(node: CutoverNode) -> Cutover:
    record = node.record
    return Cutover(
        id=node.id,
        phase=record.phase,
        by=record.by,
        reason=record.reason,
        began_ms=record.began_ms,
        deadline_ms=record.deadline_ms,
        ended_ms=record.ended_ms,
        resume=record.resume,
        keep=record.keep,
        cancelled_by=record.cancelled_by,
        code=record.code,
        found=record.found,
        tasks=[_task(party) for party in record.parties],
    )


def _task(party: Party) -> CutoverTask:
    return CutoverTask(
        task=party.task,
        state=party.state,
        source=party.source,
        goal=str(party.goal) if party.goal is not None else "",
        reached=str(party.reached) if party.reached is not None else "",
        gtid=party.reached.gtid if party.reached is not None else "",
        problem=party.problem,
    )
