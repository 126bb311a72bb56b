"""Names of tables that operators have ordered: what RENAME makes of them before their rows are read. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from replicator.model.snapshot import Followed
from replicator.pipeline.ports import TableSize


def renamed(
    known: Sequence[Followed],
    orders: Mapping[str, Sequence[str]],
    old: str,
    new: str,
    replicated: Callable[[str], bool],
) -> tuple[Followed, ...]:
    """`known`, behind a RENAME.

    Args:
        orders: id of each snapshot that has still to read a table of the name `old` -> tables, as ordered.
        replicated: whether the task has a table.
    """
    names = {(each.id, each.table): each.name for each in known}
    for order, tables in orders.items():
        for table in tables:
            if names.get((order, table), table) == old:
                names[order, table] = new if replicated(new) else table
    return tuple(Followed(order, table, name) for (order, table), name in names.items() if name != table)


def listed(found: Iterable[TableSize], tables: Iterable[str], names: Iterable[Followed], order: str) -> list[TableSize]:
    """Tables of an ordered snapshot. A table that the source lacks is one of them, too: that is noted at its turn, if
    the stream does not bring its new name before.

    Args:
        found: all tables of the source.
        tables: as ordered.
        order: id of the snapshot.
    """
    sizes, now = {size.table: size for size in found}, {each.table: each.name for each in names if each.id == order}
    chosen = {now[table] if table not in sizes and now.get(table) in sizes else table for table in tables}
    return [sizes.get(table) or TableSize(table, 0, 0) for table in chosen]
