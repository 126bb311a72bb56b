"""What the Core that leads a task has found when it last checked whether the task can run."""

from __future__ import annotations

from typing import Final

import msgspec

from monitor.task_pages.tab import Asked
from monitor.task_pages.task_nodes import TaskNodes
from replicator.model.finding import Finding
from replicator.model.task_check import TaskCheck

_RANK: Final = {"fail": 0, "warn": 1, "ok": 2}
_OVERDUE_MS: Final = 26 * 3_600_000
"""A check comes once a day; a Core that takes the task over does it some minutes later."""


class Checks(msgspec.Struct, frozen=True):
    """check: None before the first one; result: its worst severity, "" without; findings: the worst first; outdated: of
    another version of the configuration; overdue: longer ago than a day; `read_ms`, `error`: see `Read`."""

    check: TaskCheck | None
    result: str
    findings: tuple[Finding, ...]
    outdated: bool
    overdue: bool
    read_ms: int
    error: dict[str, str] | None


class ChecksTab:
    key, title, every_s = "checks", "Checks", 2.0

    def __init__(self, nodes: TaskNodes) -> None:
        self._nodes = nodes

    async def content(self, asked: Asked) -> Checks:
        read = await self._nodes.check(asked.task)
        check = read.value
        if check is None:
            return Checks(None, "", (), False, False, read.read_ms, read.error)
        return Checks(
            check,
            check.result,
            tuple(sorted(check.findings, key=lambda one: _RANK[one.severity])),
            check.version != asked.task.config_version,
            asked.now_ms - check.ended_ms > _OVERDUE_MS,
            read.read_ms,
            read.error,
        )
