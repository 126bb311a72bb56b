"""Random schemas: keys, unique columns, foreign keys, and columns of every kind."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any, Final

from dev.snapshots.columns import KeyColumn, ValueColumn, key_columns, value_columns

WRITERS: Final = 3
MARKS: Final = "marks"
"""(w, n): the number of the last transaction of each writer. Every transaction changes its own row."""
TICKS: Final = "ticks"
"""One row: the number of transactions so far. In rounds where all transactions follow each other."""
_MOST_VALUES: Final = 5
_PARENT_KEYS: Final = 400
_ACTIONS: Final = ("CASCADE", "SET NULL", "RESTRICT")


class TargetTable:
    """
    Attributes:
        key: kinds of the key's columns k0, k1, ...; empty: the table has no key.
        unique: it has a column `u`, NULL or unique in the table.
        pair: it has a unique key over the columns `a` and `b`.
        parent: of which `p` is a foreign key; None: it has none.
        actions: of that key, ON DELETE and ON UPDATE.
    """

    def __init__(
        self,
        name: str,
        chance: random.Random,
        *,
        mariadb: bool,
        both: bool,
        parent: TargetTable | None,
        keyed: bool = False,
    ) -> None:
        self.name, self.parent = name, parent
        kinds = [
            kind
            for kind in key_columns(mariadb=mariadb or both)
            if not (keyed and kind.sql.startswith(("FLOAT", "DOUBLE")))
        ]
        plain = parent is None and name == "t0"
        if plain:  # others refer to it
            self.key: Sequence[KeyColumn] = [kinds[0]]
        elif not keyed and chance.random() < 0.1:
            self.key = []
        else:
            self.key = chance.sample(kinds, chance.choice((1, 1, 2)))
        self.unique = bool(self.key) and chance.random() < 0.6
        self.pair = bool(self.key) and chance.random() < 0.3
        self.actions = chance.choice(_ACTIONS), chance.choice(_ACTIONS)
        values = [kind for kind in value_columns(mariadb=mariadb or both) if not (both and kind.sql == "JSON")]
        if not self.key:
            values = [kind for kind in values if kind.sql not in ("JSON", "TEXT", "BLOB")]
        self.values: Sequence[ValueColumn] = chance.sample(values, chance.randint(0, _MOST_VALUES))
        self.rows = chance.choice((20, 100, 400, 1500)) if not plain else _PARENT_KEYS
        self._widths = [chance.randint(2, 30) for _ in self.key[1:]]

    @property
    def create(self) -> str:
        columns = [f"k{n} {kind.sql} NOT NULL" for n, kind in enumerate(self.key)]
        columns += ["w INT NOT NULL", "n BIGINT NOT NULL"]
        columns += [f"c{n} {kind.sql} NULL" for n, kind in enumerate(self.values)]
        if self.unique:
            columns += ["u INT NULL", "UNIQUE KEY uu (u)"]
        if self.pair:
            columns += ["a INT NOT NULL", "b VARCHAR(20) NOT NULL", "UNIQUE KEY ab (a, b)"]
        if self.parent is not None:
            on_delete, on_update = self.actions
            columns += [
                "p INT NULL",
                f"FOREIGN KEY (p) REFERENCES {self.parent.name} (k0) ON DELETE {on_delete} ON UPDATE {on_update}",
            ]
        if self.key:
            columns.append(f"PRIMARY KEY ({', '.join(f'k{n}' for n in range(len(self.key)))})")
        return f"CREATE TABLE {self.name} ({', '.join(columns)}) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"

    @property
    def names(self) -> list[str]:
        """Columns of `row`."""
        found = [*(f"k{n}" for n in range(len(self.key))), "w", "n", *(f"c{n}" for n in range(len(self.values)))]
        found += ["u"] if self.unique else []
        found += ["a", "b"] if self.pair else []
        return [*found, "p"] if self.parent is not None else found

    def key_of(self, number: int) -> list[Any]:
        """Different numbers are different keys."""
        rests = []
        for width in self._widths:
            number, rest = divmod(number, width)
            rests.append(rest)
        return [kind.value(part) for kind, part in zip(self.key, [number, *rests], strict=bool(self.key))][
            : len(self.key)
        ]

    def number(self, writer: int, chance: random.Random) -> int:
        """Of a key that belongs to the writer; half of them are free."""
        return chance.randrange(self.rows * 2 // WRITERS) * WRITERS + writer

    def row(self, number: int, writer: int, version: int, chance: random.Random, *, shared: bool) -> list[Any]:
        """`shared`: writers may take unique values from each other."""
        row = [*self.key_of(number), writer, version]
        row += [None if chance.random() < 0.1 else kind.value(chance) for kind in self.values]
        if self.unique:
            row.append(self.unique_value(writer, chance, shared=shared))
        if self.pair:
            row += [_own(chance.randrange(self.rows), writer, shared), chance.choice(("x", "y", "Z"))]
        if self.parent is not None:
            row.append(self.parent_of(writer, chance))
        return row

    def unique_value(self, writer: int, chance: random.Random, *, shared: bool) -> int | None:
        """Of few, so that values move between rows."""
        return None if chance.random() < 0.3 else _own(chance.randrange(self.rows), writer, shared)

    def parent_of(self, writer: int, chance: random.Random) -> int | None:
        """A parent of the same writer: what cascades is the writer's own."""
        if self.parent is None or chance.random() < 0.2:
            return None
        return int(self.parent.key_of(self.parent.number(writer, chance))[0])


def _own(number: int, writer: int, shared: bool) -> int:
    return number if shared else number * WRITERS + writer


def random_schema(chance: random.Random, *, mariadb: bool, both: bool, keyed: bool = False) -> list[TargetTable]:
    """`both`: source and target are of different flavors, so only what both can hold. `keyed`: each table has a key
    that SQL finds rows by."""
    parent = TargetTable("t0", chance, mariadb=mariadb, both=both, parent=None, keyed=keyed)
    tables = [parent]
    for number in range(1, chance.randint(2, 5)):
        of = parent if chance.random() < 0.4 else None
        tables.append(TargetTable(f"t{number}", chance, mariadb=mariadb, both=both, parent=of, keyed=keyed))
    return tables
