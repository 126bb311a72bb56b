"""`transforms.add`: adds columns with a constant, such as the name of a shard."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from replicator.config import rewrite
from replicator.config.transforms import AddRule
from replicator.errors import DecodeError
from replicator.model.json_string import quote
from replicator.model.table import Table
from replicator.model.target_table import Shard
from replicator.transform.names import Scope, find
from replicator.transform.routes import TEXT_BYTES, is_declared, text_column
from replicator.transform.view import Origin, View, key_of

_LONGEST = TEXT_BYTES // 4


class Additions:
    """All rules for a table apply, in their order."""

    def __init__(self, rules: Sequence[AddRule]) -> None:
        self._rules = [
            (
                f"transforms.add[{number}]",
                None if rule.tables is None else Scope(rule.tables),
                None if rule.match is None else rewrite.pattern(rule.match),
                rule,
            )
            for number, rule in enumerate(rules)
        ]

    def __contains__(self, source: Table) -> bool:
        return any(True for _ in self._of(source))

    def __call__(self, source: Table, view: View) -> View:
        """Raises DecodeError E2310: a column has the name; the value is too long; the table has no key."""
        for where, match, rule in self._of(source):
            if rule.key and not key_of(view.table):
                raise DecodeError(
                    "E2310",
                    f"{where} adds columns to the key of {source.qualified}, which has none",
                    wanted="a primary key, or a unique key whose columns are NOT NULL",
                    fix=f"Add a primary key, or restrict `{where}` to tables that have one.",
                )
            for name, template in rule.columns.items():
                if find(view.table, name) is not None:
                    raise DecodeError(
                        "E2310",
                        f"{where} adds the column '{name}' to {source.qualified}, which has a column of that name",
                        wanted="a name that is not used by a column",
                    )
                field = text_column(len(view.table.columns), name, nullable=False, declared=is_declared(source))
                origin = Origin(_never_null(view), constant=quote(_value(where, source, match, template)))
                view = view.with_key(field, origin) if rule.key else view.with_column(field, origin)
        return view

    def columns(self, source: Table) -> list[tuple[str, bool]]:
        """(name, whether it is a part of the key) of each added column; those of `source` need not be known."""
        return [(name, rule.key) for _, _, rule in self._of(source) for name in rule.columns]

    def shard(self, source: Table) -> Shard | None:
        """The columns that are added to its key, if any. Raises DecodeError E2310."""
        found = [
            (name, _value(where, source, match, template))
            for where, match, rule in self._of(source)
            if rule.key
            for name, template in rule.columns.items()
        ]
        return Shard(tuple(name for name, _ in found), tuple(value for _, value in found)) if found else None

    def _of(self, source: Table) -> Iterator[tuple[str, re.Match[str] | None, AddRule]]:
        for where, scope, pattern, rule in self._rules:
            match = None if pattern is None else pattern.fullmatch(source.qualified)
            if match is not None or (scope is not None and source in scope):
                yield where, match, rule


def _value(where: str, source: Table, match: re.Match[str] | None, template: str) -> str:
    value = template if match is None else rewrite.expand(match, template)
    if len(value) > _LONGEST:
        raise DecodeError(
            "E2310",
            f"{where} adds a text to {source.qualified} that is too long",
            found=f"{len(value)} characters",
            wanted=f"up to {_LONGEST}",
        )
    return value


def _never_null(view: View) -> int:
    """A column of the source, by which images of a database sink are given the constant."""
    chosen = [*key_of(view.table), *(column.index for column in view.table.columns if not column.nullable)]
    for index in chosen:
        declared = view.table.columns[index].declared
        if view.origins[index].constant is None and not (declared is not None and declared.generated):
            return view.origins[index].column
    return view.origins[0].column
