"""Classifies the statements of QUERY events: transaction control, row changes, DDL."""

from __future__ import annotations

import re
from enum import Enum
from typing import Final

import msgspec


class Kind(Enum):
    BEGIN = "BEGIN"
    COMMIT = "COMMIT"
    ROLLBACK = "ROLLBACK"
    SAVEPOINT = "SAVEPOINT"
    ROLLBACK_TO = "ROLLBACK TO"
    XA_START = "XA START"
    XA_END = "XA END"
    XA_COMMIT = "XA COMMIT"
    XA_ROLLBACK = "XA ROLLBACK"
    CHANGE = "a statement that changes rows"
    OTHER = "DDL, account management and the like"


class Statement(msgspec.Struct, frozen=True):
    """
    Attributes:
        argument: the savepoint's name or the XA identifier as written.
        target: (database or "", table) that a CHANGE is known to change; None when that is unknown.
    """

    kind: Kind
    argument: str = ""
    target: tuple[str, str] | None = None


IDENTIFIER: Final = r"(`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\w$]+)"
NAME: Final = rf"{IDENTIFIER}(?:\s*\.\s*{IDENTIFIER})?"
_MODIFIERS: Final = r"(?:LOW_PRIORITY\s+|DELAYED\s+|HIGH_PRIORITY\s+|QUICK\s+|IGNORE\s+)*"


def pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


_TARGETS: Final = tuple(
    pattern(text)
    for text in (
        rf"(?:INSERT|REPLACE)\s+{_MODIFIERS}(?:INTO\s+)?{NAME}",
        rf"UPDATE\s+{_MODIFIERS}{NAME}\s+(?:(?:AS\s+)?{IDENTIFIER}\s+)?SET\s",
        rf"DELETE\s+{_MODIFIERS}FROM\s+{NAME}\s*(?:;|$|WHERE\s|ORDER\s|LIMIT\s)",
        rf"LOAD\s+(?:DATA|XML)\s.*?INTO\s+TABLE\s+{NAME}",
        rf"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{NAME}",
    )
)
COMMENT: Final = pattern(r"/\*(?!M?!).*?\*/|/\*M?!\d*|\*/|#[^\n]*|--(?:\s[^\n]*|$)")
LEADING: Final = re.compile(rf"(?:\s|{COMMENT.pattern})+", re.IGNORECASE | re.DOTALL)
QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`", re.DOTALL)
SET_STATEMENT: Final = pattern(r"SET\s+STATEMENT\s.*?\sFOR\s+")
_CREATE_TABLE: Final = pattern(r"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s")
_SELECT: Final = pattern(r"\bSELECT\b")
_CONTROL: Final = (
    (pattern(r"(?:BEGIN|START\s+TRANSACTION)\b"), Kind.BEGIN),
    (pattern(r"COMMIT\b"), Kind.COMMIT),
    (pattern(r"SAVEPOINT\s+(?P<argument>.+)"), Kind.SAVEPOINT),
    (pattern(r"RELEASE\s+SAVEPOINT\s+(?P<argument>.+)"), Kind.SAVEPOINT),
    (pattern(r"ROLLBACK\s+(?:WORK\s+)?TO\s+(?:SAVEPOINT\s+)?(?P<argument>.+)"), Kind.ROLLBACK_TO),
    (pattern(r"ROLLBACK\b"), Kind.ROLLBACK),
    (pattern(r"XA\s+(?:START|BEGIN)\s+(?P<argument>.+)"), Kind.XA_START),
    (pattern(r"XA\s+END\s+(?P<argument>.+)"), Kind.XA_END),
    (pattern(r"XA\s+COMMIT\s+(?P<argument>.+)"), Kind.XA_COMMIT),
    (pattern(r"XA\s+ROLLBACK\s+(?P<argument>.+)"), Kind.XA_ROLLBACK),
)
_CHANGES: Final = pattern(r"(?:INSERT|UPDATE|DELETE|REPLACE|LOAD|WITH|SELECT|DO|CALL|MERGE|VALUES|TABLE|\()(?:\W|$)")


def classify(query: bytes) -> Statement:
    """`query`: the event's text; comments before the first word are passed over, executable ones (`/*!`) are read."""
    text = query.decode("utf-8", "replace")
    text = text[_end(LEADING, text) :]
    text = text[_end(SET_STATEMENT, text) :].rstrip("; \t\r\n\0")
    for pattern, kind in _CONTROL:
        match = pattern.match(text)
        if match:
            return Statement(kind, match.groupdict().get("argument") or "")
    if _CHANGES.match(text) or _creates_rows(text):
        return Statement(Kind.CHANGE, target=_target(COMMENT.sub(" ", text)))
    return Statement(Kind.OTHER)


def _end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _creates_rows(text: str) -> bool:
    """CREATE TABLE ... SELECT as a statement: row format logs the bare CREATE TABLE and then the rows."""
    return bool(_CREATE_TABLE.match(text) and _SELECT.search(QUOTED.sub("''", COMMENT.sub(" ", text))))


def _target(text: str) -> tuple[str, str] | None:
    for pattern in _TARGETS:
        match = pattern.match(text)
        if match:
            first, second = unquoted(match[1]), unquoted(match[2] or "")
            return (first, second) if second else ("", first)
    return None


def unquoted(name: str) -> str:
    quote = name[:1]
    return name[1:-1].replace(quote * 2, quote) if quote in ("`", '"') and quote else name
