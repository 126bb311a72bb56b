"""Translates statements between MySQL and MariaDB where both understand a statement in different ways.

What the other server does not understand it refuses itself, and the task stops with its message. Collations of one
server get the nearest one of the other.
"""

from __future__ import annotations

from typing import Final

from replicator.schema.rewrite.edits import Edits
from replicator.schema.rewrite.names import NoRewrite
from replicator.schema.tokens import Token, tokenize

_BY_HAND: Final = "Create or change the table at the target with another type; then `replicator task skip NAME`."
_FROM_MARIADB: Final = {
    "ai_ci": "utf8mb4_0900_ai_ci",
    "as_ci": "utf8mb4_0900_as_ci",
    "as_cs": "utf8mb4_0900_as_cs",
    "nopad_ai_ci": "utf8mb4_0900_ai_ci",
    "nopad_as_ci": "utf8mb4_0900_as_ci",
    "nopad_as_cs": "utf8mb4_0900_as_cs",
}
_PREFIXES: Final = ("utf8mb4_uca1400_", "uca1400_")
_BEFORE_NAMES: Final = frozenset(
    ("(", ",", ".", "ADD", "COLUMN", "EXISTS", "CHANGE", "MODIFY", "DROP", "AFTER", "TO", "ALTER", "BY", "TABLE", "KEY")
)
_BINARY: Final = "utf8mb4_nopad_bin"


def translated(sql: str, *, mariadb: bool) -> str:
    """`mariadb`: the source is one, and the target is MySQL; else the other way round.

    Raises NoRewrite: a type that the servers write in different ways.
    """
    tokens, edits = tokenize(sql, mariadb=mariadb), Edits(sql)
    for place, token in enumerate(tokens):
        if token.kind in ("word", "name", "string", "quoted") and _follows(tokens, place, "COLLATE"):
            name = _collation(token.value.lower(), mariadb=mariadb)
            if name:
                edits.replace((token.start, token.end), name)
        elif token.kind == "word" and token.value.upper() == "JSON" and not _named(tokens, place):
            _json(token, edits, mariadb=mariadb)
        elif token.kind == "word" and token.value.upper() == "VECTOR" and _opens(tokens, place + 1):
            raise NoRewrite("VECTOR columns of MySQL and MariaDB are stored in different ways", _BY_HAND)
    return edits.whole()


def _follows(tokens: list[Token], place: int, word: str) -> bool:
    before = place - 1
    if before >= 0 and tokens[before].value == "=":
        before -= 1
    return before >= 0 and tokens[before].kind == "word" and tokens[before].value.upper() == word


def _named(tokens: list[Token], place: int) -> bool:
    """Whether the name of a column comes here, and not its type."""
    before = tokens[place - 1] if place else None
    return before is None or before.value.upper() in _BEFORE_NAMES


def _opens(tokens: list[Token], place: int) -> bool:
    return place < len(tokens) and tokens[place].value == "("


def _collation(name: str, *, mariadb: bool) -> str:
    """The other server's; "" where it has the same."""
    if not mariadb:
        return _to_mariadb(name)
    if name == _BINARY:
        return "utf8mb4_0900_bin"
    prefix = next((prefix for prefix in _PREFIXES if name.startswith(prefix)), "")
    return _FROM_MARIADB.get(name.removeprefix(prefix), "") if prefix else ""


def _to_mariadb(name: str) -> str:
    """All releases of MariaDB know utf8mb4_unicode_520_nopad_ci; only those from 11.4.5 on the names of MySQL."""
    if name == "utf8mb4_0900_bin":
        return _BINARY
    ending = name.removeprefix("utf8mb4_0900_") if name.startswith("utf8mb4_0900_") else ""
    return f"uca1400_nopad_{ending}" if ending in ("ai_ci", "as_ci", "as_cs") else ""


def _json(token: Token, edits: Edits, *, mariadb: bool) -> None:
    """MariaDB's JSON is text."""
    if not mariadb:
        raise NoRewrite("JSON columns are binary on MySQL and text on MariaDB", _BY_HAND)
    edits.replace((token.start, token.end), "LONGTEXT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin")
