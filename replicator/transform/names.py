"""Resolves table and column names of rules against a table."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from replicator.config.tables import TableFilter
from replicator.errors import DecodeError
from replicator.model.table import Column, Table


class Scope:
    """The tables of one rule, by the patterns of `source.tables`.

    A table that is named without wildcards must have the columns that its rule names. Of tables that a wildcard found,
    a rule takes the columns that are there.

    Args:
        where: the rule is, for messages: `transforms.mask[0]`.
    """

    def __init__(self, patterns: Iterable[str], where: str = "") -> None:
        self.where = where
        self._filter = TableFilter(patterns)
        self._named = frozenset(self._filter.literal())
        self.patterns = self._filter.patterns

    def __contains__(self, table: Table) -> bool:
        return self._filter.matches(table.database, table.name)

    def names(self, table: Table) -> bool:
        return (table.database, table.name) in self._named

    def column(self, table: Table, name: str, key: str) -> Column | None:
        """The column `name` of `table`; None only where a wildcard found the table.

        Args:
            key: of the rule, where the name is.

        Raises:
            DecodeError: E2310.
        """
        found = find(table, name)
        if found is None and self.names(table):
            raise no_column(table, name, f"{self.where}.{key}")
        return found


def find(table: Table, name: str) -> Column | None:
    """As in SQL, the case of letters does not count."""
    wanted = name.lower()
    return next((column for column in table.columns if column.name.lower() == wanted), None)


def no_column(table: Table, name: str, rule: str) -> DecodeError:
    near = nearest(name, [column.name for column in table.columns])
    return DecodeError(
        "E2310",
        f"{rule} refers to the column '{name}', which {table.qualified} does not have",
        found=", ".join(column.name for column in table.columns)[:500],
        wanted=f"'{near}'?" if near else "a column of the table",
        fix=f"Correct `{rule}`"
        + (f": write {near}." if near else ", or restrict it to the tables that have the column."),
    )


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most alike, "" when none is."""
    by_lower = {each.lower(): each for each in known}
    found = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.5)
    return by_lower[found[0]] if found else ""
