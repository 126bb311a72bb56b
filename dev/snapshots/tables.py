"""Random tables: their definitions, and which rows writers may make in them."""

from __future__ import annotations

import contextlib
import itertools
import random
import threading
from collections.abc import Iterator
from typing import Any, Final

from dev.snapshots.columns import KeyColumn, ValueColumn, key_columns, value_columns

SLICES: Final = 3
"""Each writer has rows of its own (column `w`), so that the versions of a key rise in the order of the log."""
_MOST_VALUES: Final = 6


class Versions:
    """Numbers that rise; thread-safe."""

    def __init__(self) -> None:
        self._numbers = itertools.count(1)

    def next(self) -> int:
        return next(self._numbers)


class TableLock:
    """Writers share a table; a statement that alters it has it alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._users = 0

    @contextlib.contextmanager
    def shared(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._users >= 0)
            self._users += 1
        try:
            yield
        finally:
            with self._changed:
                self._users -= 1
                self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:
            self._changed.wait_for(lambda: self._users == 0)
            self._users = -1
        try:
            yield
        finally:
            with self._changed:
                self._users = 0
                self._changed.notify_all()


class RandomTable:
    """One table over its renames. Its rows have: `t`, the number of the table; `w`, whose they are; `v`, a version that
    every change raises; `k0`, `k1`: the key; `c0` and so on.

    Attributes:
        name: of now.
        key: kinds of the key's columns.
        order: of the columns in the key.
        keyed: "PRIMARY KEY", "UNIQUE KEY", or "" for none.
        types: SQL type of each column of now.
        rows: how many numbers of keys there are.
        fresh: number of the next row that has a key that never was; without a key, equal rows would be made otherwise.
    """

    def __init__(self, number: int, name: str, chance: random.Random, *, mariadb: bool, keyless: bool) -> None:
        self.number, self.name = number, name
        self.lock = TableLock()
        kinds = key_columns(mariadb=mariadb)
        self.key: list[KeyColumn] = chance.sample(kinds, 1 if keyless else chance.choice((1, 1, 2, 3)))
        self.keyed = "" if keyless else chance.choice(("PRIMARY KEY", "PRIMARY KEY", "PRIMARY KEY", "UNIQUE KEY"))
        self.order = chance.sample(range(len(self.key)), len(self.key))
        chosen = chance.sample(value_columns(mariadb=mariadb), chance.randint(1, _MOST_VALUES))
        if keyless:
            chosen = [each for each in chosen if each.sql not in ("JSON", "TEXT", "BLOB")]
        self.values: dict[str, ValueColumn] = {f"c{index}": kind for index, kind in enumerate(chosen)}
        self.types = {f"k{index}": kind.sql for index, kind in enumerate(self.key)}
        self.rows = chance.choice((1, 50, 700, 700, 2500, 2500, 5000))
        self._widths = [chance.randint(1, 40) for _ in self.key[1:]]
        self.fresh = itertools.count(10_000)
        self._extras = [
            extra
            for extra in (
                "g BIGINT GENERATED ALWAYS AS (v * 2) STORED",
                "h BIGINT GENERATED ALWAYS AS (v + 1) VIRTUAL",
                "i INT INVISIBLE DEFAULT 7",
            )
            if chance.random() < 0.15
        ]
        self._first_columns = chance.random() < 0.5
        self.partitioned = self.keyed == "PRIMARY KEY" and chance.random() < 0.2

    @property
    def create(self) -> str:
        """CREATE TABLE, without the database."""
        key = [f"{name} {sql} NOT NULL" for name, sql in self.types.items() if name[0] == "k"]
        values = [f"{name} {kind.sql} NULL" for name, kind in self.values.items()]
        plain = ["t INT NOT NULL", "w INT NOT NULL", "v BIGINT NOT NULL", *self._extras]
        columns = [*key, *plain, *values] if self._first_columns else [*values, *plain, *key]
        if self.keyed:
            columns.append(f"{self.keyed} ({self.key_list})")
        parts = " PARTITION BY KEY() PARTITIONS 3" if self.partitioned else ""
        return f"({', '.join(columns)}){parts}"

    @property
    def key_list(self) -> str:
        return ", ".join(f"k{index}" for index in self.order)

    def key_of(self, number: int) -> tuple[Any, ...]:
        """Values of the key with this number; different numbers are different keys."""
        rests = []
        for width in self._widths:
            number, rest = divmod(number, width)
            rests.append(rest)
        return tuple(kind.value(part) for kind, part in zip(self.key, [number, *rests], strict=True))

    def other_text(self, key: tuple[Any, ...]) -> tuple[Any, ...]:
        """The same key to the server, where its collations have another text of it."""
        return tuple(kind.other(value) for kind, value in zip(self.key, key, strict=True))

    def number_for(self, slice_: int, chance: random.Random) -> int:
        """Of a key that the slice may use."""
        if not self.keyed:
            return next(self.fresh) * SLICES + slice_
        return chance.randrange(self.rows * 13 // 10 // SLICES + 1) * SLICES + slice_

    def row(self, number: int, slice_: int, version: int, chance: random.Random) -> tuple[Any, ...]:
        """Values for `insert`."""
        values = (None if chance.random() < 0.1 else kind.value(chance) for kind in self.values.values())
        return (self.number, slice_, version, *self.key_of(number), *values)

    @property
    def insert(self) -> str:
        """Columns and placeholders."""
        names = ["t", "w", "v", *(f"k{index}" for index in range(len(self.key))), *self.values]
        return f"({', '.join(names)}) VALUES ({', '.join(['%s'] * len(names))})"

    @property
    def where_key(self) -> str:
        return " AND ".join(f"k{index} = %s" for index in range(len(self.key)))
