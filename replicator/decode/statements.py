"""What the text of a QUERY event does, as far as replication must know."""

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
        target: (database or "", table) that a CHANGE is known to change; None when that can't be told.
    """

    kind: Kind
    argument: str = ""
    target: tuple[str, str] | None = None


_IDENTIFIER: Final = r"(`(?:[^`]|``)+`|\"(?:[^\"]|\"\")+\"|[\w$]+)"
_NAME: Final = rf"{_IDENTIFIER}(?:\s*\.\s*{_IDENTIFIER})?"
_MODIFIERS: Final = r"(?:LOW_PRIORITY\s+|DELAYED\s+|HIGH_PRIORITY\s+|QUICK\s+|IGNORE\s+)*"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE | re.DOTALL)


_TARGETS: Final = tuple(
    _pattern(text)
    for text in (
        rf"(?:INSERT|REPLACE)\s+{_MODIFIERS}(?:INTO\s+)?{_NAME}",
        rf"UPDATE\s+{_MODIFIERS}{_NAME}\s+(?:(?:AS\s+)?{_IDENTIFIER}\s+)?SET\s",
        rf"DELETE\s+{_MODIFIERS}FROM\s+{_NAME}\s*(?:;|$|WHERE\s|ORDER\s|LIMIT\s)",
        rf"LOAD\s+(?:DATA|XML)\s.*?INTO\s+TABLE\s+{_NAME}",
        rf"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s+(?:IF\s+NOT\s+EXISTS\s+)?{_NAME}",
    )
)
_COMMENT: Final = _pattern(r"/\*(?!M?!).*?\*/|/\*M?!\d*|\*/|#[^\n]*|--(?:\s[^\n]*|$)")
_LEADING: Final = re.compile(rf"(?:\s|{_COMMENT.pattern})+", re.IGNORECASE | re.DOTALL)
_QUOTED: Final = re.compile(r"'(?:[^'\\]|\\.|'')*'|\"(?:[^\"\\]|\\.|\"\")*\"|`(?:[^`]|``)*`", re.DOTALL)
_SET_STATEMENT: Final = _pattern(r"SET\s+STATEMENT\s.*?\sFOR\s+")
_CREATE_TABLE: Final = _pattern(r"CREATE\s+(?:OR\s+REPLACE\s+)?TABLE\s")
_SELECT: Final = _pattern(r"\bSELECT\b")
_CONTROL: Final = (
    (_pattern(r"(?:BEGIN|START\s+TRANSACTION)\b"), Kind.BEGIN),
    (_pattern(r"COMMIT\b"), Kind.COMMIT),
    (_pattern(r"SAVEPOINT\s+(?P<argument>.+)"), Kind.SAVEPOINT),
    (_pattern(r"RELEASE\s+SAVEPOINT\s+(?P<argument>.+)"), Kind.SAVEPOINT),
    (_pattern(r"ROLLBACK\s+(?:WORK\s+)?TO\s+(?:SAVEPOINT\s+)?(?P<argument>.+)"), Kind.ROLLBACK_TO),
    (_pattern(r"ROLLBACK\b"), Kind.ROLLBACK),
    (_pattern(r"XA\s+(?:START|BEGIN)\s+(?P<argument>.+)"), Kind.XA_START),
    (_pattern(r"XA\s+END\s+(?P<argument>.+)"), Kind.XA_END),
    (_pattern(r"XA\s+COMMIT\s+(?P<argument>.+)"), Kind.XA_COMMIT),
    (_pattern(r"XA\s+ROLLBACK\s+(?P<argument>.+)"), Kind.XA_ROLLBACK),
)
_CHANGES: Final = _pattern(r"(?:INSERT|UPDATE|DELETE|REPLACE|LOAD|WITH|SELECT|DO|CALL|MERGE|VALUES|TABLE|\()(?:\W|$)")


def classify(query: bytes) -> Statement:
    """`query`: the event's text; comments before the first word are passed over, executable ones (`/*!`) are read."""
    text = query.decode("utf-8", "replace")
    text = text[_end(_LEADING, text) :]
    text = text[_end(_SET_STATEMENT, text) :].rstrip("; \t\r\n\0")
    for pattern, kind in _CONTROL:
        match = pattern.match(text)
        if match:
            return Statement(kind, match.groupdict().get("argument") or "")
    if _CHANGES.match(text) or _creates_rows(text):
        return Statement(Kind.CHANGE, target=_target(_COMMENT.sub(" ", text)))
    return Statement(Kind.OTHER)


def _end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return match.end() if match else 0


def _creates_rows(text: str) -> bool:
    """CREATE TABLE ... SELECT as a statement: row format logs the bare CREATE TABLE and then the rows."""
    return bool(_CREATE_TABLE.match(text) and _SELECT.search(_QUOTED.sub("''", _COMMENT.sub(" ", text))))


def _target(text: str) -> tuple[str, str] | None:
    for pattern in _TARGETS:
        match = pattern.match(text)
        if match:
            first, second = _unquoted(match[1]), _unquoted(match[2] or "")
            return (first, second) if second else ("", first)
    return None


def _unquoted(name: str) -> str:
    quote = name[:1]
    return name[1:-1].replace(quote * 2, quote) if quote in ("`", '"') and quote else name
