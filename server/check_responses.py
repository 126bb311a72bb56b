"""Response types of checks."""

from __future__ import annotations

from typing import Literal

import msgspec

from replicator.model.finding import Finding
from replicator.model.task_check import TaskCheck
from server.responses import View


class CheckResult(View, kw_only=True):
    """What the Core that leads the task has found when it last checked it.

    Attributes:
        checked: false before the first check of this incarnation of the task; everything else is empty then.
        result: the worst severity; `worst`: the first finding of it, null if all are ok.
        version: of the configuration that was checked.
        order: id of the command that ordered it, "" for the daily one.
        findings: without those about ZooKeeper; `left_out`: number of further ones, which are less severe.
    """

    kind: str = "TaskCheck"
    name: str
    checked: bool = False
    result: Literal["", "ok", "warn", "fail"] = ""
    worst: Finding | None = None
    version: int = -1
    host: str = ""
    began_ms: int = 0
    ended_ms: int = 0
    order: str = ""
    by: str = ""
    findings: list[Finding] = msgspec.field(default_factory=list)
    left_out: int = 0


def check_result(name: str, check: TaskCheck | None) -> CheckResult:
    if check is None:
        return CheckResult(name=name)
    return CheckResult(
        name=name,
        checked=True,
        result=check.result,
        worst=check.worst_finding,
        version=check.version,
        host=check.host,
        began_ms=check.began_ms,
        ended_ms=check.ended_ms,
        order=check.order,
        by=check.by,
        findings=list(check.findings),
        left_out=check.left_out,
    )
