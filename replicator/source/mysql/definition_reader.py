"""Reads the current table definitions of a server without a lock, for a schema history that is empty or incomplete.

What was executed, definitions, the end of the log. DDL holds the lock of its table until it is executed, and SHOW
CREATE TABLE waits for that lock: a definition has every statement that was executed before it was read, and none that
the log does not have behind it. What the log has in between may be in it or not, which the caller finds out there. One
statement a table; the texts are held (1 to 2 kB a table).
"""

from __future__ import annotations

from typing import Final

from replicator.config.tables import TableFilter
from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.model.schema_history import ServerDefinitions, TableText
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.source.mysql import positions
from replicator.source.mysql.group_member import check_member, hosts_of

_SYSTEM: Final = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
_COMPANIONS: Final = ("_gho", "_ghc", "_del", "_new", "_old")
"""Tables of online schema changes: `_items_new` is renamed to `items` one day."""
_SETTINGS: Final = ("SET SESSION sql_quote_show_create = 1", "SET SESSION sql_mode = ''")


def read(config: MySQLSource, password: str) -> ServerDefinitions:
    """
    Raises:
        SourceUnavailable: not reachable.
        SourceError: refused.
    """
    return hosts_of(config).first(lambda member: _read(member, password))


def _read(member: MySQLSource, password: str) -> ServerDefinitions:
    with Session(member, password) as session:
        check_member(read_server(session), member)
        return _Reader(session, member).reading()


class _Reader:
    def __init__(self, session: Session, config: MySQLSource) -> None:
        self._session = session
        self._server = read_server(session)
        self._choice = TableFilter(config.tables)
        for setting in _SETTINGS:
            session.rows(setting)

    def reading(self) -> ServerDefinitions:
        before = positions.end_position(self._session, self._server)
        tables = tuple(self._text(database, name) for database, name in self._names())
        databases = self._databases()
        after = positions.end_position(self._session, self._server)
        return ServerDefinitions(
            before,
            tables,
            databases,
            end=after if after != before else None,
            folded=str(self._session.value("SELECT @@lower_case_table_names")) != "0",
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
        """Without a text where the account may not see it, or the table has just gone: the log tells."""
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
