"""Extracts the kind of a statement and the tables that its text names."""

from __future__ import annotations

import re
from typing import Final

import msgspec

from replicator.decode.binlog.statements import (
    COMMENT,
    IDENTIFIER,
    LEADING,
    NAME,
    QUOTED,
    SET_STATEMENT,
    pattern,
    unquoted,
)

Names = tuple[tuple[str, str], ...]


class Subject(msgspec.Struct, frozen=True):
    """
    Attributes:
        kind: "CREATE TABLE", "DROP DATABASE", "GRANT", ...; "" for an empty text.
        tables: (database, table) that it names; empty when it is not about tables.
        database: that it is about when there are no tables: the one that it names, else the session's; "" without.
    """

    kind: str
    tables: Names = ()
    database: str = ""


_VERBS: Final = "CREATE|ALTER|DROP|RENAME|TRUNCATE|ANALYZE|OPTIMIZE|REPAIR|CHECK|CHECKSUM"
_OBJECTS: Final = (
    "TABLE|TABLES|INDEX|DATABASE|SCHEMA|VIEW|TRIGGER|PROCEDURE|FUNCTION|PACKAGE|EVENT|USER|ROLE|SERVER|SEQUENCE|"
    "TABLESPACE|INSTANCE|RESOURCE|SPATIAL\\s+REFERENCE"
)
_KIND: Final = pattern(
    rf"(?P<verb>{_VERBS})\s+(?:(?:OR\s+REPLACE|TEMPORARY|UNIQUE|FULLTEXT|SPATIAL|VECTOR|ONLINE|OFFLINE|IGNORE|LOCAL"
    rf"|NO_WRITE_TO_BINLOG|UNDO|AGGREGATE|ALGORITHM\s*=\s*\w+|DEFINER\s*=\s*(?:{NAME}\s*(?:@\s*{NAME})?|\w+\s*\(\s*\))"
    rf"|SQL\s+SECURITY\s+\w+)\s+)*(?P<object>{_OBJECTS})\b\s*(?:IF\s+(?:NOT\s+)?EXISTS\s+)?(?:WAIT\s+\d+\s+|NOWAIT\s+)?"
)
_TRUNCATE: Final = pattern(r"TRUNCATE\s+(?:TABLE\s+)?")
_NAMED: Final = re.compile(NAME)
_NEXT: Final = pattern(r"\s*,\s*")
_TO: Final = pattern(r"\s+TO\s+")
_ON: Final = pattern(rf"\sON\s+{NAME}")
_RENAMED: Final = pattern(rf"\bRENAME\s+(?!COLUMN\b|INDEX\b|KEY\b)(?:TO\s+|AS\s+)?{NAME}")
_OTHERS: Final = tuple(
    pattern(text)
    for text in (
        rf"\bEXCHANGE\s+PARTITION\s+{IDENTIFIER.replace('(', '(?:', 1)}\s+WITH\s+TABLE\s+{NAME}",
        rf"\bCONVERT\s+PARTITION\s+{IDENTIFIER.replace('(', '(?:', 1)}\s+TO\s+TABLE\s+{NAME}",
        rf"\bCONVERT\s+TABLE\s+{NAME}\s+TO\s+PARTITION\b",
    )
)
"""Clauses of ALTER TABLE that move rows to or from a second table."""
_WORD: Final = re.compile(r"[A-Za-z_]+")


def subject(text: str, database: str) -> Subject:
    """`database`: the session's default."""
    text = _plain(text)
    if truncated := _TRUNCATE.match(text):
        return Subject("TRUNCATE TABLE", _list(text, truncated.end(), database), database)
    match = _KIND.match(text)
    if match is None:
        word = _WORD.match(text)
        return Subject(word[0].upper() if word else "", database=database)
    thing = " ".join(match["object"].upper().split()).replace("SCHEMA", "DATABASE").replace("TABLES", "TABLE")
    kind = f"{match['verb'].upper()} {thing}"
    if thing == "TABLE":
        return Subject(kind, _tables(kind, text, match.end(), database), database)
    if thing == "INDEX":
        on = _ON.search(text, match.end() - 1)
        return Subject(kind, (_qualified(on, database),) if on else (), database)
    if thing == "DATABASE":
        named = _NAMED.match(text, match.end())
        return Subject(kind, database=unquoted(named[1]) if named else database)
    return Subject(kind, database=database)


def others(text: str, database: str) -> Names:
    """Tables with which an ALTER TABLE exchanges rows. `database`: the session's default."""
    text = _plain(text)
    return tuple(_qualified(match, database) for clause in _OTHERS for match in clause.finditer(text))


def _plain(text: str) -> str:
    """Without comments, and without what is in them when they are executable; quoted texts stay as they are. Without
    what MariaDB's SET STATEMENT sets for the statement."""
    parts, at = [], 0
    for quoted in QUOTED.finditer(text):
        parts += [COMMENT.sub(" ", text[at : quoted.start()]), quoted[0]]
        at = quoted.end()
    text = "".join([*parts, COMMENT.sub(" ", text[at:])])
    leading = LEADING.match(text)
    text = text[leading.end() if leading else 0 :]
    settings = SET_STATEMENT.match(text)
    return text[settings.end() if settings else 0 :].rstrip("; \t\r\n\0")


def _tables(kind: str, text: str, at: int, database: str) -> Names:
    named = _list(text, at, database)
    if kind == "ALTER TABLE":
        renamed = _RENAMED.search(text, at)
        return (named + ((_qualified(renamed, database),) if renamed else ()))[:2]
    return named[:1] if kind == "CREATE TABLE" else named


def _list(text: str, at: int, database: str) -> Names:
    """Names from `at` on, joined by commas or, in RENAME, by TO."""
    found = []
    while match := _NAMED.match(text, at):
        found.append(_qualified(match, database))
        step = _NEXT.match(text, match.end()) or _TO.match(text, match.end())
        if step is None:
            break
        at = step.end()
    return tuple(found)


def _qualified(match: re.Match[str], database: str) -> tuple[str, str]:
    first, second = unquoted(match[1]), unquoted(match[2] or "")
    return (first, second) if second else (database, first)
