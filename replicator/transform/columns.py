"""`transforms.columns` and `transforms.rename`: excludes columns, and renames columns and tables."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from replicator.config.transforms import ColumnRule, RenameRule
from replicator.errors import DecodeError
from replicator.model.table import Table
from replicator.transform.names import Scope
from replicator.transform.view import View, key_of


class Choice:
    """`transforms.columns`: a column stays when every rule for its table lets it."""

    def __init__(self, rules: Sequence[ColumnRule]) -> None:
        self._rules = [(Scope(rule.tables, f"transforms.columns[{n}]"), rule) for n, rule in enumerate(rules)]

    def __contains__(self, source: Table) -> bool:
        return any(source in scope for scope, _ in self._rules)

    def __call__(self, source: Table, view: View) -> View:
        """Raises DecodeError E2310: no such column, a key column without `drop_keys`, nothing left."""
        rules = [(scope, rule) for scope, rule in self._rules if source in scope]
        if not rules:
            return view
        kept = set(range(len(source.columns)))
        for scope, rule in rules:
            kept &= _kept(source, scope, rule)
        if not kept:
            raise DecodeError(
                "E2310", f"transforms.columns exclude all columns of {source.qualified}", wanted="at least one column"
            )
        return view.only(kept)


def _kept(table: Table, scope: Scope, rule: ColumnRule) -> set[int]:
    names = rule.exclude if rule.include is None else rule.include
    key = "exclude" if rule.include is None else "include"
    found = [scope.column(table, name, key) for name in names or ()]
    indexes = {column.index for column in found if column is not None}
    kept = set(range(len(table.columns))) - indexes if rule.include is None else indexes
    lost = [table.columns[index].name for index in key_of(table) if index not in kept]
    if lost and not rule.drop_keys:
        raise DecodeError(
            "E2310",
            f"{scope.where}.{key} excludes a part of the primary key of {table.qualified}",
            found=", ".join(lost),
            wanted="the complete key: without it, records of several rows share a key or have none",
            fix="Keep the column, or mask it with a hash; or allow it with `drop_keys: true`.",
        )
    return kept


class Names:
    """`transforms.rename`: the first rule for a table counts."""

    def __init__(self, rules: Sequence[RenameRule]) -> None:
        self._rules = [(Scope(rule.tables, f"transforms.rename[{n}]"), rule) for n, rule in enumerate(rules)]

    def __call__(self, source: Table, view: View) -> View:
        """Columns that were excluded may be named, too.

        Raises DecodeError E2310: no such column; two columns of one name.
        """
        for scope, rule in self._rules:
            if source in scope:
                return _renamed(source, view, scope, rule)
        return view

    def name(self, source: Table) -> tuple[str, str]:
        """(database, table) that the table gets."""
        rule = self._rule(source)
        return (
            (source.database, source.name)
            if rule is None
            else (
                rule.database or source.database,
                rule.table or source.name,
            )
        )

    def disjoint(self, source: Table) -> bool:
        """Whether tables of its rule have no keys in common."""
        rule = self._rule(source)
        return rule is not None and rule.keys == "disjoint"

    def of_columns(self, source: Table) -> bool:
        """Whether columns of the table get other names."""
        rule = self._rule(source)
        return rule is not None and bool(rule.columns)

    def _rule(self, source: Table) -> RenameRule | None:
        return next((rule for scope, rule in self._rules if source in scope), None)


def _renamed(source: Table, view: View, scope: Scope, rule: RenameRule) -> View:
    names = {}
    for old, new in rule.columns.items():
        column = scope.column(source, old, "columns")
        if column is not None:
            names[column.index] = new
    columns = tuple(
        msgspec.structs.replace(column, name=names.get(origin.column, column.name))
        for column, origin in zip(view.table.columns, view.origins, strict=True)
    )
    seen: set[str] = set()
    for column in columns:
        if column.name.lower() in seen:
            raise DecodeError(
                "E2310",
                f"{scope.where} gives two columns of {source.qualified} the same name",
                found=column.name,
                wanted="unique names",
            )
        seen.add(column.name.lower())
    table = msgspec.structs.replace(
        view.table, columns=columns, database=rule.database or source.database, name=rule.table or source.name
    )
    return View(table, view.origins)
