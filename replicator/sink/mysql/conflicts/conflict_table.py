"""The table `replicator_conflicts` at the target: one row for each conflict, written in the transaction of the rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import msgspec

from replicator.errors import SinkError
from replicator.mysql import server_errors
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session
from replicator.sink.mysql.errors import NO_TABLE
from replicator.sink.mysql.position_table import literal

TABLE: Final = "replicator_conflicts"
DEFINITION: Final = """CREATE TABLE IF NOT EXISTS {table} (
  id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
  installation VARCHAR(64) NOT NULL,
  task VARCHAR(255) NOT NULL,
  noted_at TIMESTAMP(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
  source_position VARCHAR(255) NOT NULL,
  source_row BIGINT UNSIGNED NOT NULL,
  table_schema VARCHAR(64) NOT NULL,
  table_name VARCHAR(64) NOT NULL,
  kind VARCHAR(16) NOT NULL,
  policy VARCHAR(16) NOT NULL,
  decision VARCHAR(16) NOT NULL,
  row_key LONGTEXT NOT NULL,
  expected_row LONGTEXT,
  found_row LONGTEXT,
  new_row LONGTEXT,
  PRIMARY KEY (id),
  KEY task (installation, task, id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin ROW_FORMAT=DYNAMIC"""
_COLUMNS: Final = (
    "installation, task, source_position, source_row, table_schema, table_name, kind, policy, decision, row_key, "
    "expected_row, found_row, new_row"
)
_OTHER_COLUMNS: Final = frozenset({1054})
_LETTER: Final = "dead_letter"


class Entry(msgspec.Struct, frozen=True):
    """A row of the table. `key`, `expected`, `found`, `new`: JSON objects; None: there is no such row."""

    position: str
    row: int
    database: str
    table: str
    kind: str
    policy: str
    decision: str
    key: str
    expected: str | None
    found: str | None
    new: str | None


class ConflictTable:
    """The rows of one task.

    Args:
        keep: rows of it that remain; the oldest are deleted. Dead letters are not: more of them stop the task.
    """

    def __init__(self, database: str, installation: str, task: str, keep: int) -> None:
        self._database = quote_identifier(database)
        self.name = f"{self._database}.{TABLE}"
        self._installation, self._task, self._keep = installation, task, keep
        self._prefix = b"(%s, %s, " % (literal(installation), literal(task))

    @property
    def definition(self) -> str:
        return DEFINITION.format(table=self.name)

    def prepare(self, session: Session, *, create: bool) -> None:
        """Raises SinkError E3453, the table is missing or has other columns; SinkUnavailable."""
        try:
            session.rows(f"SELECT id, noted_at, {_COLUMNS} FROM {self.name} LIMIT 0")  # noqa: S608 (quoted)
        except SinkError as error:
            number = server_errors.number_of(error)
            if number in _OTHER_COLUMNS or (number in NO_TABLE and not create):
                raise SinkError(
                    "E3453",
                    f"{self.name} at {session.where} cannot be written",
                    found=error.found,
                    wanted=self.definition,
                    fix="Create the table as in `replicator docs targets` or change its columns, and GRANT INSERT on "
                    "it; then `replicator task retry NAME`.",
                ) from error
            if number not in NO_TABLE:
                raise
            session.rows(self.definition)

    def inserts(self, entries: Sequence[Entry], room: int) -> Iterator[bytes]:
        """Statements of at most `room` bytes each, unless one entry alone has more."""
        head = f"INSERT INTO {self.name} ({_COLUMNS}) VALUES ".encode()  # noqa: S608 (quoted)
        part: list[bytes] = []
        size = len(head)
        for entry in entries:
            row = self._prefix + b", ".join(map(_written, msgspec.structs.astuple(entry))) + b")"
            if part and size + len(row) > room:
                yield head + b", ".join(part)
                part, size = [], len(head)
            part.append(row)
            size += len(row) + 2
        if part:
            yield head + b", ".join(part)

    def trim(self, session: Session) -> None:
        """Deletes the oldest rows. Raises SinkError E3454: there are too many dead letters; SinkUnavailable."""
        of_task = (self._installation, self._task)
        select = f"SELECT id FROM {self.name} WHERE installation = %s AND task = %s AND policy"  # noqa: S608
        last = f" ORDER BY id DESC LIMIT {self._keep}, 1"
        if session.rows(f"{select} = '{_LETTER}'{last}", of_task):
            raise SinkError(
                "E3454",
                f"{self.name} at {session.where} has too many dead letters of the task",
                found=f"more than {self._keep}",
                wanted="sink.keep_conflicts or fewer",
                fix=f"Apply or discard the changes and DELETE their rows from {self.name}; then "
                "`replicator task retry NAME`.",
            )
        found = session.value(f"{select} <> '{_LETTER}'{last}", of_task)
        if found is not None:
            session.rows(
                f"DELETE FROM {self.name} WHERE installation = %s AND task = %s AND policy <> '{_LETTER}' AND id <= %s",  # noqa: S608
                (*of_task, found),
            )


def _written(value: str | int | None) -> bytes:
    if value is None:
        return b"NULL"
    return b"%d" % value if isinstance(value, int) else literal(value)
