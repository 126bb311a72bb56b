"""The nightly verification of a task: its order, which a Server gives and a Core obeys, and who is due."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from replicator.model.position import Position
from replicator.model.verification import VerifiedTable

Stage: TypeAlias = Literal["ordered", "running", "done", "incomplete", "interrupted", "failed", "skipped"]
"""`incomplete`: max_hours were over before the last table; `interrupted`: the task or its Core did not go on;
`failed`: an error, in `note`."""
MOST_ATTEMPTS: Final = 3
DAY_MS: Final = 86_400_000
_NOTE: Final = 500


class VerifyOrder(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Attributes:
        uid: of the task's incarnation.
        date: in UTC, for which it was ordered.
        not_before_ms: wall clock at which it may begin.
        by: host of the Server that ordered it.
        own, host: contender node and host of the Core that runs it, or ran it last.
        attempts: Cores that have begun it.
        note: reason of a stage that is neither of success nor of progress.
    """

    uid: str
    date: str
    stage: Stage
    not_before_ms: int = 0
    by: str = ""
    own: str = ""
    host: str = ""
    began_ms: int = 0
    ended_ms: int = 0
    attempts: int = 0
    note: str = ""

    def ended(self, stage: Stage, now_ms: int, note: str = "") -> VerifyOrder:
        return msgspec.structs.replace(self, stage=stage, ended_ms=now_ms, note=note[:_NOTE])


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a verification found. `tables`: that were compared; `omitted`: as in `VerificationReport`; `whole`: all
    tables were compared; `stage`: "done", "incomplete" or "failed"."""

    stage: Stage
    note: str = ""
    tables: tuple[VerifiedTable, ...] = ()
    omitted: int = 0
    whole: bool = False


class Candidate(msgspec.Struct, frozen=True, kw_only=True):
    """A task as a Server sees it. `config`: None, it has none or it is not understood; `state`: of its leader."""

    uid: str
    config: Mapping[str, Any] | None
    desired: str
    state: str


def wanted(config: Mapping[str, Any] | None) -> bool:
    return bool(_options(config).get("nightly"))


def order_for(
    task: Candidate, last: VerifyOrder | None, date: str, midnight_ms: int, now_ms: int
) -> VerifyOrder | None:
    """The order of `date`, or the note that the task is skipped. None: it is not wanted, was ordered already, or that
    of the day before is at work.

    Args:
        last: what the task's node has.
        midnight_ms: at which `date` begins.
        now_ms: the earliest time at which it may begin.
    """
    if not wanted(task.config):
        return None
    running = task.desired == "running" and task.state == "running"
    if last is not None and last.uid == task.uid and (last.date >= date or (last.stage == "running" and running)):
        return None
    made = VerifyOrder(uid=task.uid, date=date, stage="ordered")
    if not running:
        why = task.desired if task.desired != "running" else task.state
        reason = "no Core runs the task" if why == "absent" else f"the task is {why}"
        return made.ended("skipped", now_ms, reason)
    hours, minutes = str(_options(task.config).get("at", "00:00")).split(":")
    begin = midnight_ms + (int(hours) * 60 + int(minutes)) * 60_000
    return msgspec.structs.replace(made, not_before_ms=max(begin, now_ms))


def snapshot_open(position: Position | None) -> bool:
    """Rows of a snapshot are still to be delivered."""
    found = position.snapshot if position is not None else None
    return found is not None and not found.ended_ms


def _options(config: Mapping[str, Any] | None) -> Mapping[str, Any]:
    found = (config or {}).get("verify")
    return found if isinstance(found, Mapping) else {}
