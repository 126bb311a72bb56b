"""Tokenizer of filter expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Final, Literal, NamedTuple, TypeAlias

from replicator.errors import ConfigError

LONGEST: Final = 10_000
"""Characters of an expression."""

_LOGIC: Final = ("AND", "OR", "NOT", "IN", "IS", "NULL", "LIKE", "BETWEEN", "TRUE", "FALSE")
_VALUES: Final = ("DATE", "TIME", "TIMESTAMP", "BEFORE", "AFTER", "OPERATION")
WORDS: Final = frozenset(_LOGIC + _VALUES)

Kind: TypeAlias = Literal["word", "name", "number", "string", "bytes", "sign", "end"]

_TOKEN: Final = re.compile(
    r"""(?P<blank>\s+)
      | (?P<bytes>[xX]'(?:[0-9a-fA-F]{2})*')
      | (?P<number>[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?(?![\w.]))
      | (?P<string>'(?:[^']|'')*')
      | (?P<quoted>`(?:[^`]|``)+`)
      | (?P<plain>[^\W\d][\w$]*)
      | (?P<sign><>|!=|<=|>=|[=<>(),.])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    """`text`: words in upper case, names without quotes, what is in strings, signs (`!=` as `<>`)."""

    kind: Kind
    text: str
    at: int
    number: Decimal = Decimal(0)


def tokens(text: str) -> Iterator[Token]:
    """Ends with a token of kind "end".

    Raises:
        ConfigError: E1010.
    """
    if len(text) > LONGEST:
        raise ConfigError(
            "E1010", "a filter is too long", found=f"{len(text)} characters", wanted=f"up to {LONGEST} characters"
        )
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            raise refusal(text, at, "a column, a literal or an operator")
        if match.lastgroup != "blank":
            yield _token(match, at)
        at = match.end()
    yield Token("end", "", at)


def _token(match: re.Match[str], at: int) -> Token:
    kind, raw = match.lastgroup, match[0]
    if kind == "plain":
        return Token("word", raw.upper(), at) if raw.upper() in WORDS else Token("name", raw, at)
    if kind == "quoted":
        return Token("name", raw[1:-1].replace("``", "`"), at)
    if kind == "number":
        return Token("number", raw, at, Decimal(raw))
    if kind == "string":
        return Token("string", raw[1:-1].replace("''", "'"), at)
    if kind == "bytes":
        return Token("bytes", raw[2:-1], at)
    return Token("sign", "<>" if raw == "!=" else raw, at)


def refusal(text: str, at: int, wanted: str, what: str = "a filter can't be parsed") -> ConfigError:
    """E1010, with the place in the text."""
    found = repr(text[at : at + 20]) if at < len(text) else "the end"
    before = f" after {text[max(0, at - 20) : at]!r}" if at else ""
    return ConfigError("E1010", what, found=f"{found} at character {at + 1}{before}", wanted=wanted)
