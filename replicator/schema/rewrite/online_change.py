"""The end of an online schema change whose copy is not replicated.

gh-ost and pt-online-schema-change rename the copy to the table. The target's table gets the difference between the two
definitions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from replicator.model.metadata_event import Statement, TableChange, TableKey
from replicator.model.table import Table
from replicator.schema.rewrite.column_text import column_text
from replicator.schema.rewrite.names import NoRewrite, TargetNames, quoted
from replicator.schema.rewrite.statement import written
from replicator.schema.token_cursor import Name

_BY_HAND = "Change the table at the target as the source has it; then `replicator task skip NAME`."


def swapped(statement: Statement, names: TargetNames, *, hidden: Callable[[Name], bool]) -> str | None:
    """ALTER TABLE for the target; "" where nothing changes there; None: the statement ends no online schema change.

    Raises NoRewrite: the difference can't be written as a statement.
    """
    arriving = [change for change in statement.changes if _arrives(change, names, hidden)]
    if len(arriving) != 1:
        return None
    (copy,) = arriving
    table = copy.new_name
    assert table is not None, "it arrives"  # noqa: S101
    former = next((change for change in statement.changes if (change.database, change.name) == table), None)
    if former is None or former.before is None or copy.table is None:
        raise NoRewrite(f"{'.'.join(table)} becomes a table whose definition is not known", _BY_HAND)
    target = names.table(table)
    keys = _keys(former.keys, copy.keys)
    clauses = _difference(former.before, copy.table) + keys
    if not clauses or target is None:
        return ""
    columns = names.columns(table)
    if columns.renamed or columns.hidden or columns.masked or (columns.keys and _unique(keys)):
        raise NoRewrite("an online schema change ends, and transforms change columns of the table", _BY_HAND)
    return f"ALTER TABLE {written(target)} {', '.join(clauses)}"


def _unique(clauses: Sequence[str]) -> bool:
    return any(word in clause for clause in clauses for word in ("ADD UNIQUE", "ADD PRIMARY"))


def _arrives(change: TableChange, names: TargetNames, hidden: Callable[[Name], bool]) -> bool:
    to = change.new_name
    return to is not None and hidden((change.database, change.name)) and names.table(to) is not None


def _difference(before: Table, after: Table) -> list[str]:
    old = {column.name.lower(): column for column in before.columns}
    new = {column.name.lower(): column for column in after.columns}
    dropped, added = [name for name in old if name not in new], [name for name in new if name not in old]
    if dropped and added:
        raise NoRewrite(
            f"an online schema change drops {old[dropped[0]].name} and adds {new[added[0]].name}: "
            "one column may have become the other",
            _BY_HAND,
        )
    clauses = [f"DROP COLUMN {quoted(old[name].name)}" for name in dropped]
    left = [name for name in old if name in new]
    moved = left != [name for name in new if name in old]
    if moved:
        raise NoRewrite("an online schema change moves columns", _BY_HAND)
    for place, column in enumerate(after.columns):
        known = old.get(column.name.lower())
        if known is not None and (known.declared, known.nullable, known.visible) == (
            column.declared,
            column.nullable,
            column.visible,
        ):
            continue
        text = column_text(column)
        where = f"AFTER {quoted(after.columns[place - 1].name)}" if place else "FIRST"
        clauses.append(f"MODIFY COLUMN {text}" if known is not None else f"ADD COLUMN {text} {where}")
    return clauses


def _keys(before: tuple[TableKey, ...], after: tuple[TableKey, ...]) -> list[str]:
    old, new = {key.name.lower(): key for key in before}, {key.name.lower(): key for key in after}
    gone = [key for name, key in old.items() if new.get(name) != key]
    made = [key for name, key in new.items() if old.get(name) != key]
    if any(not key.whole for key in made):
        raise NoRewrite("an online schema change makes an index over parts of columns or expressions", _BY_HAND)
    clauses = ["DROP PRIMARY KEY" if key.primary else f"DROP INDEX {quoted(key.name)}" for key in gone]
    for key in made:
        columns = ", ".join(map(quoted, key.columns))
        kind = "PRIMARY KEY" if key.primary else f"{'UNIQUE ' if key.unique else ''}KEY {quoted(key.name)}"
        clauses.append(f"ADD {kind} ({columns})")
    return clauses
