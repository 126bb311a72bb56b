"""Results of a verification."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from replicator.model.verification import Result, VerifiedTable, worst
from replicator.verify.compare import Verdict
from replicator.verify.repair import Action

_MOST_SHOWN: Final = 200


class Sample(msgspec.Struct, frozen=True):
    """A row that differs. `key`: name -> value of the key's columns, or of the first columns of a table without one;
    `columns`: that differ."""

    verdict: Verdict
    key: dict[str, str]
    columns: tuple[str, ...] = ()


class RepairedRow(msgspec.Struct, frozen=True):
    """A row that was written at the target. `key`: as in `Sample`."""

    action: Action
    key: dict[str, str]


class TableResult(msgspec.Struct):
    """
    Attributes:
        table, target: `database.table` at the source and at the target.
        key: columns by which rows were matched; empty: they were compared as a multiset of hashes.
        rows: of the source that were compared.
        missing, extra, different: rows that differ; of a table that was compared by hashes and has no key, a changed
            row is one missing and one extra row.
        changing: rows that differed in each round, each time otherwise; of topics also rows whose last record is not
            known.
        unrecorded: rows of the source that a topic has no record of, where they do not count as missing.
        not_compared: columns that are not compared, with the reason.
        written: rows that a repair wrote at the target; `repairs`: some of them.
        repaired: rows that differed and are equal since then.
        dry_run: what was written was rolled back.
        stopped: there are more differences than are counted.
        note: reason of a result that is neither `equal` nor `differs`; what is missing of the definition.
    """

    table: str
    target: str
    result: Result = "equal"
    key: tuple[str, ...] = ()
    rows: int = 0
    missing: int = 0
    extra: int = 0
    different: int = 0
    changing: int = 0
    unrecorded: int = 0
    seconds: float = 0.0
    samples: list[Sample] = []
    not_compared: dict[str, str] = {}
    stopped: bool = False
    written: int = 0
    repaired: int = 0
    repairs: list[RepairedRow] = []
    dry_run: bool = False
    note: str = ""

    @property
    def differences(self) -> int:
        return self.missing + self.extra + self.different

    def add_note(self, text: str) -> None:
        self.note = f"{self.note}; {text}" if self.note else text

    def kept(self, time_ms: int) -> VerifiedTable:
        """As it is kept of the last verification. `time_ms`: now."""
        counted = (self.rows, self.missing, self.extra, self.different, self.changing)
        return VerifiedTable(self.table, self.result, time_ms, *counted, self.repaired, self.note, self.unrecorded)

    def conclude(self) -> None:
        """Sets the result by what was counted."""
        if self.result == "equal":
            left = self.differences > self.repaired or self.stopped
            self.result = "differs" if left else "undecided" if self.changing else "equal"


def overall(results: Sequence[TableResult]) -> Result:
    """Of all tables: the worst one. `equal` also if tables were not compared."""
    return worst(each.result for each in results)


def shown(value: bytes | None) -> str:
    """A value of a key, for people."""
    if value is None:
        return "NULL"
    try:
        text = value.decode()
    except UnicodeDecodeError:
        text = ""
    if not text.isprintable() or (not text and value):
        text = f"0x{value.hex()}"
    return text if len(text) <= _MOST_SHOWN else text[:_MOST_SHOWN] + "..."
