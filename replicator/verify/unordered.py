"""Compares two tables that have no common order, as multisets of hashes of their rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

import msgspec

from replicator.mysql import chunk_query
from replicator.verify.buckets import Balance, Sums, changed, chosen, hash_of, hash_of_packet, persistent
from replicator.verify.compare import Comparison, Row
from replicator.verify.replication import Waiter
from replicator.verify.side import Selected, Side
from replicator.verify.table_pair import TablePair

_ROUNDS: Final = 6
_ENOUGH: Final = 3
"""Rounds in which the same rows were left, while the source changes."""
_UNCHANGED: Final = 2
"""The same of a source that does not change."""
_MOST_HASHES: Final = 500_000
"""That are kept while rows are looked at: about 100 MB."""
_PAUSES_S: Final = (0.0, 0.5, 1.0, 2.0)


class Left(msgspec.Struct):
    """
    Attributes:
        rows: of the source.
        hashes: of rows that differ: positive: missing at the target, negative: extra there; with their number.
        samples: some of these rows.
        changed: two of these hashes of each row that both sides have under one key.
        changing: rows that differed in each round, each time others.
        complete: there are no more than these.
    """

    rows: int
    hashes: dict[bytes, int] = {}
    samples: dict[bytes, Row] = {}
    changed: list[tuple[bytes, bytes]] = []
    changing: int = 0
    complete: bool = True


class UnorderedTables:
    """
    Args:
        advanced: called with the number of rows that were read of the source.
        throttle: called with a number of rows of the source and when they were asked for; it may take its time.
    """

    def __init__(
        self,
        source: Side,
        target: Side,
        pair: TablePair,
        waiter: Waiter,
        advanced: Callable[[int], None],
        throttle: Callable[[int, float], None],
    ) -> None:
        self._source, self._target, self._pair, self._waiter = source, target, pair, waiter
        self._advanced, self._throttle = advanced, throttle
        self._comparison = Comparison((), pair.documents)
        self._as_sent = False

    def compare(self, sleep: Callable[[float], None] = time.sleep) -> Left:
        """Each side is read once; again only the rows of buckets that differ are looked at. Raises TableAltered; errors
        of either side."""
        self._as_sent = not self._pair.documents and self._types(self._source) == self._types(self._target)
        mine, its = Sums(), Sums()
        for hashes, _, _ in self._hashes(self._source, tell=True):
            for digest in hashes:
                mine.add(digest)
        for hashes, _, _ in self._hashes(self._target):
            for digest in hashes:
                its.add(digest)
        unequal = mine.unequal(its)
        if not unequal:
            return Left(mine.rows)
        buckets = chosen(unequal, _MOST_HASHES)
        former: dict[bytes, int] = {}
        seen = 0
        for number in range(_ROUNDS):
            sleep(_PAUSES_S[min(number, len(_PAUSES_S) - 1)])
            left, unchanged = self._balance(buckets)
            again = persistent(former, left.left)
            seen, former = (seen + 1, again) if again else (1, left.left)
            if not former or seen >= (_UNCHANGED if unchanged else _ENOUGH):
                pairs = changed(former, left.keys)
                return Left(mine.rows, former, left.rows, pairs, 0, len(buckets) == len(unequal))
        return Left(mine.rows, changing=sum(abs(count) for count in former.values()))

    def _balance(self, buckets: frozenset[int]) -> tuple[Balance, bool]:
        balance = Balance(buckets, self._pair.source.key.columns if self._pair.source.key else ())
        before = self._waiter.end()
        for hashes, packets, parse in self._hashes(self._source):
            for digest, packet in zip(hashes, packets, strict=True):
                balance.source(partial(parse, packet), digest)
        self._waiter.wait(self._waiter.end())
        for hashes, packets, parse in self._hashes(self._target):
            for digest, packet in zip(hashes, packets, strict=True):
                balance.target(partial(parse, packet), digest)
        return balance, self._waiter.end() == before

    def _hashes(
        self, side: Side, *, tell: bool = False
    ) -> Iterator[tuple[list[bytes], list[bytes], Callable[[bytes], Row]]]:
        """Hashes of rows, their packets, and what splits these into values."""
        begun = time.monotonic()
        selected = self._select(side, "")
        for packets in selected.packets():
            if self._as_sent:
                yield [hash_of_packet(packet) for packet in packets], packets, selected.parse
            else:
                canonical, parse = self._comparison.canonical, selected.parse
                yield [hash_of(canonical(parse(packet))) for packet in packets], packets, parse
            if tell:
                self._advanced(len(packets))
            if side is self._source:
                self._throttle(len(packets), begun)
                begun = time.monotonic()

    def _types(self, side: Side) -> tuple[int, ...]:
        selected = self._select(side, " LIMIT 0")
        for _ in selected.packets():
            pass
        return selected.types

    def _select(self, side: Side, limit: str) -> Selected:
        own = side is self._source
        table = self._pair.source if own else self._pair.target
        sql = chunk_query.whole(table, self._pair.where if own else self._pair.target_where)
        return side.read(table, sql + limit, self._pair.integers)
