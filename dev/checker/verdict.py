"""The checks over a history. Each names what it found, so that a planted fault is distinguished from any other."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from dev.checker.history import Change, Role, Seen, Transaction

_SHOWN = 5


class Verdict(msgspec.Struct):
    """Findings as readable lines; empty lists mean that nothing is wrong. `committed`: changes whose commit is known;
    `delivered`: those of them that were seen; `overlap_s`: seconds in which two emitted."""

    committed: int = 0
    delivered: int = 0
    lost: list[str] = []
    duplicated: list[str] = []
    reordered: list[str] = []
    stale: list[str] = []
    torn: list[str] = []
    phantom: list[str] = []
    overlap: list[str] = []
    regressed: list[str] = []
    differing: list[str] = []
    overlap_s: float = 0.0

    @property
    def clean(self) -> bool:
        """Nothing lost, repeated, reordered, torn or invented."""
        return not any(findings for _, findings in self.findings())

    def findings(self) -> list[tuple[str, list[str]]]:
        names = ("lost", "duplicated", "reordered", "stale", "torn", "phantom", "overlap", "regressed", "differing")
        return [(name, getattr(self, name)) for name in names]

    def __str__(self) -> str:
        lines = [f"committed {self.committed}, delivered {self.delivered}"]
        for name, findings in self.findings():
            if findings:
                lines.append(f"{name} {len(findings)}: " + "; ".join(findings[:_SHOWN]))
        return "\n".join(lines)


def judge(
    journal: Iterable[Transaction],
    seen: Iterable[Seen],
    *,
    roles: Sequence[Role] = (),
    checkpoints: Sequence[tuple[str, int] | None] = (),
) -> Verdict:
    """Checks `seen` against `journal`.

    Args:
        journal: in commit order of one writer, or of several with disjoint keys.
        seen: in any order; it is sorted by (topic, partition, offset).
        roles: intervals of effective emission.
        checkpoints: (file, offset) in the order in which they were stored; None where the task was made again.
    """
    case = Case()
    for record in sorted(seen, key=lambda record: (record.topic, record.partition, record.offset)):
        case.see(record)
    return case.close(journal, roles=roles, checkpoints=checkpoints)


_SEEN, _WRITTEN = 1, 2


class Case:
    """Judges while a run goes on. Of each change it keeps a byte, so that millions of them cost little.

    Records of one partition have to come in the order of their offsets.
    """

    def __init__(self) -> None:
        self._verdict = Verdict()
        self._marks: dict[int, bytearray] = defaultdict(bytearray)  # key -> by counter, what is known of the change
        self._highest: dict[int, int] = defaultdict(int)
        self._home: dict[int, tuple[str, int]] = {}
        self._epochs: dict[tuple[str, int], int] = defaultdict(int)

    def see(self, record: Seen) -> None:
        """One that a consumer got."""
        self._epoch(record)
        key, counter = record.key, record.counter
        home = self._home.setdefault(key, (record.topic, record.partition))
        if home != (record.topic, record.partition):
            self._verdict.reordered.append(f"{_where(record)}: the key is in two partitions")
        if self._marked(key, counter) & _SEEN:
            self._verdict.duplicated.append(_where(record))
            return
        self._mark(key, counter, _SEEN)
        if counter < self._highest[key]:
            self._verdict.reordered.append(f"{_where(record)}: after counter {self._highest[key]}")
        else:
            self._highest[key] = counter

    def expect(self, journal: Iterable[Transaction]) -> None:
        """What was committed; `missing` then counts how much of it has not been seen yet."""
        for transaction in journal:
            if transaction.outcome == "committed":
                for change in transaction.changes:
                    self._mark(change.key, change.counter, _WRITTEN)

    def missing(self) -> int:
        return sum(marks.count(_WRITTEN) for marks in self._marks.values())

    def close(
        self,
        journal: Iterable[Transaction],
        *,
        roles: Sequence[Role] = (),
        checkpoints: Sequence[tuple[str, int] | None] = (),
    ) -> Verdict:
        """The verdict; everything has been seen that ever will be."""
        for transaction in journal:
            self._presence(transaction)
        self._verdict.phantom += [
            f"key {key} counter {counter} was never written"
            for key, marks in sorted(self._marks.items())
            for counter, mark in enumerate(marks)
            if mark == _SEEN
        ]
        _overlaps(roles, self._verdict)
        for before, after in itertools.pairwise(checkpoints):
            if before is not None and after is not None and after < before:
                self._verdict.regressed.append(f"checkpoint went from {before} back to {after}")
        return self._verdict

    def _marked(self, key: int, counter: int) -> int:
        marks = self._marks[key]
        return marks[counter] if counter < len(marks) else 0

    def _mark(self, key: int, counter: int, bit: int) -> None:
        marks = self._marks[key]
        if counter >= len(marks):
            marks.extend(bytes(counter + 1 - len(marks)))
        marks[counter] |= bit

    def _presence(self, transaction: Transaction) -> None:
        verdict, changes = self._verdict, transaction.changes
        present = [bool(self._marked(change.key, change.counter) & _SEEN) for change in changes]
        for change in changes:
            self._mark(change.key, change.counter, _WRITTEN)
        if transaction.outcome == "committed":
            verdict.committed += len(changes)
            verdict.delivered += sum(present)
            verdict.lost += [_name(change) for change, there in zip(changes, present, strict=True) if not there]
        elif transaction.outcome == "rolled back" and any(present):
            verdict.phantom.append(f"transaction {transaction.number} was rolled back and yet seen")
        if any(present) and not all(present):
            verdict.torn.append(f"transaction {transaction.number}: {sum(present)} of {len(present)} changes")

    def _epoch(self, record: Seen) -> None:
        place = (record.topic, record.partition)
        highest = self._epochs[place]
        if record.epoch < highest:
            self._verdict.stale.append(f"epoch {record.epoch} after {highest} at {_offset(record)}")
        else:
            self._epochs[place] = record.epoch


def _where(record: Seen) -> str:
    return f"key {record.key} counter {record.counter} at {_offset(record)}"


def _offset(record: Seen) -> str:
    return f"{record.topic}/{record.partition}@{record.offset}"


def _overlaps(roles: Sequence[Role], verdict: Verdict) -> None:
    """Two processes at once, be it under the same term."""
    for role, later in itertools.combinations(sorted(roles, key=lambda role: role.begin), 2):
        both = min(role.end, later.end) - later.begin
        if both > 0 and later.instance != role.instance:
            verdict.overlap_s += both
            verdict.overlap.append(f"{role.instance} and {later.instance} both emitted for {both * 1000:.0f} ms")


def rebuilt(rows: Iterable[tuple[int, dict[str, object] | None]]) -> dict[int, dict[str, object]]:
    """The table that a consumer ends up with: last value per key, None deletes."""
    table: dict[int, dict[str, object]] = {}
    for key, value in rows:
        if value is None:
            table.pop(key, None)
        else:
            table[key] = value
    return table


def compare(expected: dict[int, dict[str, object]], actual: dict[int, dict[str, object]]) -> list[str]:
    """Differences between the table at the source and the one rebuilt from the topic."""
    lines = [f"row {key} is missing" for key in sorted(expected.keys() - actual.keys())]
    lines += [f"row {key} should not be there" for key in sorted(actual.keys() - expected.keys())]
    for key in sorted(expected.keys() & actual.keys()):
        if expected[key] != actual[key]:
            lines.append(f"row {key}: {expected[key]} became {actual[key]}")
    return lines


def _name(change: Change) -> str:
    return f"{change.op} of key {change.key} counter {change.counter}"
