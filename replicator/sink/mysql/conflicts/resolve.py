"""Decides how changes are applied whose row at the target is not what the source says it was. Pure code.

A `Rows` has the rows of one table at the target, as far as changes may meet them, and follows what is executed: a later
change of a row finds what an earlier one has left. Changes are seen in the order of the source, one by one, so that the
decisions do not depend on how transactions are grouped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, Literal, TypeAlias

import msgspec

from replicator.sink.mysql.image_values import Change, Layout, Values, values

Policy: TypeAlias = Literal["stop", "source_wins", "newest_wins", "keep_target", "dead_letter"]
Kind: TypeAlias = Literal["missing", "exists", "different", "unique"]
"""A changed or deleted row is not there; an inserted one is there already; a row has other values; another row has a
value of a unique key."""
Decision: TypeAlias = Literal["source", "target"]
"""Whose row is there afterwards."""
Key: TypeAlias = Values
"""Values of a key's columns, as `Rules.folded` makes them equal."""


class Rule(msgspec.Struct, frozen=True):
    """
    Attributes:
        policy: for conflicts of a table.
        column: index in the images of the column that newest_wins compares.
        reads_first: rows are read before each transaction; else only where the server has refused one, and a row that
            differs is no conflict, as it is noticed by chance.
        recorded: they are counted and recorded.
        completes: rows may not be there yet, which is no conflict; nor is the row of a snapshot that is there already.
    """

    policy: Policy
    column: int = -1
    reads_first: bool = True
    recorded: bool = True
    completes: bool = False


CONVERGE: Final = Rule("source_wins", recorded=False)
"""For changes of tables whose rows are not complete at the target: what the source says is made so."""
REPLACE: Final = Rule("source_wins", reads_first=False, recorded=False)
KEEP: Final = Rule("keep_target", reads_first=False, recorded=False)
"""For inserts that are expected to find nothing; what is there is replaced, or stays as it is."""
COMPLETE: Final = Rule("stop", recorded=False, completes=True)
MISSING: Final = Rule("stop", reads_first=False, recorded=False, completes=True)
"""As `CONVERGE` and `REPLACE`, for tables that are merged into one: another row that is there may be one of another
table."""


class Comparison(msgspec.Struct, frozen=True):
    """How rows of one table are told apart.

    Attributes:
        layout: of the images.
        uniques: columns of each unique key besides the primary key.
        folded: (column, value) -> the same bytes for values that the column's collation takes for equal.
        same: (column, one value, another) -> whether they are equal although their bytes differ.
        rank: (column, value) -> what newest_wins compares.
    """

    layout: Layout
    uniques: tuple[tuple[int, ...], ...]
    folded: Callable[[int, bytes], bytes]
    same: Callable[[int, bytes, bytes], bool]
    rank: Callable[[int, bytes | None], int]


class Conflict(msgspec.Struct, frozen=True):
    """
    Attributes:
        kind: see `Kind`.
        rule: of the table.
        decision: made by it.
        expected: image before of the source's change; None: of an insert.
        found: at the target; None: there is no such row.
        new: image after of the source's change; None: of a delete.
    """

    kind: Kind
    rule: Rule
    decision: Decision
    expected: bytes | None
    found: bytes | None
    new: bytes | None


class TableRows:
    """Rows of one table at the target, by their keys. `found`: images of all rows that changes may meet."""

    def __init__(self, comparison: Comparison, found: Iterable[bytes] = ()) -> None:
        self._comparison = comparison
        self._rows: dict[Key, bytes] = {}
        self._owners: dict[tuple[int, Key], Key] = {}
        self._known: dict[bytes, tuple[Key, list[tuple[int, Key]]]] = {}
        for image in found:
            self._put(image)

    def apply(self, change: Change, rule: Rule) -> tuple[list[Change], list[Conflict]]:
        """What is executed instead of the change, in this order, and the conflicts that it meets."""
        before, after = change
        obstacles = self._obstacles(before, after, differences=rule.reads_first)
        if not obstacles:
            done = [change]
            self._follow(done)
            return done, []
        if rule.completes and all(self._is_expected(kind, found, rule, after) for kind, found in obstacles):
            done = self._forced(before, after)
            self._follow(done)
            return done, []
        decision = self._decision(rule, before, after, [found for _, found in obstacles if found is not None])
        conflicts = [Conflict(kind, rule, decision, before, found, after) for kind, found in obstacles]
        done = self._forced(before, after) if decision == "source" else []
        self._follow(done)
        return done, conflicts

    def _obstacles(
        self, before: bytes | None, after: bytes | None, *, differences: bool
    ) -> list[tuple[Kind, bytes | None]]:
        found: list[tuple[Kind, bytes | None]] = []
        old = None if before is None else self._key(before)
        if old is not None and before is not None:
            row = self._rows.get(old)
            if row is None:
                found.append(("missing", None))
            elif differences and not self._same(row, before):
                found.append(("different", row))
        if after is None:
            return found
        new = self._key(after)
        if new != old and new in self._rows:
            found.append(("exists", self._rows[new]))
        found += (("unique", self._rows[owner]) for owner in self._others(after, {old, new}))
        return found

    def _is_expected(self, kind: Kind, found: bytes | None, rule: Rule, after: bytes | None) -> bool:
        """Of a table whose rows are not complete. Changes read rows first; rows of a snapshot do not."""
        if kind == "exists" and not rule.reads_first:
            return found is not None and after is not None and self._same(found, after)
        return kind == "missing"

    def _others(self, image: bytes, own: set[Key | None]) -> list[Key]:
        """Keys of other rows that have a unique value of the image."""
        owners = dict.fromkeys(self._owners.get(unique) for unique in self._uniques(image))
        return [owner for owner in owners if owner is not None and owner not in own]

    def _decision(self, rule: Rule, before: bytes | None, after: bytes | None, found: list[bytes]) -> Decision:
        if rule.policy == "source_wins":
            return "source"
        if rule.policy != "newest_wins":
            return "target"
        image = before if after is None else after
        assert image is not None, "a change has an image"  # noqa: S101
        return "source" if all(self._newer(rule.column, image, row) for row in found) else "target"

    def _newer(self, column: int, image: bytes, row: bytes) -> bool:
        """Rows of the same moment: the one with the greater values, so that both directions decide alike."""
        ours, theirs = self._values(image), self._values(row)
        rank = self._comparison.rank
        one, other = rank(column, ours[column]), rank(column, theirs[column])
        if one != other:
            return one > other
        return [value or b"" for value in ours] > [value or b"" for value in theirs]

    def _forced(self, before: bytes | None, after: bytes | None) -> list[Change]:
        """What makes the target as the change leaves the source."""
        old = None if before is None else self._key(before)
        gone = None if old is None else self._rows.get(old)
        if after is None:
            return [] if gone is None else [(gone, None)]
        new = self._key(after)
        done: list[Change] = [(self._rows[owner], None) for owner in self._others(after, {old, new})]
        there = self._rows.get(new)
        if gone is None or old == new:
            return done if there == after else [*done, (there, after)]
        if there is not None:
            done.append((there, None))
        return [*done, (gone, after)]

    def _follow(self, done: Iterable[Change]) -> None:
        for before, after in done:
            if before is not None:
                self._drop(before)
            if after is not None:
                self._put(after)

    def _put(self, image: bytes) -> None:
        key = self._key(image)
        self._rows[key] = image
        for unique in self._uniques(image):
            self._owners[unique] = key

    def _drop(self, image: bytes) -> None:
        key = self._key(image)
        row = self._rows.pop(key, None)
        if row is not None:
            for unique in self._uniques(row):
                if self._owners.get(unique) == key:
                    del self._owners[unique]

    def _uniques(self, image: bytes) -> list[tuple[int, Key]]:
        """(number of the unique key, its values) of those without NULL."""
        return self._keys(image)[1]

    def _key(self, image: bytes) -> Key:
        return self._keys(image)[0]

    def _keys(self, image: bytes) -> tuple[Key, list[tuple[int, Key]]]:
        known = self._known.get(image)
        if known is None:
            found = self._values(image)
            chosen = (
                (number, tuple(self._folded(column, found[column]) for column in columns))
                for number, columns in enumerate(self._comparison.uniques)
            )
            key = tuple(self._folded(column, found[column]) for column in self._comparison.layout.key)
            known = self._known[image] = key, [(number, key) for number, key in chosen if None not in key]
        return known

    def _folded(self, column: int, value: bytes | None) -> bytes | None:
        return None if value is None else self._comparison.folded(column, value)

    def _same(self, one: bytes, other: bytes) -> bool:
        if one == other:
            return True
        same = self._comparison.same
        return all(
            a == b or (a is not None and b is not None and same(column, a, b))
            for column, (a, b) in enumerate(zip(self._values(one), self._values(other), strict=True))
        )

    def _values(self, image: bytes) -> list[bytes | None]:
        return values(image, self._comparison.layout)
