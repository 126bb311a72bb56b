"""Reads what the tables of a server look like now, without a lock: for a schema history that has yet to begin.

Position, definitions, and both again, until nothing was written in between or two readings agree: then no DDL fell
into the time between them, and the definitions hold at the later position. One statement a table and reading; the
texts of one reading are held, or of two while they are compared (1 to 2 kB a table).
"""

from __future__ import annotations

import hashlib
from typing import Final

from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource
from replicator.errors import SourceError, SourceUnavailable
from replicator.model.schema import Reading, TableText
from replicator.source.mysql import positions
from replicator.source.mysql.identifiers import quote_identifier
from replicator.source.mysql.server import read_server
from replicator.source.mysql.session import Session

_READINGS: Final = 5
_SYSTEM: Final = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
_COMPANIONS: Final = ("_gho", "_ghc", "_del", "_new", "_old")
"""Tables of online schema changes: `_items_new` is renamed to `items` one day."""
_SETTINGS: Final = ("SET SESSION sql_quote_show_create = 1", "SET SESSION sql_mode = ''")


def read(config: MySQLSource, password: str) -> Reading:
    """
    Raises:
        SourceUnavailable: not reachable, or DDL in every reading: try again.
        SourceError: refused.
    """
    with Session(config, password) as session:
        return _Reader(session, config).consistent()


class _Reader:
    def __init__(self, session: Session, config: MySQLSource) -> None:
        self._session = session
        self._server = read_server(session)
        self._choice = TableFilter(config.tables)
        self._where = f"{config.host}:{config.port}"
        for setting in _SETTINGS:
            session.rows(setting)

    def consistent(self) -> Reading:
        reading = self._once()
        for _ in range(_READINGS):
            after = positions.end_position(self._session, self._server)
            if after == reading.position:
                return reading
            again = self._once()
            if _digest(again) == _digest(reading):
                return again
            reading = again
        raise SourceUnavailable(
            "E2216",
            f"the tables of {self._where} change faster than they can be read",
            found=f"DDL during each of {_READINGS} readings",
            wanted="one reading without",
        )

    def _once(self) -> Reading:
        position = positions.end_position(self._session, self._server)
        return Reading(
            position,
            tuple(self._text(database, name) for database, name in self._names()),
            self._databases(),
            folded=str(self._session.value("SELECT @@lower_case_table_names")) != "0",
            named=self._server.get("binlog_row_metadata").upper() == "FULL",
        )

    def _names(self) -> list[tuple[str, str]]:
        rows = self._session.rows(
            "SELECT TABLE_SCHEMA, TABLE_NAME FROM information_schema.TABLES "
            "WHERE TABLE_TYPE NOT IN ('VIEW', 'SYSTEM VIEW', 'SEQUENCE', 'TEMPORARY') ORDER BY 1, 2"
        )
        return [(str(row[0]), str(row[1])) for row in rows if row[0] not in _SYSTEM and self._wanted(*row)]

    def _wanted(self, database: str, name: str) -> bool:
        matches = self._choice.matches
        if matches(database, name):
            return True
        suffix = next((end for end in _COMPANIONS if name.startswith("_") and name.endswith(end)), "")
        return bool(suffix) and matches(database, name[1 : -len(suffix)])

    def _text(self, database: str, name: str) -> TableText:
        """Without a text where the account may not see it, or the table has just gone: the next reading tells."""
        try:
            table = f"{quote_identifier(database)}.{quote_identifier(name)}"
            rows = self._session.rows(f"SHOW CREATE TABLE {table}")
        except SourceError as error:
            if error.transient:
                raise
            return TableText(database, name, None)
        return TableText(database, name, str(rows[0][1]) if rows else None)

    def _databases(self) -> dict[str, tuple[str, str]]:
        rows = self._session.rows(
            "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME FROM information_schema.SCHEMATA "
            "UNION ALL SELECT '', @@GLOBAL.character_set_server, @@GLOBAL.collation_server"
        )
        return {str(name): (str(charset), str(collation)) for name, charset, collation in rows if name not in _SYSTEM}


def _digest(reading: Reading) -> bytes:
    found = hashlib.sha256()
    for table in reading.tables:
        found.update(repr((table.database, table.name, table.text)).encode("utf-8", "surrogatepass"))
    found.update(repr(sorted(reading.databases.items())).encode())
    return found.digest()
