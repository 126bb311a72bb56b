"""Numbers that InnoDB gives to tables and partitions, by which an exchange of their rows is noticed.

EXCHANGE PARTITION swaps the rows of a table and a partition, also below a consistent view, and changes neither their
definitions nor their times of creation. Only the numbers move with the rows. The account needs PROCESS to see them.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from replicator.errors import SourceError
from replicator.mysql import server_errors
from replicator.mysql.server import Server
from replicator.mysql.session import Session

Ids: TypeAlias = dict[str, frozenset[tuple[str, int]]]
"""`database.table` in small letters, `@` for those that are not of ASCII -> names and numbers of its parts."""

_STATEMENTS: Final = (
    "SHOW GLOBAL STATUS "
    "WHERE Variable_name IN ('Com_alter_table', 'Com_rename_table', 'Com_truncate', 'Com_drop_table')"
)
_IDS: Final = "SELECT NAME, TABLE_ID FROM information_schema.INNODB_TABLES"
_OLDER_IDS: Final = "SELECT NAME, TABLE_ID FROM information_schema.INNODB_SYS_TABLES"
_ENCODED: Final = re.compile("@(?:([0-9a-f]{4})|[0-9a-z]{2})")
_HIDDEN: Final = frozenset({1109, 1142, 1227})


def statements(session: Session) -> str:
    """How many statements that may exchange tables the server has begun: the numbers change only when this does."""
    return str(sorted(session.rows(_STATEMENTS)))


def read(session: Session, server: Server) -> Ids | None:
    """Of all tables; None: the account may not see them. Raises SourceUnavailable."""
    older = server.mariadb or server.version < (8,)
    try:
        rows = session.rows(_OLDER_IDS if older else _IDS)
    except SourceError as error:
        if server_errors.number_of(error) not in _HIDDEN:
            raise
        return None
    found: dict[str, set[tuple[str, int]]] = {}
    for name, number in rows:
        found.setdefault(_table(str(name)), set()).add((str(name), int(number)))
    return {table: frozenset(parts) for table, parts in found.items()}


def of(ids: Ids, database: str, name: str) -> frozenset[tuple[str, int]]:
    """Of one table."""
    table = f"{database}.{name}".lower()
    return ids.get("".join(letter if letter.isascii() else "@" for letter in table), frozenset())


def _table(name: str) -> str:
    """`database/table#p#partition`, in the characters of file names -> the key of `Ids`."""
    database, _, rest = name.lower().partition("/")
    return ".".join(_ENCODED.sub(_letter, part) for part in (database, rest.partition("#")[0]))


def _letter(match: re.Match[str]) -> str:
    code = int(match[1], 16) if match[1] else 0x80
    return chr(code).lower() if code < 0x80 else "@"
