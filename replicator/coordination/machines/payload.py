"""The payload of a machine znode, bounded in size whatever the number of tasks and their reports.

One node carries the figures of all tasks of a Core, and a znode holds 1 MB. Over the budget the record is reduced in
steps, the same for all its tasks: errors are cut, GTID sets are left out (lastCommit has them), then the activity of
workers (charts and metrics have gaps), then everything that no decision needs, at last the tasks for which the Core
only stands by. The node is written in any case: its presence is the sign of the Core's session.
"""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.coordination.compression import compressed, decompressed
from replicator.coordination.records import MachineRecord, TaskFigures, dump, load
from replicator.model.retrying import Retrying

BUDGET: Final = 200_000
"""Bytes, as written. ZooKeeper's limit is 1 MB, and each Core writes as much once a second."""
_FIX: Final = "Restart the Core of that host; its znode is then written again."
_STANDBY: Final = "standby"


class Step(msgspec.Struct, frozen=True):
    """What remains of a task's figures: `text` characters of each part of an error, of a GTID set, of a name;
    `names` late consumers; `activity` False: none; `figures` False: only what decisions and alarms need; `standbys`
    False: only tasks that the Core leads."""

    text: int
    names: int
    activity: bool = True
    figures: bool = True
    standbys: bool = True


STEPS: Final = (
    Step(1000, 50),
    Step(200, 5),
    Step(60, 1),
    Step(60, 1, activity=False),
    Step(60, 0, activity=False, figures=False),
    Step(60, 0, activity=False, figures=False, standbys=False),
)


def pack(record: MachineRecord) -> bytes:
    """The payload, at most BUDGET bytes; without any task where not even the last step fits."""
    for step in STEPS:
        tasks = {
            name: _reduced(figures, step)
            for name, figures in record.tasks.items()
            if step.standbys or figures.state != _STANDBY
        }
        data = compressed(dump(msgspec.structs.replace(record, tasks=tasks)))
        if len(data) <= BUDGET:
            return data
    return compressed(dump(msgspec.structs.replace(record, tasks={})))


def unpack(data: bytes, path: str) -> MachineRecord:
    """Raises CoordinationError E4009 or E4010."""
    return load(MachineRecord, decompressed(data, path, "MachineRecord", _FIX), path)


def _reduced(figures: TaskFigures, step: Step) -> TaskFigures:
    late = dict(list(figures.late_consumers.items())[: step.names])
    kept = msgspec.structs.replace(
        figures,
        position=cut(figures.position, step.text),
        gtid=figures.gtid if len(figures.gtid) <= step.text else "",
        certificate=cut(figures.certificate, step.text),
        late_consumers={cut(name, step.text): cut(said, step.text) for name, said in late.items()},
        error=_shortened(figures.error, step.text),
        config_error=_shortened(figures.config_error, step.text),
        retrying=_short_retrying(figures.retrying, step.text),
        activity=figures.activity if step.activity else None,
    )
    return kept if step.figures else _essential(kept)


def _shortened(error: dict[str, str] | None, most: int) -> dict[str, str] | None:
    return {key: cut(text, most) for key, text in error.items()} if error is not None else None


def _short_retrying(retrying: Retrying | None, most: int) -> Retrying | None:
    if retrying is None:
        return None
    texts = {name: cut(getattr(retrying, name), most) for name in ("what", "found", "fix", "effect")}
    return msgspec.structs.replace(retrying, **texts)


def _essential(figures: TaskFigures) -> TaskFigures:
    def code(error: dict[str, str] | None) -> dict[str, str] | None:
        return {"code": error.get("code", ""), "what": error.get("what", "")} if error is not None else None

    retrying = figures.retrying
    return TaskFigures(
        state=figures.state,
        guid=figures.guid,
        epoch=figures.epoch,
        since_ms=figures.since_ms,
        lag_s=figures.lag_s,
        lag_at_most=figures.lag_at_most,
        checkpoint_ms=figures.checkpoint_ms,
        reach=figures.reach,
        worker_pid=figures.worker_pid,
        error=code(figures.error),
        config_error=code(figures.config_error),
        retrying=msgspec.structs.replace(retrying, found="", fix="", effect="") if retrying is not None else None,
    )


def cut(text: str, most: int) -> str:
    """At most about `most` characters, with how many are missing."""
    return text if len(text) <= most else f"{text[:most]}... ({len(text) - most} more characters, see the Core's log)"
