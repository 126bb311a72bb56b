"""One finding of `replicator check`: what was checked, found and expected, and how to fix it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

from replicator.errors import ReplicatorError

Severity: TypeAlias = Literal["ok", "warn", "fail"]


class Finding(msgspec.Struct, frozen=True):
    """Attributes:
    id: `AREA.TOPIC`, stable over releases, e.g. `source.binlog_format`, `sink.reachable`, `zookeeper.timeout`.
    severity: ok; warn: it runs, with a risk; fail: the task can't run or would lose rows.
    found: what was seen, in a few words.
    wanted: what should be there; may be empty when `severity` is ok.
    fix: the statement, option or command that corrects it; empty when `severity` is ok.
    """

    id: str
    severity: Severity
    found: str
    wanted: str = ""
    fix: str = ""

    @classmethod
    def ok(cls, id: str, found: str, wanted: str = "") -> Finding:  # noqa: A002
        return cls(id, "ok", found, wanted)

    @classmethod
    def of_error(cls, id: str, error: ReplicatorError) -> Finding:  # noqa: A002
        """A failed check, with the error that the task itself would stop with."""
        found = f"{error.code} {error.what}" + (f": {error.found}" if error.found else "")
        return cls(id, "fail", found, error.wanted, error.fix)


def worst(findings: list[Finding]) -> Severity:
    """The severity of the whole: `fail` beats `warn` beats `ok`."""
    seen = {finding.severity for finding in findings}
    if "fail" in seen:
        return "fail"
    return "warn" if "warn" in seen else "ok"


def listed(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
