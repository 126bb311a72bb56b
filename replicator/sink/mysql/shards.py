"""Tables of the source that are merged into one of the target: keys that distinguish their rows, and rows that meet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeAlias

import msgspec

from replicator.errors import ReplicatorError, SinkError
from replicator.model.target_table import TargetTable
from replicator.mysql import table_facts
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session

KeyValues: TypeAlias = Sequence[tuple[str, str]]
"""(column of the target, SQL literal) of each column of a key."""
Owners: TypeAlias = Callable[[TargetTable, Sequence[KeyValues]], Sequence[str]]
"""Asks the source which other tables that are merged with a table have a row with one of these keys: their names."""


def check_keys(session: Session, table: TargetTable) -> None:
    """Each key of the target has the columns in which the tables differ.

    Raises:
        SinkError: E3442.
        SinkUnavailable.
    """
    if table.shard is None or table.shard.disjoint:
        return
    name = (table.database, table.name)
    facts = table_facts.read(session, [name]).get(name)
    if facts is None:
        return  # not visible to the account: rows will be refused
    keys = {"PRIMARY KEY": facts.primary_key, **facts.uniques} if facts.primary_key else facts.uniques
    wrong = lacking(table.shard.columns, keys)
    if wrong:
        names = ", ".join(map(quote_identifier, table.shard.columns))
        raise SinkError(
            "E3442",
            f"keys of {table.qualified} at the target do not distinguish the rows of merged tables",
            found="; ".join(f"{key} ({', '.join(keys[key])})" for key in wrong),
            wanted=f"{names} as a part of the primary key and of each unique key",
            fix=f"Add {names} to these keys with ALTER TABLE at the target; then `replicator task retry NAME`.",
            table=table.source or table.qualified,
        )


def lacking(columns: Iterable[str], keys: dict[str, tuple[str, ...]]) -> list[str]:
    """Keys that lack one of the columns."""
    wanted = {column.lower() for column in columns}
    return [name for name, parts in keys.items() if not wanted <= set(parts)]


def form(stored: TargetTable, head: bytes) -> bytes:
    """See `Route.form`. `head`: what events of its rows begin with."""
    columns = tuple(msgspec.structs.replace(column, declared=None) for column in stored.columns)
    return head + msgspec.json.encode(msgspec.structs.replace(stored, columns=columns, source="", shard=None))


def no_policy(table: TargetTable, policy: str) -> SinkError:
    return SinkError(
        "E3442",
        f"conflicts in {table.qualified} can't be resolved by {policy}: a row may be one of another table",
        found=f"sink.conflict: {policy}, transforms.rename with keys: disjoint",
        wanted="stop, keep_target or dead_letter for tables with disjoint keys",
        fix="Add a rule for these tables to `sink.conflict`, or add a column to their key with `transforms.add`.",
        table=table.source or table.qualified,
    )


def explained(error: ReplicatorError, table: TargetTable, others: Callable[[], Sequence[str]]) -> ReplicatorError:
    """An error of a row that exists already, with the table of the source that has it, too. `others`: finds it."""
    if error.code != "E3424" or table.shard is None or not table.shard.disjoint:
        return error
    found = others()
    whose = f"; {' and '.join(found)} at the source also " + ("have" if len(found) > 1 else "has") if found else ""
    wrong = f"{whose} a row with this key" if found else "; no other table of the source has this key now"
    made = SinkError(
        "E3424",
        f"a row of {table.source} is already in {table.qualified}, where tables with disjoint keys are merged",
        found=f"{error.found}{wrong}",
        wanted="keys that only one of the tables has: transforms.rename says keys: disjoint",
        fix="Give one of the rows another key at the source, and delete the row at the target that is not there any "
        "more; then `replicator task retry NAME`. Or let the tables differ by a column: `transforms.add`, key: true.",
        table=table.source,
    )
    made.position, made.transaction, made.__cause__ = error.position, error.transaction, error.__cause__
    return made
