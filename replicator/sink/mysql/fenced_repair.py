"""Transactions that correct rows of the target while the task's position row is locked.

A transaction of the task changes its position row first. So while the row is locked, the target has exactly what the
row's position says, and a term that runs waits for the end of the correction. The row's epoch and sequence stay as they
are: no term is fenced.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Final

from replicator.config.mysql_sink import MySQLSink
from replicator.errors import ProcessError, ReplicatorError
from replicator.model.position import Position
from replicator.model.table import Column
from replicator.model.target_table import UNCHECKED, TargetTables
from replicator.mysql import server_errors
from replicator.mysql.statement_text import Text
from replicator.mysql.table_shape import TableShape
from replicator.sink.mysql import events
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.ddl import is_begun
from replicator.sink.mysql.errors import LOCKED, NO_TABLE
from replicator.sink.mysql.position_table import PositionRow, PositionTable
from replicator.sink.mysql.routes import Routes
from replicator.sink.mysql.row_groups import Route, RowGroup, Rows, size_of, text
from replicator.sink.mysql.row_runs import Run
from replicator.sink.mysql.sql import sql_table
from replicator.sink.mysql.sql import statements as sql

IDLE_S: Final = 10
"""The server ends a session that is silent for longer than that: the lock of a process that hangs is released."""
_LOCK_S: Final = 5
_PAUSE_S: Final = 0.05


def of_rows(route: Route, operation: bytes, images: Sequence[bytes]) -> list[Text]:
    """The statements that write row images of the source. `operation`: I or U, of which the images are those before and
    after; a row is found by its primary key alone. Foreign keys are neither checked nor followed."""
    joined = b"".join(images)
    if route.transcode is not None:
        joined = b"".join(part for _, part in route.transcode(joined, 1, len(joined)))
    run = Run("", UNCHECKED + operation, len(images), joined)
    rows, group = Rows(route, run, (), 0), RowGroup()
    group.add(rows, size_of(rows))
    return group.statements()


def of_keys(database: str, name: str, columns: Sequence[Column], key: Sequence[int], images: Sequence[bytes]) -> Text:
    """The BINLOG statement that deletes rows. Arguments as of `FencedRepair.deletion`."""
    mapped, joined = columns[: max(key) + 1], b"".join(images)
    present = events.bitmap(len(mapped), key)
    header = events.rows_header("delete", 1, len(mapped), present, len(joined), last=True, unchecked=True)
    return text([events.table_map(database, name, mapped, 1), header, joined])


class FencedRepair:
    """One session with the target.

    Args:
        uid: of the task's incarnation; "": it is not known, and any will do.

    Raises:
        SinkUnavailable, SinkError.
        ProcessError: E5041, there is not exactly one position of the task.
    """

    def __init__(self, config: MySQLSink, password: str, task: str, uid: str) -> None:
        self._task, self._uid = task, uid
        self._target = Target(config, password)
        try:
            self._table = self._find(config)
            self._target.session.rows(f"SET SESSION wait_timeout = {IDLE_S}, innodb_lock_wait_timeout = {_LOCK_S}")
            self._target.describe()
        except BaseException:
            self._target.close()
            raise

    def routes(self, tables: TargetTables) -> Routes:
        return Routes(self._target, tables)

    def begin(self) -> Position:
        """Locks the position row, and changes it, so that the transaction is one of ours to a reader of the target's
        log. Returns the position of the target."""
        session = self._target.session
        self._lock()
        row = self._table.read(session, lock="FOR UPDATE")
        position = row.position if row is not None else None
        if row is None or position is None:
            raise _refused(f"'{self._task}' has no position at the target", "no row was written yet")
        if self._uid not in ("", row.uid):
            raise _refused(f"the position at the target is not that of the present task '{self._task}'", _shown(row))
        if is_begun(self._table.statement(session)):
            raise _refused(f"a statement of '{self._task}' is being executed at the target", _shown(row))
        if position.rows or (position.catch_up is not None and not position.catch_up.done):
            raise _refused(f"'{self._task}' is delivering rows of a table that was in quarantine", _shown(row))
        if position.snapshot is not None and not position.snapshot.ended_ms:
            raise _refused(f"'{self._task}' is taking a snapshot", _shown(row))
        return position

    def _lock(self) -> None:
        """Also the rows of branches, which are locked until all rows of a commit are there. A commit takes them before
        the position's: nothing is waited for while that one is held."""
        session, until = self._target.session, time.monotonic() + _LOCK_S
        while True:
            session.rows("BEGIN")
            self._table.touch(session)
            try:
                for number in self._table.branches(session):
                    self._table.of_branch(number).read(session, lock="FOR UPDATE NOWAIT")
                return
            except ReplicatorError as error:
                if server_errors.number_of(error) not in LOCKED or time.monotonic() > until:
                    raise
            self._target.rollback()
            time.sleep(_PAUSE_S)

    def deletion(
        self, shape: TableShape, columns: Sequence[Column], key: Sequence[int], images: Sequence[bytes]
    ) -> list[Text]:
        """The statements that delete rows. Foreign keys are neither checked nor followed.

        Args:
            shape: the table at the target, with the columns of its primary key alone, in their order.
            columns: all of its columns.
            key: indexes in `columns` of those that the images have.

        Raises SinkError E3427: rows can't be deleted by SQL.
        """
        if self._target.mode == "binlog":
            return [of_keys(shape.database, shape.name, columns, key, images)]
        sql_table.refuse_triggers(self._target.session, self._target.server, shape.database, shape.name)
        return list(sql.unchecked(sql.deletion_of(shape, images)))

    def write(self, statements: Iterable[Text]) -> None:
        """Raises SinkError: a row can't be written."""
        for statement in statements:
            outcome = self._target.execute(statement, 1)
            if outcome.error is not None:
                raise outcome.error

    def commit(self) -> None:
        """Raises SinkUnavailable: the outcome is unknown."""
        self._target.session.rows("COMMIT")

    def rollback(self) -> None:
        """Raises SinkUnavailable."""
        self._target.rollback()

    def close(self) -> None:
        self._target.close()

    def _find(self, config: MySQLSink) -> PositionTable:
        found = PositionTable(config.position_database, "", self._task)
        try:
            installations = found.installations(self._target.session)
        except ReplicatorError as error:
            if server_errors.number_of(error) not in NO_TABLE:
                raise
            installations = []
        if len(installations) != 1:
            raise ProcessError(
                "E5041",
                f"the target has not exactly one position of '{self._task}'",
                found=f"{len(installations)} rows in {found.name}"
                + (f", of the installations {', '.join(installations)}" if installations else ""),
                wanted="the position row of the task, which a repair locks",
                fix="Start the task once; delete the rows of installations that are not in use any more.",
            )
        return PositionTable(config.position_database, installations[0], self._task)


def _refused(what: str, found: str) -> ProcessError:
    return ProcessError("E5041", what, found=found, wanted="a task that replicates changes, or is paused")


def _shown(row: PositionRow) -> str:
    return f"{row.position}, epoch {row.epoch}, by {row.host or 'an unknown host'}"
