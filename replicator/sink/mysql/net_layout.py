"""Finds out whether the changes of a table may be joined, from its definition at the target."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Final, NamedTuple

from replicator.errors import SinkError
from replicator.model.column_sizes import fixed_size, prefix_size
from replicator.model.target_table import TargetTable
from replicator.mysql import table_facts
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session
from replicator.mysql.table_facts import TableFacts
from replicator.sink.mysql.division import is_exact
from replicator.sink.mysql.image_values import Layout

_PART: Final = r"`((?:[^`]|``)+)`"
_PARENT: Final = re.compile(rf"REFERENCES (?:{_PART}\s*\.\s*)?{_PART} \(")
_ORDERED: Final = re.compile(r"WITH SYSTEM VERSIONING|WITHOUT OVERLAPS|PERIOD FOR")
"""Of tables that keep earlier rows or compare periods."""
_MOST_KEYS: Final = 16
_CASCADING: Final = (
    "SELECT DISTINCT UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME FROM information_schema.REFERENTIAL_CONSTRAINTS "
    "WHERE DELETE_RULE NOT IN ('RESTRICT', 'NO ACTION') OR UPDATE_RULE NOT IN ('RESTRICT', 'NO ACTION')"
)


class Joining(NamedTuple):
    """
    Attributes:
        layout: None: the changes of the table stay in their order.
        parents: tables that its foreign keys refer to, in lower case; None: not known.
    """

    layout: Layout | None
    parents: frozenset[str] | None


def cascading(session: Session) -> frozenset[str]:
    """`database.table` of all tables whose changes change rows of others, in lower case. A row that is deleted and
    inserted again has lost the rows that refer to it, which the source may not log. Raises SinkError."""
    return frozenset(f"{database}.{name}".lower() for database, name in session.rows(_CASCADING))


def read(session: Session, table: TargetTable, cascades: Callable[[], Collection[str]] = frozenset) -> Joining:
    """`cascades`: gives what `cascading` returns. Raises SinkUnavailable."""
    name = table.database, table.name
    try:
        facts = table_facts.read(session, [name]).get(name)
        text = str(session.rows(f"SHOW CREATE TABLE {'.'.join(map(quote_identifier, name))}")[0][1])
    except SinkError as error:
        if error.transient:
            raise
        return Joining(None, None)  # the account may not see it
    parents = frozenset(
        f"{found[1] or table.database}.{found[2]}".replace("``", "`").lower() for found in _PARENT.finditer(text)
    )
    if facts is None or facts.triggers or parents or _ORDERED.search(text):
        return Joining(None, parents)
    layout = layout_of(table, facts)
    if layout is not None and table.qualified.lower() in cascades():
        return Joining(None, parents)
    return Joining(layout, parents)


def layout_of(table: TargetTable, facts: TableFacts) -> Layout | None:
    """None: rows cannot be told apart by what is in the images."""
    at = {column.name.lower(): column.index for column in table.columns}
    key = tuple(at.get(name, -1) for name in facts.primary_key)
    if not 0 < len(key) <= _MOST_KEYS or -1 in key:
        return None
    return Layout(
        tuple(_size(table, index) for index in range(len(table.columns))),
        key,
        _unique(at, facts.uniques.values()),
        tuple(_meeting(table, at, facts)),
    )


def _meeting(table: TargetTable, at: dict[str, int], facts: TableFacts) -> Iterator[tuple[int, ...]]:
    """See `Layout.keys`. Of a key of a part of a column only that it may be equal; a generated column, or an
    expression, says nothing."""
    exact = {name for name, index in at.items() if is_exact(table.columns[index])}
    keys = (
        facts.uniques.values() if exact.issuperset(facts.primary_key) else (facts.primary_key, *facts.uniques.values())
    )
    for key in keys:
        names = [(part.partition("(")[0], part) for part in key]
        yield tuple(at[name] if part in exact else ~at[name] for name, part in names if name in at)


def _size(table: TargetTable, index: int) -> int:
    size = fixed_size(table.columns[index])
    return -prefix_size(table.columns[index]) if size is None else size


def _unique(at: dict[str, int], keys: Iterable[tuple[str, ...]]) -> tuple[int, ...]:
    """All columns where a key is of something that images do not have: a generated column, an expression."""
    names = {name.partition("(")[0] for key in keys for name in key}
    places = {at.get(name, -1) for name in names}
    return tuple(sorted(at.values() if -1 in places else places))
