"""Conflicts at a target, counted by policy and kind: at most one entry for each pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TypeAlias

import msgspec


class ConflictCount(msgspec.Struct, frozen=True):
    """`policy`, `kind`: those of `replicator docs targets conflicts`."""

    policy: str
    kind: str
    count: int


ConflictCounts: TypeAlias = tuple[ConflictCount, ...]
"""In the order of policy and kind."""


def counted(pairs: Iterable[tuple[str, str]]) -> ConflictCounts:
    """`pairs`: policy and kind of each conflict."""
    return _of(Counter(pairs))


def added(one: ConflictCounts, other: ConflictCounts) -> ConflictCounts:
    if not one or not other:
        return one or other
    return _of(_counter(one) + _counter(other))


def since(now: ConflictCounts, before: ConflictCounts) -> ConflictCounts:
    """`now` without `before`, which it grew from."""
    return () if now is before else _of(_counter(now) - _counter(before))


def total(counts: ConflictCounts) -> int:
    return sum(each.count for each in counts)


def _counter(counts: ConflictCounts) -> Counter[tuple[str, str]]:
    return Counter({(each.policy, each.kind): each.count for each in counts})


def _of(counter: Counter[tuple[str, str]]) -> ConflictCounts:
    return tuple(ConflictCount(*pair, count) for pair, count in sorted(counter.items()))
