"""Splits SQL text into tokens, by the lexical rules of MySQL and MariaDB.

What a comment of the form `/*!50100 ... */` holds is read where the server reads it: always on MySQL, and on MariaDB
but for the versions 50700 to 50999, which it leaves to MySQL; `/*M! ... */` is MariaDB's alone. Double quotes are a
string or a name (ANSI_QUOTES): the grammar tells which, by what may stand there. Strings are read with backslash
escapes; a statement written under NO_BACKSLASH_ESCAPES with a backslash in a string may not be understood.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple, TypeAlias

Kind: TypeAlias = Literal["word", "name", "string", "quoted", "number", "literal", "mark"]
"""word: bare, so keyword or name; name: in backticks; string: in single quotes; quoted: in double quotes; literal:
X'..', B'..', 0x.., 0b..; mark: any other character."""


class NotUnderstood(Exception):
    """The statement is not one that we read; `args[0]` says where it stopped."""


class Token(NamedTuple):
    """`value`: without quotes, escapes undone; `start`, `end`: its place in the text."""

    kind: Kind
    value: str
    start: int
    end: int


_TOKEN: Final = re.compile(
    r"""
    (?P<space>\s+|\#[^\n]*|--(?=\s|$)[^\n]*)
  | (?P<open>/\*(?P<maria>M?)!(?P<version>\d{5,6})?)
  | (?P<close>\*/)
  | (?P<comment>/\*.*?\*/)
  | (?P<literal>[xXbB]'[0-9A-Fa-f]*'|0x[0-9A-Fa-f]+(?![\w$])|0b[01]+(?![\w$]))
  | (?P<number>\d+\.\d*(?:[eE][+-]?\d+)?|(?<![\w$`"])\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+(?![\w$])|\d+(?![\w$]))
  | (?P<string>[nN]?'(?:[^'\\]|\\.|'')*')
  | (?P<quoted>"(?:[^"\\]|\\.|"")*")
  | (?P<name>`(?:[^`]|``)*`)
  | (?P<word>@{0,2}[\w$]+)
  | (?P<mark>:=|->>|->|<=>|<=|>=|<>|!=|<<|>>|\|\||&&|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED: Final = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_LEFT_TO_MYSQL: Final = range(50700, 51000)
_NEWEST: Final = 99999  # of a five-digit version: a comment for a server that nobody has


def tokenize(text: str, *, mariadb: bool) -> list[Token]:
    """Raises NotUnderstood for a string or comment without an end."""
    tokens: list[Token] = []
    at, size, inside = 0, len(text), 0
    while at < size:
        match = _TOKEN.match(text, at)
        if match is None:
            raise NotUnderstood(f"at {text[at : at + 40]!r}")
        kind, start, at = match.lastgroup, at, match.end()
        if kind == "open":
            inside, at = _opened(match, text, inside, mariadb)
        elif kind == "close" and inside:
            inside -= 1
        elif kind not in ("space", "comment"):
            tokens.append(_token(kind, match[0], start, at, text))
    return tokens


def _opened(match: re.Match[str], text: str, inside: int, mariadb: bool) -> tuple[int, int]:
    """How many executable comments we are in, and where reading goes on."""
    version = int(match["version"] or 0)
    read = mariadb if match["maria"] else not (mariadb and version in _LEFT_TO_MYSQL)
    if read and version != _NEWEST:
        return inside + 1, match.end()
    end = text.find("*/", match.end())
    if end < 0:
        raise NotUnderstood("an unterminated comment")
    return inside, end + 2


def _token(kind: str | None, raw: str, start: int, end: int, text: str) -> Token:
    if kind == "name":
        return Token("name", raw[1:-1].replace("``", "`"), start, end)
    if kind == "string":
        return Token("string", unescape(raw[raw.index("'") + 1 : -1], "'"), start, end)
    if kind == "quoted":
        return Token("quoted", unescape(raw[1:-1], '"'), start, end)
    if kind == "word" or kind == "number" or kind == "literal":
        return Token(kind, raw, start, end)  # type: ignore[arg-type]
    if raw in ("'", '"', "`"):
        raise NotUnderstood(f"an unterminated quote at {text[start : start + 40]!r}")
    return Token("mark", raw, start, end)


def unescape(body: str, quote: str) -> str:
    """What the server makes of a string's characters between the quotes."""
    if quote in body:
        body = _doubled(body, quote)
    if "\\" not in body:
        return body
    return _ESCAPE.sub(lambda found: _ESCAPED.get(found[1], found[1]), body)


def _doubled(body: str, quote: str) -> str:
    """`''` -> `'`, but not where the first is escaped."""
    return re.sub(rf"(\\.)|{quote}{quote}", lambda found: found[1] or quote, body, flags=re.DOTALL)
