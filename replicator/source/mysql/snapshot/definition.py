"""Definition of one table at the server: its text, which shows whether it has changed, and what is derived from it."""

from __future__ import annotations

import re
import zlib
from typing import Final

import msgspec

from replicator.errors import SourceError
from replicator.model import types
from replicator.mysql import server_errors, table_map, table_shape
from replicator.mysql import table_key as keys
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.mysql.table_key import Key
from replicator.mysql.table_shape import ColumnShape, TableShape

_MISSING: Final = frozenset({1049, 1051, 1109, 1146})
ALTERED: Final = _MISSING | {1054, 1412, 1615}
"""What a SELECT says whose table was altered: no such table or column, another definition."""
_EXISTS: Final = "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_COUNTER: Final = re.compile(r" AUTO_INCREMENT=\d+")


class Definition(msgspec.Struct, frozen=True):
    """
    Attributes:
        text: see `text_of`.
        key: None: there is none that orders the table.
        key_types: see `OpenTable.key_types`.
        table_map: body of its TABLE_MAP event.
    """

    text: str
    shape: TableShape
    key: Key | None
    key_types: str
    table_map: bytes

    @property
    def key_names(self) -> tuple[str, ...]:
        return tuple(self.shape.columns[index].name for index in self.key.columns) if self.key else ()


def split(session: Session, table: str) -> tuple[str, str]:
    """Database and name of `database.table`. Names may have dots, too: then the server is asked where the first ends.

    Raises SourceUnavailable, SourceError.
    """
    parts = table.split(".")
    for at in range(1, len(parts) - 1):
        found = ".".join(parts[:at]), ".".join(parts[at:])
        if session.rows(_EXISTS, found):
            return found
    return ".".join(parts[:-1]), parts[-1]


def quoted(session: Session, table: str) -> str:
    """`split`, in backticks. Raises ValueError for what no table can be."""
    database, name = split(session, table)
    return f"{quote_identifier(database)}.{quote_identifier(name)}"


def text_of(session: Session, table: str) -> str | None:
    """SHOW CREATE TABLE without the counter of AUTO_INCREMENT; None: there is no such table, or it is a view.

    Raises:
        SourceUnavailable, SourceError.
    """
    try:
        row = session.rows("SHOW CREATE TABLE " + quoted(session, table))[0]
    except ValueError:
        return None
    except SourceError as error:
        if server_errors.number_of(error) in _MISSING:
            return None
        raise denied(error, session, table) from error
    return _COUNTER.sub("", str(row[1])) if len(row) == 2 else None


def read(session: Session, server: Server, table: str, table_id: int) -> Definition | None:
    """None: there is no such table. The account has to have SELECT on all of its columns, as the server hides those
    that it may not see. Raises SourceUnavailable, SourceError."""
    while True:
        text = text_of(session, table)
        if text is None:
            return None
        database, name = split(session, table)
        try:
            session.rows("SELECT * FROM " + quoted(session, table) + " LIMIT 0")  # noqa: S608
            found = table_shape.read(session, server, database, name)
            key = keys.choose(session, found)
        except SourceError as error:
            if error.code != "E2306" and server_errors.number_of(error) not in _MISSING:
                raise denied(error, session, table) from error
            if text_of(session, table) == text:
                raise
            continue
        if text_of(session, table) == text:
            body = table_map.body(found, table_id, mariadb=server.mariadb)
            return Definition(text, found, key, _key_types(found, key), body)


def denied(error: SourceError, session: Session, table: str) -> SourceError:
    """`error`, or what it means where the account may not read the table."""
    if server_errors.number_of(error) not in server_errors.GRANT:
        return error
    account = server_errors.account_of(session.user)
    return SourceError(
        "E2104",
        f"the account {account} may not read {table}",
        found=error.found or "",
        wanted="SELECT on all columns of every table that is in the snapshot",
        fix=f"GRANT SELECT ON {quoted(session, table)} TO {account};",
        table=table,
    )


_MEASURED: Final = {types.NEWDECIMAL, types.TIME2, types.DATETIME2, types.TIMESTAMP2, types.STRING}


def _key_types(shape: TableShape, key: Key | None) -> str:
    return ",".join(_key_type(shape.columns[index]) for index in key.columns) if key else ""


def _key_type(column: ColumnShape) -> str:
    """What the order of its values depends on."""
    name = types.NAMES.get(column.type, str(column.type)).lower()
    if column.members:
        return f"{name}({zlib.crc32(b'|'.join(column.members)):08x})"
    if column.type in _MEASURED:  # another fraction, scale or length makes other values of the same rows
        name += f"[{column.meta}]"
    return f"{name}({column.collation_name})" if column.collation_name else name
