"""The table `replicator_position` at the target: one row for each task, with the position of its rows.

It is changed in the transaction of the rows, and is the first thing that the transaction changes: the row's lock and
its values keep earlier terms out.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from replicator.errors import ReplicatorError, SinkError
from replicator.model.bookkeeping import POSITION_TABLE, branch_name
from replicator.model.decoding import from_json
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.mysql import server_errors
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session
from replicator.sink.mysql.branches import xids
from replicator.sink.mysql.errors import NO_TABLE

TABLE: Final = POSITION_TABLE
DEFINITION: Final = """CREATE TABLE IF NOT EXISTS {table} (
  installation VARCHAR(64) NOT NULL,
  task VARCHAR(255) NOT NULL,
  uid VARCHAR(64) NOT NULL,
  epoch BIGINT UNSIGNED NOT NULL,
  sequence BIGINT UNSIGNED NOT NULL,
  connection_id BIGINT UNSIGNED NOT NULL,
  host VARCHAR(255) NOT NULL,
  position MEDIUMTEXT NOT NULL,
  statement MEDIUMTEXT,
  written_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6) ON UPDATE CURRENT_TIMESTAMP(6),
  PRIMARY KEY (installation, task)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"""
FENCE_STATEMENTS: Final = 2
"""See `PositionTable.fence`."""
_COLUMNS: Final = "uid, epoch, sequence, connection_id, host, position, written_at"


class PositionRow(msgspec.Struct, frozen=True):
    """
    Attributes:
        uid: the task's incarnation that wrote `position`.
        epoch: of the term that claimed the row last.
        sequence: rises with each change of the row.
        connection_id: of the session that claimed it.
        host: where that was.
        position: None: nothing is committed yet.
        written_at: for people.
    """

    uid: str
    epoch: int
    sequence: int
    connection_id: int
    host: str
    position: Position | None
    written_at: str


class PositionTable:
    """The row of one task."""

    def __init__(self, database: str, installation: str, task: str) -> None:
        self._database = database
        self.name = f"{quote_identifier(database)}.{TABLE}"
        self._key = (installation, task)
        self._where = b"installation = %s AND task = %s" % (literal(installation), literal(task))

    @property
    def definition(self) -> str:
        return DEFINITION.format(table=self.name)

    @property
    def owner(self) -> str:
        """See `xids.owner`."""
        return xids.owner(self.name, *self._key)

    def of_branch(self, number: int) -> PositionTable:
        """The row of a branch of the task's transactions. See `branches/recovery.py`."""
        installation, task = self._key
        return PositionTable(self._database, installation, branch_name(task, number))

    @property
    def branches_removal(self) -> str:
        """A statement for people that deletes the rows of branches."""
        installation, task = self._key
        return f"DELETE FROM {self.name} WHERE installation = '{installation}' AND task LIKE '{task}/%'"  # noqa: S608

    def branches(self, session: Session) -> list[int]:
        """Numbers of those that have a row. Raises SinkError, SinkUnavailable."""
        installation, task = self._key
        prefix = branch_name(task, "")
        sql = f"SELECT task FROM {self.name} WHERE installation = %s AND LEFT(task, %s) = %s"  # noqa: S608 (quoted)
        found = (row[0][len(prefix) :] for row in session.rows(sql, (installation, len(prefix), prefix)))
        return sorted(int(number) for number in found if number.isdecimal())

    def create(self, session: Session) -> None:
        """Raises SinkError, SinkUnavailable."""
        if not session.rows("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s", (self._database,)):
            session.rows(f"CREATE DATABASE IF NOT EXISTS {quote_identifier(self._database)}")
        session.rows(self.definition)

    def read(self, session: Session, *, lock: str = "") -> PositionRow | None:
        """`lock`: clause behind the SELECT. Raises SinkError, SinkUnavailable."""
        sql = f"SELECT {_COLUMNS} FROM {self.name} WHERE installation = %s AND task = %s {lock}"  # noqa: S608 (quoted)
        try:
            found = session.rows(sql, self._key)
        except ReplicatorError as error:
            if server_errors.number_of(error) in _OTHER_COLUMNS:
                raise self._unusable(error) from error
            raise
        return self._row(found[0]) if found else None

    def installations(self, session: Session) -> list[str]:
        """Ids of those that have a row for a task of this name. Raises SinkError, SinkUnavailable."""
        sql = f"SELECT installation FROM {self.name} WHERE task = %s ORDER BY installation"  # noqa: S608 (quoted)
        return [str(row[0]) for row in session.rows(sql, self._key[1:])]

    def touch(self, session: Session) -> None:
        """Locks the row, and changes it, inside a transaction. Raises SinkError, SinkUnavailable."""
        sql = f"UPDATE {self.name} SET written_at = CURRENT_TIMESTAMP(6) WHERE installation = %s AND task = %s"  # noqa: S608
        session.rows(sql, self._key)

    def exists(self, session: Session) -> bool:
        try:
            self.read(session)
        except SinkError as error:
            if server_errors.number_of(error) not in NO_TABLE:
                raise
            return False
        return True

    def claim(self, session: Session, row: PositionRow | None, term: Term) -> int:
        """Makes the row the term's; inside a transaction that has read it. Returns its sequence."""
        if row is None:
            sql = (
                f"INSERT INTO {self.name} (installation, task, uid, epoch, sequence, connection_id, host, position) "  # noqa: S608
                "VALUES (%s, %s, %s, %s, 1, CONNECTION_ID(), %s, '')"
            )
            session.rows(sql, (*self._key, term.uid, term.epoch, term.host))
            return 1
        sql = (
            f"UPDATE {self.name} SET epoch = %s, sequence = %s, connection_id = CONNECTION_ID(), host = %s "  # noqa: S608
            "WHERE installation = %s AND task = %s"
        )
        session.rows(sql, (term.epoch, row.sequence + 1, term.host, *self._key))
        return row.sequence + 1

    def statement(self, session: Session) -> str:
        """What the row says of a statement of the source; "" without."""
        sql = f"SELECT statement FROM {self.name} WHERE installation = %s AND task = %s"  # noqa: S608 (quoted)
        try:
            return str(session.value(sql, self._key) or "")
        except ReplicatorError as error:
            if server_errors.number_of(error) in _OTHER_COLUMNS:
                raise self._unusable(error) from error
            raise

    def fence(self, term: Term, sequence: int, position: Position | None, statement: bytes | None = None) -> bytes:
        """Two statements: the first changes the row if it is still this term's, the second fails if it was not.

        Args:
            sequence: of the row before.
            position: that it gets; None: the one that it has.
            statement: what it says of one; None: as before.
        """
        change = b""
        if position is not None:
            change = b", uid = %s, position = %s" % (literal(term.uid), _quoted(msgspec.json.encode(position)))
        if statement is not None:
            change += b", statement = %s" % (_quoted(statement) if statement else b"NULL")
        return (
            b"UPDATE %s SET sequence = sequence + 1%s WHERE %s AND epoch = %d AND sequence = %d;"
            b"SET @replicator_fence = IF(ROW_COUNT() = 1, 1, (SELECT 1 UNION ALL SELECT 2))"
            % (self.name.encode(), change, self._where, term.epoch, sequence)
        )

    def _row(self, row: tuple[Any, ...]) -> PositionRow:
        text = str(row[5])
        try:
            position = from_json(text, Position) if text else None
        except msgspec.MsgspecError as error:
            raise SinkError(
                "E3411",
                f"the position in {self.name} can't be read",
                found=f"{error}: {text[:80]}",
                wanted="a position that this version has written",
                fix="Run the version that wrote it; or set the position with `replicator task position set NAME`, "
                "then `replicator task retry NAME`.",
            ) from error
        return PositionRow(str(row[0]), int(row[1]), int(row[2]), int(row[3]), str(row[4]), position, str(row[6]))

    def _unusable(self, error: ReplicatorError) -> SinkError:
        return SinkError(
            "E3411",
            f"{self.name} has other columns",
            found=error.found,
            wanted=self.definition,
            fix="Change its columns to the definition that is wanted (`replicator docs targets`); then "
            "`replicator task retry NAME`.",
        )


_OTHER_COLUMNS: Final = frozenset({1054})


def literal(text: str) -> bytes:
    return _quoted(text.encode())


def _quoted(raw: bytes) -> bytes:
    """Our sessions have no NO_BACKSLASH_ESCAPES."""
    return b"'" + raw.replace(b"\\", b"\\\\").replace(b"'", b"\\'") + b"'"
