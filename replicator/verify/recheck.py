"""Decides which of the rows that differed once differ for good. No server is involved.

The source and its target are read at two moments. A difference is real when it persists behind the replication: at the
second look if the source did not change meanwhile and the target had all of it, else when one pair of unequal values
was seen in several rounds in succession, each after the target had passed the source's position.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.verify.compare import Comparison, Difference, KeyValue, Row

ROUNDS: Final = 5
"""In which a pair of unequal values has to be the same while the source changes."""
_UNCHANGED_ROUNDS: Final = 2
"""The same of a source that does not change: the rows are read again once, as a server may show a commit late."""
_WHOLE: Final = -1
"""Instead of a column's index: the row itself, which is only at one side."""

Rows: TypeAlias = Mapping[KeyValue, Row]


class _Seen(msgspec.Struct):
    values: tuple[object, object]
    rounds: int = 1


class Recheck:
    """Args:
    suspects: rows that differed when they were read first.
    rounds: see `ROUNDS`.
    """

    def __init__(self, comparison: Comparison, suspects: Sequence[Difference], rounds: int = ROUNDS) -> None:
        self._comparison, self._rounds = comparison, rounds
        self._open: dict[KeyValue, dict[int, _Seen]] = {each.key: self._seen(each) for each in suspects}
        self._last: dict[KeyValue, tuple[Row | None, Row | None]] = {
            each.key: (each.source, each.target) for each in suspects
        }
        self.real: list[Difference] = []

    @property
    def keys(self) -> list[KeyValue]:
        """Of rows that are not decided."""
        return list(self._open)

    @property
    def changing(self) -> list[Difference]:
        """Not decided: each round saw other values."""
        return [Difference(key, *self._last[key]) for key in self._open]

    def round(self, source: Rows, target: Rows, *, unchanged: bool) -> None:
        """What both sides have now, read after each other. `unchanged`: the source was the same all the time, and the
        target had passed it."""
        for key in self.keys:
            mine, its = source.get(key), target.get(key)
            self._last[key] = mine, its
            seen, now = self._open[key], self._seen(Difference(key, mine, its))
            for place, each in now.items():
                before = seen.get(place)
                if before is not None and before.values == each.values:
                    each.rounds = before.rounds + 1
            if not now:
                del self._open[key]
            elif any(each.rounds >= (_UNCHANGED_ROUNDS if unchanged else self._rounds) for each in now.values()):
                self.real.append(Difference(key, mine, its))
                del self._open[key]
            else:
                self._open[key] = now

    def _seen(self, difference: Difference) -> dict[int, _Seen]:
        """Unequal values by column."""
        mine, its = difference.source, difference.target
        if mine is None and its is None:
            return {}
        if mine is None or its is None:
            return {_WHOLE: _Seen((mine is None, its is None))}
        return {index: _Seen((mine[index], its[index])) for index in self._comparison.columns(mine, its)}
