"""Keys of rows as bytes, the same for a row of the stream and for one that a snapshot selects."""

from __future__ import annotations

from replicator.decode.binlog.column_presence import Operation
from replicator.decode.plan.compiler import Rows
from replicator.decode.plan.row_functions import RowFunctions
from replicator.decode.renderers import rendering
from replicator.decode.transactions.transaction_state import TransactionState
from replicator.model import types
from replicator.model.plan import Image, RecordPlan, TablePlan, Template, Text, Value
from replicator.model.table import Table


class RowKeys:
    """Of one table version. Equal keys have equal bytes, and others have others: of each column the bytes of the row
    image, as hexadecimal digits. They are compared with those of the same columns alone.

    Args:
        columns: names; without any: all columns of the table, but for JSON.
        accept_partial: also rows that come without columns of which no key is made.

    Raises:
        LookupError: the table has no such column.
    """

    def __init__(
        self, table: Table, columns: tuple[str, ...], functions: RowFunctions, *, accept_partial: bool = False
    ) -> None:
        self._table = table
        self._plan = _plan(table, columns)
        self._make = functions
        self._accept_partial = accept_partial
        self._functions: dict[Operation, Rows] = {}
        self._context = TransactionState()

    def function(self, operation: Operation) -> Rows:
        """Gives for each row a record that has its key, and nothing else."""
        rows = self._functions.get(operation)
        if rows is None:
            rows = self._make.compile(self._plan, self._table, operation, rendering, self._accept_partial)
            self._functions[operation] = rows
        return rows

    def of(self, operation: Operation, b: bytes, p: int, end: int) -> list[bytes]:
        """The keys of an event's rows, in their order; of an update whose key has changed those before and after.

        Args:
            p, end: where the event's column count is, and where its rows end.

        Raises:
            DecodeError: E2304, the event lacks a column of the key, or any without `accept_partial`.
            struct.error, LookupError, ValueError: the rows are damaged.
        """
        records, append = self._make.collect(0)
        self.function(operation)(b, "", p, end, 0, append, self._context)  # raw bytes need no text
        return [key for _, key, *_ in records[: len(records)] if key is not None]


def _plan(table: Table, columns: tuple[str, ...]) -> TablePlan:
    by_name = {column.name: column.index for column in table.columns}
    # A document that is selected may have other bytes than the one of the stream; fewer columns only note more rows.
    usual = [column.name for column in table.columns if column.type != types.JSON] or by_name
    key = tuple(by_name[name] for name in columns or usual)
    before, after = _record(key, "before"), _record(key, "after")
    return TablePlan(
        topic="", insert=(after,), update=(after,), delete=(before,), rekey=(before, after), keys=key
    )  # fmt: skip


def _record(key: tuple[int, ...], image: Image) -> RecordPlan:
    template: Template = ()
    for index in key:
        template += (Value(index, image, "raw"), Text(","))
    return RecordPlan(template, None)
