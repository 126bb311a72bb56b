"""Recognises what a task has written: transactions whose first row event is of `replicator_position`, and statements by
their connection id."""

from __future__ import annotations

import struct
from collections.abc import Collection
from typing import Final

from replicator.decode.plan.table_versions import Guard
from replicator.errors import DecodeError
from replicator.model import types
from replicator.model.bookkeeping import FIRST_MARK, POSITION_TABLE, statement_mark, task_of
from replicator.model.table import Column, Table

_KEY: Final = 2
"""Columns of the key, which come first: installation, task. All row images have them."""
_UPDATE: Final = 1
_ONE_BYTE: Final = 255
"""Longest VARCHAR, in bytes, whose length has one byte."""


class LoopGuard:
    """
    Args:
        tasks: whose transactions are skipped, by any installation; None: those of all tasks.
    """

    def __init__(self, tasks: Collection[str] | None) -> None:
        self._tasks = None if tasks is None else frozenset(task.encode() for task in tasks)
        self._marks = None if tasks is None else frozenset(map(statement_mark, tasks))

    def skips_statement(self, thread: int) -> bool:
        """`thread`: connection id of a statement that is a transaction of its own."""
        return thread >= FIRST_MARK if self._marks is None else thread in self._marks

    def of(self, table: Table) -> Guard | None:
        """For row events of this table; None where it says nothing about its transactions."""
        if table.name != POSITION_TABLE:
            return None
        key = table.columns[:_KEY]
        if len(key) < _KEY or any(column.type != types.VARCHAR for column in key):
            return None  # another table of this name
        tasks = self._tasks
        if tasks is None:
            return lambda body, at, operation: True
        count = len(table.columns)
        return lambda body, at, operation: task_of(_task(body, at, operation, key, count)) in tasks


def _task(body: bytes, at: int, operation: int, key: tuple[Column, ...], count: int) -> bytes:
    """The task of the first row. Raises DecodeError E2280."""
    try:
        if body[at] != count:
            raise ValueError(f"{body[at]} columns")
        bitmap = -(-count // 8)
        present = body[at + 1 : at + 1 + bitmap]
        at += 1 + bitmap * (2 if operation == _UPDATE else 1)
        if present[0] & 0b11 != 0b11:
            raise ValueError("no key in the row image")
        at += -(-sum(byte.bit_count() for byte in present) // 8)  # which of them are NULL
        _, at = _text(body, at, key[0])
        return _text(body, at, key[1])[0]
    except (ValueError, IndexError, struct.error) as error:
        raise DecodeError(
            "E2280",
            f"a row event of {POSITION_TABLE} does not say which task has written its transaction",
            found=str(error),
            wanted="a row image with the columns installation and task",
            fix=f"Change the columns of {POSITION_TABLE} to those of `replicator docs targets`, with binlog_row_image "
            f"FULL, or set `source.skip_replicated: all`.",
        ) from error


def _text(body: bytes, at: int, column: Column) -> tuple[bytes, int]:
    """Value and the first byte behind it."""
    size = 1 if column.meta <= _ONE_BYTE else 2
    start = at + size
    end = start + int.from_bytes(body[at:start], "little")
    if end > len(body):
        raise ValueError("the row is truncated")
    return body[start:end], end
