"""`transforms.route`: writes tables that match a regular expression to a shared topic."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple

from replicator.config import rewrite
from replicator.config.transforms import RouteRule
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.json_string import quote
from replicator.model.table import Column, Declared, Table
from replicator.transform.names import find
from replicator.transform.view import Origin, View, key_of

_UTF8MB4: Final = 45  # utf8mb4_general_ci, which both servers have
TEXT_BYTES: Final = 252
"""Of 63 characters."""


class Route(NamedTuple):
    """`group` is the same for the tables that share the topic on purpose."""

    topic: str
    group: str


class Routes:
    def __init__(self, rules: Sequence[RouteRule]) -> None:
        self._rules = [(rewrite.pattern(rule.match), rule) for rule in rules]

    def route(self, source: Table) -> Route | None:
        """Where the table's records go; None: where `sink.topic` says."""
        found = self._find(source)
        if found is None:
            return None
        match, rule = found
        return Route(rewrite.expand(match, rule.topic), rule.match)

    def __call__(self, source: Table, view: View) -> View:
        """The view with the field that tells the tables of one topic apart. Tables without a key get none.

        Raises DecodeError E2310: a column has the field's name.
        """
        found = self._find(source)
        name = found[1].key_field if found else None
        if found is None or name is None or not key_of(view.table):
            return view
        match, rule = found
        if find(view.table, name) is not None:
            raise DecodeError(
                "E2310",
                f"transforms.route adds the field '{name}' to {source.qualified}, which has a column of that name",
                wanted="a name that is not used by a column",
            )
        value = source.name if rule.key_value is None else rewrite.expand(match, rule.key_value)
        origin = view.origins[key_of(view.table)[0]]  # never NULL
        field = text_column(len(view.table.columns), name, nullable=False, declared=is_declared(source))
        return view.with_key(field, Origin(origin.column, constant=quote(value)))

    def _find(self, source: Table) -> tuple[re.Match[str], RouteRule] | None:
        for pattern, rule in self._rules:
            match = pattern.fullmatch(source.qualified)
            if match is not None:
                return match, rule
        return None


def text_column(index: int, name: str, *, nullable: bool, declared: bool) -> Column:
    """A VARCHAR, as formats see one. `declared`: with what its CREATE TABLE would say."""
    spelled = Declared("VARCHAR", (str(TEXT_BYTES // 4),), charset="utf8mb4", collation="utf8mb4_general_ci")
    return Column(
        index,
        name,
        types.VARCHAR,
        TEXT_BYTES,
        nullable,
        collation=_UTF8MB4,
        declared=spelled if declared else None,
    )


def is_declared(table: Table) -> bool:
    return any(column.declared is not None for column in table.columns)
