"""Judges the records of a task with a snapshot: order within each key, how often each change came, the last rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from dev.snapshots.journal import Journal
from dev.snapshots.seen import Key, Row, Seen, key_of, table_of, version_of

MOST = 8
"""Findings of a kind that are told."""


class Last(msgspec.Struct):
    """What was last seen of a key."""

    version: int
    alive: bool
    read: bool


class Verdict(msgspec.Struct):
    """
    Attributes:
        findings: kind -> what was wrong.
        rows: of all tables, as a consumer has them at the end: key -> row.
        read: rows of snapshots; streamed: changes.
    """

    findings: dict[str, list[str]] = msgspec.field(default_factory=dict)
    rows: dict[Key, Row] = msgspec.field(default_factory=dict)
    read: int = 0
    streamed: int = 0

    def add(self, kind: str, text: str) -> None:
        self.findings.setdefault(kind, []).append(text)

    def lines(self) -> list[str]:
        return [f"{kind} {len(found)}: {'; '.join(found[:MOST])}" for kind, found in sorted(self.findings.items())]


def judge(seen: Iterable[Seen], journal: Journal, *, since: int = 0, once: bool = True) -> Verdict:
    """
    Args:
        seen: in the order of the topic.
        since: the version as of which the stream must have every change; earlier ones may be before its beginning.
        once: exactly_once; else records may be repeated, and only the last rows are judged by `compare`.
    """
    course = _Course(journal)
    for number, change in enumerate(seen):
        course.take(number, change)
    verdict = course.verdict
    if not once:
        verdict.findings.clear()
    else:
        _judge_counts(verdict, course.images, journal, since)
    for key in [key for key, row in verdict.rows.items() if version_of(row) < _emptied(journal, key[0])]:
        del verdict.rows[key]
    return verdict


def _emptied(journal: Journal, table: int) -> int:
    return max(journal.emptied.get(table, ()), default=0)


class _Course:
    def __init__(self, journal: Journal) -> None:
        self.verdict = Verdict()
        self.images: Counter[int] = Counter()
        self._journal = journal
        self._last: dict[Key, Last] = {}
        self._read: dict[tuple[str, Key], int] = {}
        self._newest: dict[int, int] = {}
        self._origins: set[tuple[str, bytes, bytes]] = set()

    def take(self, number: int, change: Seen) -> None:
        origin = (change.kind, *change.origin)  # a change of the key is a delete and a create of one row
        if origin in self._origins:
            self.verdict.add("duplicated", f"#{number} {change}")
        self._origins.add(origin)
        if change.kind == "empty":
            return
        if change.kind == "read":
            self.verdict.read += 1
            assert change.after is not None
            self._take_read(number, change, change.after)
            return
        self.verdict.streamed += 1
        if change.before is not None:
            self._take_before(number, change, change.before)
        if change.after is not None:
            self.images[version_of(change.after)] += 1
            self._take_after(number, change, change.after)

    def _take_read(self, number: int, change: Seen, row: Row) -> None:
        key, version = key_of(row), version_of(row)
        last = self._last.get(key)
        if last is not None and version < last.version:
            self.verdict.add("older row of a snapshot", f"#{number} {key} v{version} after v{last.version}")
        elif last is not None and not last.alive and version <= last.version:
            self.verdict.add("deleted row of a snapshot", f"#{number} {key} v{version}")
        if self._of_before(table_of(row), version):
            self.verdict.add("row from before its table was emptied", f"#{number} {key} v{version}")
        before = self._read.get((change.name, key))
        if before is not None and key[0] not in self._journal.again:
            self.verdict.add("read twice", f"#{number} and #{before} {change.name} {key} v{version}")
        self._read[change.name, key] = number
        self._set(key, row, read=True)

    def _of_before(self, table: int, version: int) -> bool:
        """It is of before the table was emptied, and rows from behind that have come."""
        newest = self._newest.get(table, 0)
        return any(version < emptied < newest for emptied in self._journal.emptied.get(table, ()))

    def _take_before(self, number: int, change: Seen, row: Row) -> None:
        """An image before a change must be the last one: else a change of the row is missing."""
        key, version = key_of(row), version_of(row)
        last = self._last.get(key)
        if last is not None and not self._emptied_between(key[0], last.version, version):
            if version < last.version:
                what = "older change behind a row of a snapshot" if last.read else "older change"
                self.verdict.add(what, f"#{number} {change.kind} {key} of v{version} after v{last.version}")
            elif version != last.version or not last.alive:
                self.verdict.add("missing change", f"#{number} {change.kind} {key} of v{version}, known was {last}")
        self._last[key] = Last(version, alive=False, read=False)
        self.verdict.rows.pop(key, None)

    def _emptied_between(self, table: int, low: int, high: int) -> bool:
        return any(low < emptied < high for emptied in self._journal.emptied.get(table, ()))

    def _take_after(self, number: int, change: Seen, row: Row) -> None:
        key, version = key_of(row), version_of(row)
        last = self._last.get(key)
        if last is not None and version <= last.version:
            what = "change behind its row of a snapshot" if last.read else "older change"
            self.verdict.add(what, f"#{number} {key} v{version} after v{last.version}")
        elif last is not None and last.alive and not self._emptied_between(key[0], last.version, version):
            self.verdict.add("missing change", f"#{number} {key} v{version} made, but it was there with {last}")
        if self._of_before(table_of(row), version):
            self.verdict.add("row from before its table was emptied", f"#{number} {key} v{version}")
        self._set(key, row, read=False)

    def _set(self, key: Key, row: Row, *, read: bool) -> None:
        version = version_of(row)
        self._last[key] = Last(version, alive=True, read=read)
        self._newest[key[0]] = max(version, self._newest.get(key[0], 0))
        self.verdict.rows[key] = row


def _judge_counts(verdict: Verdict, images: Counter[int], journal: Journal, since: int) -> None:
    for version, change in journal.changed.items():
        found = images.pop(version, 0)
        if found > change.rows or (found < change.rows and change.outcome == "committed" and version >= since):
            kind = "change came too often" if found > change.rows else "change is missing"
            verdict.add(kind, f"v{version} of table {change.table}: {found} of {change.rows} rows")
        elif change.outcome == "unknown" and found not in (0, change.rows):
            verdict.add("part of a transaction", f"v{version} of table {change.table}: {found} of {change.rows} rows")
    for version in images:
        verdict.add("change that was not committed", f"v{version}: {images[version]} rows")


def compare(verdict: Verdict, truth: dict[Key, Row], journal: Journal) -> None:
    """Adds differences to the rows of a snapshot of the last state, column for column."""
    for key in truth.keys() - verdict.rows.keys():
        verdict.add("row is missing", f"{key} v{version_of(truth[key])}")
    for key in verdict.rows.keys() - truth.keys():
        verdict.add("row too many", f"{key} v{version_of(verdict.rows[key])}")
    for key in truth.keys() & verdict.rows.keys():
        ours, theirs = verdict.rows[key], truth[key]
        version = version_of(ours)
        for column, value in theirs.items():
            if journal.altered.get((key[0], column), 0) > version:
                continue
            if column not in ours or ours[column] != value:
                verdict.add("other value", f"{key} v{version} {column}: {ours.get(column)!r}, not {value!r}")


def compare_versions(verdict: Verdict, selected: Iterable[tuple[int, int]]) -> None:
    """Adds differences to what another client selects: (table, version) of all rows."""
    found = Counter((key[0], version_of(row)) for key, row in verdict.rows.items())
    truth = Counter(selected)
    for (table, version), count in (truth - found).items():
        verdict.add("row is missing (selected)", f"{count} of table {table} v{version}")
    for (table, version), count in (found - truth).items():
        verdict.add("row too many (selected)", f"{count} of table {table} v{version}")
