"""What a task leaves at its target besides rows: names of its tables, in the database of `sink.position_database`, and
the mark of its statements."""

from __future__ import annotations

from typing import Final
from zlib import crc32

POSITION_TABLE: Final = "replicator_position"
CONFLICT_TABLE: Final = "replicator_conflicts"
BOOKKEEPING: Final = frozenset({POSITION_TABLE, CONFLICT_TABLE})
"""Never replicated: they say what tasks have done with this server."""

_BRANCH: Final = "/"
"""Not in the names of tasks."""

FIRST_MARK: Final = 0xFFFF0000
_MARKS: Final = 1 << 16
"""The highest connection ids: a server gets there after four billion connections without a restart."""


def branch_name(task: str, number: int | str) -> str:
    """What the rows of a task's further connections have as their task in the position table."""
    return f"{task}{_BRANCH}{number}"


def task_of(name: bytes) -> bytes:
    """The task of a row of the position table."""
    return name.partition(_BRANCH.encode())[0]


def statement_mark(task: str) -> int:
    """The connection id that binlogs have with statements (DDL) of a task. It is set as `pseudo_thread_id`: a comment
    would not be in the binlog of a DROP TABLE, and the position row can't be changed together with a statement."""
    return FIRST_MARK + crc32(task.encode()) % _MARKS
