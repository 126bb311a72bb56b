"""Finds the row that the target refuses, so that the error can name it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from replicator.errors import ReplicatorError
from replicator.mysql.statement_text import Text, joined
from replicator.sink.mysql import errors, shards
from replicator.sink.mysql.conflicts import row_keys
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.row_groups import RowGroup, Rows, size_of

_ROWS_AT_ONCE: Final = 500


def find(target: Target, group: RowGroup, error: ReplicatorError) -> ReplicatorError:
    """Executes the rows of the group one by one and rolls back. What was executed before the group, in the same
    transaction, is missing: then another row may be the one that is refused, or none.

    Raises SinkUnavailable.
    """
    target.execute(b"BEGIN", 1)
    try:
        for part in _parts(target, group):
            executed = [rows for rows, statements in part for _ in statements]
            text = joined([statement for _, statements in part for statement in statements])
            outcome = target.execute(text, len(executed))
            if outcome.error is not None:
                rows = executed[outcome.done]
                found = errors.of_row(outcome.error, rows.route.table, target.session.where)
                return _named(shards.explained(found, rows.route.stored, partial(_owners, target, rows)), rows)
    finally:
        target.rollback()
    return errors.of_row(error, ", ".join(sorted(group.tables)), target.session.where)


def single(rows: Rows) -> list[Text]:
    """The statements of these rows alone."""
    group = RowGroup()
    group.add(rows, size_of(rows))
    return group.statements()


def _parts(target: Target, group: RowGroup) -> Iterator[list[tuple[Rows, list[Text]]]]:
    """As many rows in each as a packet takes."""
    part: list[tuple[Rows, list[Text]]] = []
    room = target.room
    for rows in group.single_rows:
        statements = single(rows)
        size = sum(map(len, statements)) + len(statements)
        if part and (size > room or len(part) == _ROWS_AT_ONCE):
            yield part
            part, room = [], target.room
        part.append((rows, statements))
        room -= size
    if part:
        yield part


def _owners(target: Target, rows: Rows) -> Sequence[str]:
    owners = rows.route.owners
    return () if owners is None else owners(rows.route.stored, row_keys.of_row(target, rows))


def _named(error: ReplicatorError, rows: Rows) -> ReplicatorError:
    record = rows.records[rows.first]
    error.position = error.transaction = record[3].decode("ascii", "replace")
    error.found = f"{error.found}; row {record[4]} of the transaction"
    error.table = rows.route.source
    return error
