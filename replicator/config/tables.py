"""Table patterns of a task: `database.table` with * and ?; a leading ! excludes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache, lru_cache

from replicator.errors import ConfigError
from replicator.model.bookkeeping import BOOKKEEPING

_WANTED = 'database.table with * and ?, for instance "shop.*", "crm.customer" or "!shop.audit_*"'


_COPY = re.compile(r"_(.+)_(?:gho|ghc|ghk|del|new|old)", re.DOTALL)
_STAMP = re.compile(r"_\d{14}\Z")
"""gh-ost puts the time into the name of the old table where it is told to."""


def _compile(part: str) -> re.Pattern[str]:
    """`fnmatch` would also read [ ] as a set; they are ordinary characters of a name here."""
    wild = {"*": ".*", "?": "."}
    return re.compile("".join(wild.get(char) or re.escape(char) for char in part), re.DOTALL)


def table_rank(patterns: Iterable[str]) -> Callable[[str], tuple[int, bytes]]:
    """Sorts tables (`database.table`): by the first pattern that they match, those that match none at the end; then by
    name, byte for byte. Raises ConfigError as `TableFilter` does."""
    filters = [TableFilter((pattern,)) for pattern in patterns]

    @cache
    def rank(table: str) -> tuple[int, bytes]:
        matching = (number for number, one in enumerate(filters) if one.chooses(table))
        return next(matching, len(filters)), table.encode()

    return rank


class TableFilter:
    """The tables that `patterns` choose: those that match an including pattern and no excluding one, in any order.
    Excluding patterns alone choose everything else. Letters count: `Shop` is not `shop` (a server that folds names
    folds them in its binlog too, where they arrive as the server wrote them).

    Args:
        hide_copies: also leave out what gh-ost and pt-online-schema-change make beside a table `X` that is chosen:
            `_X_gho`, `_X_ghc`, `_X_ghk`, `_X_del`, `_X_new`, `_X_old`; not those that a pattern names without * and ?.

    Raises:
        ConfigError: E1003 for a pattern without both parts, or that names a table in which tasks keep their state (see
            `model/bookkeeping.py`): those are never chosen.
    """

    def __init__(self, patterns: Iterable[str], *, hide_copies: bool = False) -> None:
        self.patterns = tuple(patterns)
        self._hide_copies = hide_copies
        self._include: list[tuple[re.Pattern[str], re.Pattern[str]]] = []
        self._exclude: list[tuple[re.Pattern[str], re.Pattern[str]]] = []
        for pattern in self.patterns:
            excluded = pattern.startswith("!")
            database, dot, table = pattern.removeprefix("!").partition(".")
            if not (database and dot and table) or "\0" in pattern:
                raise ConfigError(
                    "E1003", "a table pattern without database or table", found=repr(pattern), wanted=_WANTED
                )
            if table in BOOKKEEPING and not excluded:
                raise ConfigError(
                    "E1003",
                    f"{pattern} is where tasks keep their positions or conflicts, and is never replicated",
                    found=repr(pattern),
                    wanted="tables of applications",
                )
            target = self._exclude if excluded else self._include
            target.append((_compile(database), _compile(table)))
        if not self._include:
            self._include.append((_compile("*"), _compile("*")))
        self.matches = lru_cache(maxsize=10_000)(self._matches)
        """matches(database, table) -> bool, cached: it is asked once per table map event."""

    def _matches(self, database: str, table: str) -> bool:
        def any_of(patterns: list[tuple[re.Pattern[str], re.Pattern[str]]]) -> bool:
            return any(db.fullmatch(database) and name.fullmatch(table) for db, name in patterns)

        if table in BOOKKEEPING or not any_of(self._include) or any_of(self._exclude):
            return False
        return not (self._hide_copies and self._is_copy(database, table))

    def _is_copy(self, database: str, table: str) -> bool:
        copy = _COPY.fullmatch(table)
        if copy is None or (database, table) in self.literal():
            return False
        names = {copy[1], copy[1].lstrip("_"), _STAMP.sub("", copy[1])} - {""}
        return any(self._matches(database, name) for name in names)

    def chooses(self, table: str) -> bool:
        """`matches` for `database.table` as one text, wherever the database ends: names may have dots."""
        parts = table.split(".")
        return any(self.matches(".".join(parts[:at]), ".".join(parts[at:])) for at in range(1, len(parts)))

    def touches(self, database: str) -> bool:
        """Whether any table of the database could match."""
        if any(db.fullmatch(database) and every.pattern == ".*" for db, every in self._exclude):
            return False
        return any(db.fullmatch(database) for db, _ in self._include)

    def literal(self) -> list[tuple[str, str]]:
        """The included tables that are named without * or ?: these must exist."""
        plain = [p for p in self.patterns if not p.startswith("!") and not set(p) & set("*?")]
        return [(database, table) for database, _, table in (p.partition(".") for p in plain)]
