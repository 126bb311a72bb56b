"""What the Core that runs a task has found when it last checked whether the task can run."""

from __future__ import annotations

from typing import Final

import msgspec

from replicator.model.finding import Finding, Severity, worst

MOST_FINDINGS: Final = 100
_MOST_TEXT: Final = 1000
_RANK: Final = {"fail": 0, "warn": 1, "ok": 2}


class TaskCheck(msgspec.Struct, frozen=True, kw_only=True):
    """The findings of one check.

    Attributes:
        uid, version: of the task's incarnation and configuration that was checked.
        host: whose network and secrets it was checked with.
        began_ms, ended_ms: wall clock of that host.
        order: id of the command that ordered it, "" for the daily one; by: who ordered it.
        findings: as `replicator check` has them; those about ZooKeeper are not among them.
        left_out: number of findings that were too many, the least severe ones.
    """

    uid: str
    version: int
    host: str
    began_ms: int
    ended_ms: int
    order: str = ""
    by: str = ""
    findings: tuple[Finding, ...] = ()
    left_out: int = 0

    @property
    def result(self) -> Severity:
        return worst(list(self.findings))

    @property
    def worst_finding(self) -> Finding | None:
        """The first one of the worst severity; None where all are ok."""
        found = sorted((one for one in self.findings if one.severity != "ok"), key=lambda one: _RANK[one.severity])
        return found[0] if found else None

    def count(self, severity: Severity) -> int:
        return sum(finding.severity == severity for finding in self.findings)


def fitting(findings: list[Finding]) -> tuple[tuple[Finding, ...], int]:
    """Those that a znode has room for, the worst ones in their order, and how many were left out."""
    kept = sorted(range(len(findings)), key=lambda at: (_RANK[findings[at].severity], at))[:MOST_FINDINGS]
    return tuple(_cut(findings[at]) for at in sorted(kept)), len(findings) - len(kept)


def _cut(finding: Finding) -> Finding:
    texts = {name: _shortened(getattr(finding, name)) for name in ("found", "wanted", "fix")}
    return msgspec.structs.replace(finding, **texts)


def _shortened(text: str) -> str:
    return text if len(text) <= _MOST_TEXT else text[: _MOST_TEXT - 3] + "..."
