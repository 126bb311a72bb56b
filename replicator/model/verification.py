"""The last verification of a task, as it is kept in ZooKeeper and shown. Times in ms since the epoch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, Literal, TypeAlias

import msgspec

Result: TypeAlias = Literal["equal", "differs", "undecided", "not_compared", "error"]
"""`undecided`: rows changed in every round of rechecks; `not_compared`: the task's configuration makes the target hold
other rows than the source."""
RESULTS: Final[tuple[Result, ...]] = ("error", "differs", "undecided", "not_compared", "equal")
"""The worst first."""
MOST_TABLES: Final = 500
"""That are kept one by one: some 100 kB."""
_NOTE: Final = 200


class VerifiedTable(msgspec.Struct, frozen=True, omit_defaults=True):
    """The verdict on one table of the source. `time_ms`: of the end of its comparison; rows: see `TableResult`.
    `differences`: that were not repaired."""

    table: str
    result: Result
    time_ms: int
    rows: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    changing: int = 0
    repaired: int = 0
    note: str = ""
    unrecorded: int = 0

    @property
    def differences(self) -> int:
        return self.missing + self.extra + self.different - self.repaired


class VerificationReport(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a verifier reports at its end.

    Attributes:
        uid, version: of the task and of its configuration, as they were when it began.
        whole: all tables of the task were compared; False: those of `tables` only.
        omitted: tables that were compared and are not in `tables`; none of them is worse than these.
    """

    uid: str
    version: int
    whole: bool
    began_ms: int
    ended_ms: int
    host: str = ""
    tables: tuple[VerifiedTable, ...]
    omitted: int = 0


class Verification(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """
    Attributes:
        uid: of the task's incarnation.
        version: of the configuration that was verified.
        result: the worst of all tables; tables that are not compared do not count.
        began_ms, ended_ms, host, by: of the last verification, which may have been of some of the tables.
        whole_ms: end of the last one of all tables, 0 without one.
        equal_ms: end of the last one that found all tables equal, 0 without one.
        tables: the worst first.
        omitted: tables that are not in `tables`; none of them is worse than these.
    """

    uid: str
    version: int
    result: Result
    began_ms: int
    ended_ms: int
    host: str = ""
    by: str = ""
    whole_ms: int = 0
    equal_ms: int = 0
    tables: tuple[VerifiedTable, ...] = ()
    omitted: int = 0

    @property
    def differing(self) -> tuple[VerifiedTable, ...]:
        return tuple(each for each in self.tables if each.result == "differs")

    def count(self, result: Result) -> int:
        """Tables with a result. Those that are omitted have the best one of `tables`."""
        counted = sum(each.result == result for each in self.tables)
        return counted + (self.omitted if self.tables and self.tables[-1].result == result else 0)


def worst(results: Iterable[Result]) -> Result:
    """`equal` also if tables were not compared."""
    found = set(results)
    return next((each for each in ("error", "differs", "undecided") if each in found), "equal")


def limited(tables: Iterable[VerifiedTable]) -> tuple[tuple[VerifiedTable, ...], int]:
    """As many as are kept, the worst first, with short notes; and how many are left out."""
    ordered = sorted(tables, key=lambda each: (RESULTS.index(each.result), each.table))
    kept = (msgspec.structs.replace(each, note=each.note[:_NOTE]) for each in ordered[:MOST_TABLES])
    return tuple(kept), max(len(ordered) - MOST_TABLES, 0)


def merged(before: Verification | None, report: VerificationReport, by: str) -> Verification:
    """`before` with the verdicts of `report`. A report of some tables leaves the verdicts on others as they are, if the
    configuration is the same."""
    former = before if before and (before.uid, before.version) == (report.uid, report.version) else None
    told = {each.table for each in report.tables}
    others: Sequence[VerifiedTable] = ()
    if former is not None and not report.whole:
        others = [each for each in former.tables if each.table not in told]
    tables, cut = limited((*report.tables, *others))
    omitted = report.omitted + (former.omitted if former and not report.whole else 0)
    result = worst(each.result for each in tables)
    kept = before if before and before.uid == report.uid else None
    whole_ms = report.ended_ms if report.whole else (kept.whole_ms if kept else 0)
    is_equal = report.whole and result == "equal"
    return Verification(
        uid=report.uid,
        version=report.version,
        result=result,
        began_ms=report.began_ms,
        ended_ms=report.ended_ms,
        host=report.host[:100],
        by=by,
        whole_ms=whole_ms,
        equal_ms=report.ended_ms if is_equal else (kept.equal_ms if kept else 0),
        tables=tables,
        omitted=omitted + cut,
    )
