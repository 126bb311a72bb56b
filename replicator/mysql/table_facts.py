"""Definitions of many tables at once, as information_schema has them: columns, keys, triggers, foreign keys."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from replicator.mysql.identifiers import quote_identifier
from replicator.mysql.session import Session

Name = tuple[str, str]
"""(database, table)."""
_AT_ONCE: Final = 300
_TYPE: Final = re.compile(r"(?P<kind>\w+)(?:\s*\((?P<arguments>.*)\))?", re.DOTALL)
_MEMBER: Final = re.compile(r"'((?:[^']|'')*)'")

_TABLES: Final = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES "
    "WHERE TABLE_TYPE IN ('BASE TABLE', 'SYSTEM VERSIONED') AND (TABLE_SCHEMA, TABLE_NAME) IN ({})"
)
_COLUMNS: Final = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, COLUMN_TYPE, IS_NULLABLE, COLUMN_DEFAULT, EXTRA, "
    "CHARACTER_SET_NAME, COLLATION_NAME, CHARACTER_OCTET_LENGTH FROM information_schema.COLUMNS "
    "WHERE (TABLE_SCHEMA, TABLE_NAME) IN ({}) ORDER BY TABLE_SCHEMA, TABLE_NAME, ORDINAL_POSITION"
)
_KEYS: Final = (
    "SELECT TABLE_SCHEMA, TABLE_NAME, INDEX_NAME, COLUMN_NAME, SUB_PART FROM information_schema.STATISTICS "
    "WHERE NON_UNIQUE = 0 AND (TABLE_SCHEMA, TABLE_NAME) IN ({}) ORDER BY 1, 2, 3, SEQ_IN_INDEX"
)
_TRIGGERS: Final = (
    "SELECT EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME FROM information_schema.TRIGGERS "
    "WHERE (EVENT_OBJECT_SCHEMA, EVENT_OBJECT_TABLE) IN ({}) ORDER BY 1, 2, 3"
)
_CHILDREN: Final = (
    "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME, 1 FROM information_schema.KEY_COLUMN_USAGE "
    "WHERE REFERENCED_TABLE_NAME IS NOT NULL AND (TABLE_SCHEMA, TABLE_NAME) IN ({})"
)
_PART: Final = r"`((?:[^`]|``)+)`"
_FOREIGN: Final = re.compile(
    rf"CONSTRAINT {_PART} FOREIGN KEY \(.*?\) REFERENCES (?:{_PART}\.)?{_PART} \([^)]*\)(?P<actions>[^\n,]*)"
)
_ACTING: Final = re.compile(r"ON (?:DELETE|UPDATE) (?:CASCADE|SET NULL|SET DEFAULT)")


class ColumnFacts(msgspec.Struct, frozen=True):
    """Attributes:
    type: as the server writes it, in lower case except members.
    kind, arguments: `decimal`, ("10", "2"); members of ENUM and SET unquoted.
    octets: most bytes of a value of characters or bytes; 0 for other types.
    has_default: rows may be inserted without it.
    """

    name: str
    type: str
    kind: str
    arguments: tuple[str, ...]
    unsigned: bool
    nullable: bool
    has_default: bool
    generated: bool
    charset: str
    collation: str
    octets: int


class ForeignKey(msgspec.Struct, frozen=True):
    """`cascades`: a change of the parent changes rows of the child."""

    name: str
    parent: Name
    cascades: bool


class TableFacts(msgspec.Struct, frozen=True):
    """`uniques`: name -> columns of unique keys without the primary key, in lower case; a part of a column, or an
    expression, has parentheses."""

    database: str
    name: str
    engine: str
    columns: tuple[ColumnFacts, ...]
    primary_key: tuple[str, ...] = ()
    uniques: dict[str, tuple[str, ...]] = {}
    triggers: tuple[str, ...] = ()
    foreign_keys: tuple[ForeignKey, ...] = ()

    @property
    def qualified(self) -> str:
        return f"{self.database}.{self.name}"

    def column(self, name: str) -> ColumnFacts | None:
        folded = name.lower()
        return next((column for column in self.columns if column.name.lower() == folded), None)


def read(session: Session, names: Iterable[Name]) -> dict[Name, TableFacts]:
    """Those of the tables that exist, and that the account may see. Raises the errors of the session's side."""
    wanted, found = list(names), {}
    for start in range(0, len(wanted), _AT_ONCE):
        found.update(_read(session, wanted[start : start + _AT_ONCE]))
    missing = any(name not in found for name in wanted)
    if missing and str(session.value("SELECT @@lower_case_table_names")) != "0":
        folded = {_folded(name): facts for name, facts in found.items()}
        return {name: folded[_folded(name)] for name in wanted if _folded(name) in folded}
    return found


def _folded(name: Name) -> Name:
    """A server with lower_case_table_names = 1 has all names in lower case."""
    return name[0].lower(), name[1].lower()


def _read(session: Session, names: Sequence[Name]) -> dict[Name, TableFacts]:
    columns = _grouped(session, _COLUMNS, names)
    keys, triggers = _grouped(session, _KEYS, names), _grouped(session, _TRIGGERS, names)
    children = _grouped(session, _CHILDREN, names)
    found = {}
    for name, rows in _grouped(session, _TABLES, names).items():
        unique = _keys(keys.get(name, []))
        found[name] = TableFacts(
            *name,
            str(rows[0][0] or ""),
            tuple(_column(*row) for row in columns.get(name, [])),
            unique.pop("PRIMARY", ()),
            unique,
            tuple(str(row[0]) for row in triggers.get(name, [])),
            _foreign_keys(session, name) if name in children else (),
        )
    return found


def _grouped(session: Session, sql: str, names: Sequence[Name]) -> dict[Name, list[tuple[Any, ...]]]:
    places = ", ".join(["(%s, %s)"] * len(names))
    found: dict[Name, list[tuple[Any, ...]]] = {}
    for database, table, *rest in session.rows(sql.format(places), [part for name in names for part in name]):
        found.setdefault((str(database), str(table)), []).append(tuple(rest))
    return found


def _column(
    name: str, full: str, nullable: str, default: Any, extra: str, charset: Any, collation: Any, octets: Any
) -> ColumnFacts:
    match = _TYPE.match(full)
    kind, inner = (match["kind"].lower(), match["arguments"] or "") if match else (full.lower(), "")
    listed = kind in ("enum", "set")
    arguments = (
        tuple(member.replace("''", "'") for member in _MEMBER.findall(full))
        if listed
        else tuple(part.strip() for part in inner.split(",") if part.strip())
    )
    said = extra.upper()
    generated = "GENERATED" in said.replace("DEFAULT_GENERATED", "")
    return ColumnFacts(
        str(name),
        str(full),
        kind,
        arguments,
        "unsigned" in full.lower() or "zerofill" in full.lower() if not listed else False,
        nullable == "YES",
        default is not None or nullable == "YES" or generated or "AUTO_INCREMENT" in said,
        generated,
        str(charset or ""),
        str(collation or ""),
        int(octets or 0),
    )


def _keys(rows: Iterable[tuple[Any, ...]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for name, column, part in rows:
        text = "(expression)" if column is None else str(column).lower() + (f"({part})" if part else "")
        found[str(name)] = (*found.get(str(name), ()), text)
    return found


def _foreign_keys(session: Session, name: Name) -> tuple[ForeignKey, ...]:
    """From SHOW CREATE TABLE: MariaDB's information_schema hides them from accounts with SELECT only."""
    text = str(session.rows(f"SHOW CREATE TABLE {quote_identifier(name[0])}.{quote_identifier(name[1])}")[0][1])
    return tuple(
        ForeignKey(
            _bare(found[1]), (_bare(found[2] or name[0]), _bare(found[3])), bool(_ACTING.search(found["actions"]))
        )
        for found in _FOREIGN.finditer(text)
    )


def _bare(name: str) -> str:
    return name.replace("``", "`")
