"""Recursive-descent parser of filters: OR binds weakest, then AND, NOT and comparisons."""

from __future__ import annotations

from typing import Final, cast

from replicator.errors import ConfigError
from replicator.expression.tokens import Kind, Token, refusal, tokens
from replicator.expression.tree import (
    Compared,
    Comparison,
    Constant,
    Expression,
    Joined,
    Listed,
    Matched,
    Name,
    Negated,
    Null,
    Operand,
    Operation,
)

DEEPEST: Final = 50
MOST_CONSTANTS: Final = 1000
_COMPARISONS: Final = frozenset(("=", "<>", "<", "<=", ">", ">="))


def parse(text: str) -> Expression:
    """The tree of a filter.

    Raises:
        ConfigError: E1010, with the place where it can't be read.
    """
    return _Parser(text).whole()


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(tokens(text))
        self._place = 0
        self._depth = 0

    def whole(self) -> Expression:
        found = self._either()
        if self._now.kind != "end":
            raise self._refusal("AND, OR or the end")
        return found

    # Tokens

    @property
    def _now(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        self._place += 1
        return self._tokens[self._place - 1]

    def _word(self, text: str) -> bool:
        """Steps over this word, if it is the next one."""
        return self._if("word", text)

    def _sign(self, text: str) -> bool:
        return self._if("sign", text)

    def _if(self, kind: Kind, text: str) -> bool:
        there = self._now.kind == kind and self._now.text == text
        self._place += there
        return there

    def _need(self, kind: Kind, text: str) -> None:
        if not self._if(kind, text):
            raise self._refusal(text)

    def _refusal(self, wanted: str, at: int = -1) -> ConfigError:
        return refusal(self._text, self._now.at if at < 0 else at, wanted)

    # Logic

    def _either(self) -> Expression:
        parts = [self._both()]
        while self._word("OR"):
            parts.append(self._both())
        return parts[0] if len(parts) == 1 else Joined("OR", tuple(parts))

    def _both(self) -> Expression:
        parts = [self._not()]
        while self._word("AND"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else Joined("AND", tuple(parts))

    def _not(self) -> Expression:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._refusal(f"NOT and parentheses at most {DEEPEST} deep")
        if self._word("NOT"):
            found: Expression = Negated(self._not())
        elif self._sign("("):
            found = self._either()
            self._need("sign", ")")
        else:
            found = self._test()
        self._depth -= 1
        return found

    # Tests

    def _test(self) -> Expression:
        left = self._operand()
        if self._now.kind == "sign" and self._now.text in _COMPARISONS:
            sign = self._take()
            return Compared(left, cast("Comparison", sign.text), self._operand(), sign.at)
        if isinstance(left, Constant):
            raise self._refusal("a comparison")
        at = self._now.at
        if self._word("IS"):
            negated = self._word("NOT")
            self._need("word", "NULL")
            return _unless(negated, Null(left, at))
        negated = self._word("NOT")
        if self._word("IN"):
            return _unless(negated, Listed(left, self._list(), at))
        if self._word("LIKE"):
            return _unless(negated, Matched(left, self._pattern(), at))
        if self._word("BETWEEN"):
            low = self._operand()
            self._need("word", "AND")
            parts = Compared(left, ">=", low, at), Compared(left, "<=", self._operand(), at)
            return _unless(negated, Joined("AND", parts))
        raise self._refusal("=, <>, <, <=, >, >=, IN, LIKE, BETWEEN or IS")

    def _list(self) -> tuple[Constant, ...]:
        self._need("sign", "(")
        found = [self._constant()]
        while self._sign(","):
            if len(found) == MOST_CONSTANTS:
                raise self._refusal(f"at most {MOST_CONSTANTS} values in a list")
            found.append(self._constant())
        self._need("sign", ")")
        return tuple(found)

    def _constant(self) -> Constant:
        at = self._now.at
        found = self._operand()
        if not isinstance(found, Constant):
            raise self._refusal("a literal", at)
        return found

    def _pattern(self) -> str:
        if self._now.kind != "string":
            raise self._refusal("a pattern in quotes")
        return self._take().text

    # Operands

    def _operand(self) -> Operand:
        token = self._take()
        if token.kind == "name":
            return Name(token.text, None, token.at)
        if token.kind == "number":
            return Constant(token.number, token.at)
        if token.kind == "string":
            return Constant(token.text, token.at)
        if token.kind == "bytes":
            return Constant(bytes.fromhex(token.text), token.at)
        if token.kind == "word":
            return self._worded(token)
        raise self._refusal("a column or a literal", token.at)

    def _worded(self, token: Token) -> Operand:
        if token.text == "OPERATION":
            return Operation(token.at)
        if token.text in ("TRUE", "FALSE"):
            return Constant(token.text == "TRUE", token.at)
        if token.text in ("BEFORE", "AFTER"):
            self._need("sign", ".")
            column = self._take()
            if column.kind not in ("name", "word"):
                raise self._refusal("a column", column.at)
            text = self._text[column.at : column.at + len(column.text)] if column.kind == "word" else column.text
            return Name(text, "before" if token.text == "BEFORE" else "after", token.at)
        if token.text in ("DATE", "TIME", "TIMESTAMP"):
            if self._now.kind == "string":
                return Constant(self._take().text, token.at, token.text)  # type: ignore[arg-type]
            return Name(self._text[token.at : token.at + len(token.text)], None, token.at)
        if token.text == "NULL":
            raise self._refusal("IS NULL or IS NOT NULL: nothing equals NULL", token.at)
        raise self._refusal("a column or a literal (a column of such a name goes in `backquotes`)", token.at)


def _unless(negated: bool, test: Expression) -> Expression:
    return Negated(test) if negated else test
