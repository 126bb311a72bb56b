"""The checks over a history. Each names what it found, so that a planted fault is told from any other."""

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
    journal: Sequence[Transaction],
    seen: Sequence[Seen],
    *,
    roles: Sequence[Role] = (),
    checkpoints: Sequence[tuple[str, int]] = (),
) -> Verdict:
    """Checks `seen` against `journal`.

    Args:
        journal: in commit order of one writer, or of several with disjoint keys.
        seen: in any order; it is sorted by (topic, partition, offset).
        roles: intervals of effective emission.
        checkpoints: (file, offset) in the order in which they were stored.
    """
    verdict = Verdict()
    ordered = sorted(seen, key=lambda record: (record.topic, record.partition, record.offset))
    found = {(record.key, record.counter) for record in ordered}
    _presence(journal, found, verdict)
    _order(ordered, verdict)
    _epochs(ordered, verdict)
    _overlaps(roles, verdict)
    for before, after in itertools.pairwise(checkpoints):
        if after < before:
            verdict.regressed.append(f"checkpoint went from {before} back to {after}")
    return verdict


def _presence(journal: Sequence[Transaction], found: set[tuple[int, int]], verdict: Verdict) -> None:
    known: set[tuple[int, int]] = set()
    for transaction in journal:
        names = [(change.key, change.counter) for change in transaction.changes]
        known.update(names)
        present = [name in found for name in names]
        if transaction.outcome == "committed":
            verdict.committed += len(names)
            verdict.delivered += sum(present)
            verdict.lost += [
                _name(change) for change, there in zip(transaction.changes, present, strict=True) if not there
            ]
        elif transaction.outcome == "rolled back" and any(present):
            verdict.phantom.append(f"transaction {transaction.number} was rolled back and yet seen")
        if any(present) and not all(present):
            verdict.torn.append(f"transaction {transaction.number}: {sum(present)} of {len(present)} changes")
    verdict.phantom += [f"key {key} counter {counter} was never written" for key, counter in sorted(found - known)]


def _order(ordered: Sequence[Seen], verdict: Verdict) -> None:
    highest: dict[int, int] = defaultdict(int)
    passed: set[tuple[int, int]] = set()
    place: dict[int, tuple[str, int]] = {}
    for record in ordered:
        name = (record.key, record.counter)
        where = f"key {record.key} counter {record.counter} at {record.topic}/{record.partition}@{record.offset}"
        home = place.setdefault(record.key, (record.topic, record.partition))
        if home != (record.topic, record.partition):
            verdict.reordered.append(f"{where}: the key is in two partitions")
        if name in passed:
            verdict.duplicated.append(where)
            continue
        passed.add(name)
        if record.counter < highest[record.key]:
            verdict.reordered.append(f"{where}: after counter {highest[record.key]}")
        highest[record.key] = max(highest[record.key], record.counter)


def _epochs(ordered: Iterable[Seen], verdict: Verdict) -> None:
    highest: dict[tuple[str, int], int] = defaultdict(int)
    for record in ordered:
        place = (record.topic, record.partition)
        if record.epoch < highest[place]:
            verdict.stale.append(
                f"epoch {record.epoch} after {highest[place]} at {record.topic}/{record.partition}@{record.offset}"
            )
        highest[place] = max(highest[place], record.epoch)


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
