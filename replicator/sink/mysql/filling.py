"""How rows are written while a snapshot fills tables of the target. See DESIGN.md, Snapshots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from replicator.errors import SinkError
from replicator.model.filling import Filling
from replicator.model.target_table import UNCHECKED
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session
from replicator.sink.mysql.conflicts.resolve import COMPLETE, CONVERGE, KEEP, MISSING, REPLACE, Rule
from replicator.sink.mysql.conflicts.resolver import RuleOf
from replicator.sink.mysql.row_groups import Rows

ExistingRows: TypeAlias = Literal["refuse", "keep", "replace"]
SNAPSHOT_ROW: Final = b"R"
_SHOWN: Final = 10


class FillRules:
    """A `resolver.RuleOf`: `policy` for tables that are complete.

    Args:
        existing: what becomes of rows that the target has when a snapshot brings them.
    """

    def __init__(self, policy: RuleOf, existing: ExistingRows) -> None:
        self._policy = policy
        self._of_rows = KEEP if existing == "keep" else REPLACE

    def __call__(self, rows: Rows) -> Rule | None:
        """Raises SinkError E3462."""
        if rows.run.operation[-1:] == SNAPSHOT_ROW:
            self._check_key(rows)
            return MISSING if _is_disjoint(rows) else self._of_rows
        if rows.filling:
            self._check_key(rows)
            return COMPLETE if _is_disjoint(rows) else CONVERGE
        return self._policy(rows)

    def _check_key(self, rows: Rows) -> None:
        if not rows.route.stored.primary_key:
            raise SinkError(
                "E3462",
                f"a snapshot of {rows.route.source} can't be written to a database server",
                found="no primary key: a row of the snapshot and a change of it could not be distinguished",
                wanted="a primary key whose columns are replicated",
                fix="Add a primary key, exclude the table in source.snapshot.tables, or copy it with a dump.",
                table=rows.route.source,
            )


def _is_disjoint(rows: Rows) -> bool:
    """A row that is there already may be one of another table, which must not be replaced."""
    shard = rows.route.stored.shard
    return shard is not None and shard.disjoint


def marked(rows: Rows, filling: Filling) -> Rows:
    """Changes while a snapshot is open. Rows that foreign keys refer to may not be there yet, so that those of tables
    that have foreign keys are not checked: the source has checked them, and logs what follows from them."""
    run, source = rows.run, rows.route.source
    if run.operation[-1:] == SNAPSHOT_ROW:
        return rows
    rows.filling = filling.incomplete(source)
    refers = rows.route.joining.parents is None or bool(rows.route.joining.parents)
    if refers and run.operation and not run.operation.startswith(UNCHECKED) and filling.selected(source):
        rows.run = run._replace(operation=UNCHECKED + run.operation)
    return rows


def check_empty(session: Session, names: Sequence[tuple[str, str]]) -> None:
    """`names`: of tables at the target, which may be missing.

    Raises:
        SinkError: E3460, one of them has rows.
        SinkUnavailable.
    """
    folds = str(session.value("SELECT @@lower_case_table_names")) != "0"

    def stored(name: str) -> str:
        return name.lower() if folds else name

    present = {
        (database, stored(str(name)))
        for database in dict.fromkeys(database for database, _ in names)
        for (name,) in session.rows(
            "SELECT table_name FROM information_schema.tables WHERE table_schema = %s", (database,)
        )
    }
    filled = [
        f"{database}.{name}"
        for database, name in names
        if (database, stored(name)) in present
        and session.rows(f"SELECT 1 FROM {quote_identifier(database)}.{quote_identifier(name)} LIMIT 1")  # noqa: S608
    ]
    if filled:
        more = f" and {len(filled) - _SHOWN} more" if len(filled) > _SHOWN else ""
        raise SinkError(
            "E3460",
            f"tables that the snapshot fills have rows at {session.where}",
            found=", ".join(filled[:_SHOWN]) + more,
            wanted="empty tables, or sink.existing_rows: keep or replace",
            fix="Empty the tables, or set sink.existing_rows to replace (rows of the source win) or keep (rows of the "
            "target stay); then `replicator task retry NAME`.",
        )
