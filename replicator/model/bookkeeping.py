"""What a task leaves at its target besides rows: names of its tables, in the database of `sink.position_database`, and
the mark of its statements."""

from __future__ import annotations

from typing import Final
from zlib import crc32

POSITION_TABLE: Final = "replicator_position"
CONFLICT_TABLE: Final = "replicator_conflicts"
BOOKKEEPING: Final = frozenset({POSITION_TABLE, CONFLICT_TABLE})
"""Never replicated: they say what tasks have done with this server."""

FIRST_MARK: Final = 0xFFFF0000
_MARKS: Final = 1 << 16
"""The highest connection ids: a server gets there after four billion connections without a restart."""


def statement_mark(task: str) -> int:
    """The connection id that binlogs have with statements (DDL) of a task. It is set as `pseudo_thread_id`: a comment
    would not be in the binlog of a DROP TABLE, and the position row can't be changed together with a statement."""
    return FIRST_MARK + crc32(task.encode()) % _MARKS
