"""Definitions of tables and databases at the target, to be compared with later ones."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, TypeAlias

import msgspec

from replicator.errors import ReplicatorError
from replicator.mysql import server_errors
from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session
from replicator.sink.mysql.errors import NO_TABLE

Name: TypeAlias = tuple[str, str]
_COUNTER: Final = re.compile(r" AUTO_INCREMENT=\d+")
_CREATED: Final = "SELECT CREATE_TIME FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s"
_ABSENT: Final = NO_TABLE | {1008, 1049}


class Definitions(msgspec.Struct, frozen=True):
    """Each as the server writes it; "" of what does not exist. `created`: when MySQL made the table: a rebuilt or
    emptied one is another one. MariaDB has no such time."""

    tables: tuple[str, ...] = ()
    databases: tuple[str, ...] = ()
    created: tuple[str, ...] = ()

    def any_of(self, names: Sequence[Name]) -> bool:
        """Whether any of the tables exists."""
        return any(self.tables[: len(names)])

    def kept_by(self, names: Sequence[Name], renames: Iterable[tuple[Name, Name]]) -> bool:
        """Whether tables that change their names leave the same definitions behind: then nothing tells whether they
        did."""
        before = {
            name: (text.replace(quote_identifier(name[1]), "", 1), made)
            for name, text, made in zip(names, self.tables, self.created, strict=True)
            if text
        }
        after = dict(before)
        for old, new in renames:
            if old in after:
                after[new] = after.pop(old)
        return after == before


def read_definitions(session: Session, tables: Iterable[Name], databases: Iterable[str]) -> Definitions:
    """Raises SinkUnavailable, SinkError."""
    names = list(tables)
    mariadb = "mariadb" in str(session.value("SELECT VERSION()")).lower()
    return Definitions(
        tuple(_COUNTER.sub("", _shown(session, f"SHOW CREATE TABLE {_written(name)}")) for name in names),
        tuple(_shown(session, f"SHOW CREATE DATABASE {quote_identifier(name)}") for name in databases),
        tuple("" if mariadb else str(session.value(_CREATED, name) or "") for name in names),
    )


def _shown(session: Session, sql: str) -> str:
    try:
        return str(session.rows(sql)[0][1])
    except ReplicatorError as error:
        if server_errors.number_of(error) not in _ABSENT:
            raise
        return ""


def _written(name: Name) -> str:
    return f"{quote_identifier(name[0])}.{quote_identifier(name[1])}"
