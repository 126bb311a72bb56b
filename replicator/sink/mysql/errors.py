"""Errors of the target server while rows are written -> our codes."""

from __future__ import annotations

from typing import Final

from replicator.errors import ReplicatorError, SinkError, SinkUnavailable
from replicator.mysql import server_errors
from replicator.mysql.session import Session

DUPLICATE: Final = frozenset({1022, 1062, 1169, 1557, 1586, 1761, 1762})
NOT_ONE_ROW: Final = 1242
"""ER_SUBQUERY_NO_1_ROW: how the statement behind the position's says that the position row is not ours, and those of
SQL that a row is missing."""
NOT_FOUND: Final = frozenset({1032, NOT_ONE_ROW})
LOCKED: Final = frozenset({1205, 3572})
"""Lock wait timeout; NOWAIT on MySQL."""
NO_TABLE: Final = frozenset({1049, 1051, 1109, 1146})
TOO_LARGE: Final = frozenset({1153})
CACHE_FULL: Final = frozenset({1197, 1705})
"""ER_TRANS_CACHE_FULL and ER_STMT_CACHE_FULL: the target's own binlog does not take the transaction."""
_READ_ONLY: Final = frozenset({1290, 1792, 1836, 3100})
_REPEATED: Final = frozenset(
    {1020, 1021, 1026, 1030, 1041, 1114, 1180, 1205, 1206, 1213, 1223, 1296, 1297, 3, 28, 3101, 3572}
)
"""Deadlock, lock wait, full disk or memory, conflict in group replication: the transaction may succeed next time."""
_FOREIGN_KEY: Final = frozenset({1216, 1217, 1451, 1452, 1761})
_UNKNOWN: Final = 1105
"""ER_UNKNOWN_ERROR: what BINLOG says where the reason is in the server's log alone."""
_SHAPE: Final = frozenset({1532, 1535, 1677})


def of_transaction(error: ReplicatorError, session: Session) -> ReplicatorError:
    """For an error of the server that is not of one row."""
    number = server_errors.number_of(error)
    where = session.where
    if number in _READ_ONLY:
        return read_only(where, error.found)
    if number in _REPEATED:
        return _renamed(SinkUnavailable, "E3409", f"{where} has rolled back a transaction", error)
    if number in TOO_LARGE:
        return _renamed(SinkError, "E3426", f"{where} refuses the size of a packet", error)
    if number in CACHE_FULL:
        made = _renamed(SinkError, "E3426", f"a transaction does not fit into the binlog cache of {where}", error)
        made.fix = (
            "Raise max_binlog_cache_size (and max_binlog_stmt_cache_size, if it names that) at the target, to 16 MB or "
            "more; then `replicator task retry NAME`."
        )
        return made
    return error


def of_row(error: ReplicatorError, table: str, where: str) -> ReplicatorError:
    """For an error of the server that is of one row, or of rows of one table."""
    number = server_errors.number_of(error)
    if number in NOT_FOUND:
        what = f"a row that the source has changed or deleted is not in {table} at {where}"
        made = _renamed(SinkError, "E3423", what, error, table)
        if number == NOT_ONE_ROW:
            made.found = "no row with the key of the change"
        return made
    if number in DUPLICATE:
        what = f"a row of the source, or a unique value of it, is already in {table} at {where}"
        return _renamed(SinkError, "E3424", what, error, table)
    if number in NO_TABLE:
        return _renamed(SinkError, "E3421", f"table {table} does not exist at {where}", error, table)
    if number in _SHAPE:
        return _renamed(SinkError, "E3422", f"table {table} at {where} does not match the source's rows", error, table)
    if number in _FOREIGN_KEY:
        return _renamed(SinkError, "E3425", f"a foreign key of {where} refuses a row of {table}", error, table)
    made = _renamed(SinkError, "E3425", f"{where} refuses a row of {table}", error, table)
    if number == _UNKNOWN:
        made.fix = (
            "The error log of the target server has the reason: INSERT, UPDATE or DELETE is not granted on the table, "
            "or a column was altered."
        )
    return made


def is_conflict(error: ReplicatorError) -> bool:
    """The row is missing, or there already."""
    return server_errors.number_of(error) in NOT_FOUND | DUPLICATE - _FOREIGN_KEY


def is_of_row(error: ReplicatorError) -> bool:
    number = server_errors.number_of(error)
    return not error.transient and number not in _READ_ONLY | _REPEATED | TOO_LARGE | CACHE_FULL | server_errors.GRANT


def read_only(where: str, found: str) -> ReplicatorError:
    return SinkUnavailable("E3408", f"{where} does not accept writes", found=found, wanted="read_only = OFF")


def _renamed(
    kind: type[ReplicatorError], code: str, what: str, error: ReplicatorError, table: str = ""
) -> ReplicatorError:
    made = kind(code, what, found=error.found, table=table)
    made.__cause__ = error.__cause__
    return made
