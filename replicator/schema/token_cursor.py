"""A cursor over the tokens of one SQL statement."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, TypeAlias

from replicator.schema.tokens import NotUnderstood, Token

Name: TypeAlias = tuple[str, str]
"""(database, table); database "" where the statement does not name one."""

_END: Final = Token("mark", "", 0, 0)
_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}


class Cursor:
    """Keywords are given in upper case. Names are accepted wherever the grammar asks for one, reserved or not: the
    server has already accepted the statement."""

    def __init__(self, text: str, tokens: list[Token]) -> None:
        self.text = text
        self._tokens = tokens
        self._words = [token.value.upper() if token.kind == "word" else "" for token in tokens]
        self._size = len(tokens)
        self._at = 0

    @property
    def token(self) -> Token:
        return self._tokens[self._at] if self._at < len(self._tokens) else _END

    @property
    def ended(self) -> bool:
        """At the end, or at a semicolon."""
        return self._at >= len(self._tokens) or (self.token.value == ";" and self.token.kind == "mark")

    def wrong(self, wanted: str) -> NotUnderstood:
        if self.ended:
            return NotUnderstood(f"{wanted} expected at the end")
        return NotUnderstood(f"{wanted} expected at {self.text[self.token.start : self.token.start + 40]!r}")

    def word(self, ahead: int = 0) -> str:
        """The bare word at hand, in upper case; "" when it is none."""
        at = self._at + ahead
        return self._words[at] if at < self._size else ""

    def sees(self, *words: str) -> bool:
        at = self._at
        if at >= self._size or self._words[at] != words[0]:
            return False
        return len(words) == 1 or tuple(self._words[at : at + len(words)]) == words

    def accept(self, *words: str) -> bool:
        """Takes these words, all or none."""
        at = self._at
        if at >= self._size or self._words[at] != words[0]:
            return False
        if len(words) > 1 and tuple(self._words[at : at + len(words)]) != words:
            return False
        self._at += len(words)
        return True

    def accept_any(self, words: Collection[str]) -> str:
        """Takes one of `words`; "" when the next is another."""
        word = self._words[self._at] if self._at < self._size else ""
        if not word or word not in words:
            return ""
        self._at += 1
        return word

    def expect(self, *words: str) -> None:
        if not self.accept(*words):
            raise self.wrong(" ".join(words))

    def is_mark(self, mark: str, ahead: int = 0) -> bool:
        at = self._at + ahead
        return at < len(self._tokens) and self._tokens[at].kind == "mark" and self._tokens[at].value == mark

    def accept_mark(self, mark: str) -> bool:
        if not self.is_mark(mark):
            return False
        self._at += 1
        return True

    def expect_mark(self, mark: str) -> None:
        if not self.accept_mark(mark):
            raise self.wrong(f"'{mark}'")

    def take(self) -> Token:
        if self.ended:
            raise self.wrong("more")
        token = self.token
        self._at += 1
        return token

    def name(self) -> str:
        """An identifier."""
        if self.token.kind not in ("word", "name", "quoted") or self.ended:
            raise self.wrong("a name")
        return self.take().value

    def qualified(self) -> Name:
        first = self.name()
        return (first, self.name()) if self.accept_mark(".") else ("", first)

    def string(self) -> str:
        """A string literal, with or without an introducer (_utf8mb4'x'); neighbouring ones are joined."""
        if self.token.kind == "word" and self.token.value.startswith("_"):
            self._at += 1
        if self.token.kind not in ("string", "quoted"):
            raise self.wrong("a string")
        text = self.take().value
        while self.token.kind in ("string", "quoted"):
            text += self.take().value
        return text

    def group(self) -> str:
        """A balanced pair of parentheses with all in it, as written."""
        start = self.token.start
        self.expect_mark("(")
        closing = [")"]
        while closing:
            token = self.take()
            if token.kind != "mark":
                continue
            if token.value in _CLOSES:
                closing.append(_CLOSES[token.value])
            elif token.value == closing[-1]:
                closing.pop()
        return self.text[start : self._tokens[self._at - 1].end]

    def skip(self) -> None:
        """One token, or one balanced group."""
        if self.is_mark("("):
            self.group()
        else:
            self.take()

    def skip_element(self) -> None:
        """To the comma or the parenthesis that ends this element of a list, or to the end."""
        while not (self.ended or self.is_mark(",") or self.is_mark(")")):
            self.skip()

    def listed(self, read: Callable[[], None]) -> None:
        """read, read, ... with commas between."""
        read()
        while self.accept_mark(","):
            read()

    def mark(self) -> int:
        """A place to come back to."""
        return self._at

    def back(self, mark: int) -> None:
        self._at = mark

    def since(self, mark: int) -> str:
        """The text from there to here."""
        return self.text[self._tokens[mark].start : self._tokens[self._at - 1].end] if mark < self._at else ""

    def span(self, mark: int) -> tuple[int, int]:
        """Begin and end, in the text, of what was taken since the mark."""
        if mark >= self._at:
            return self.token.start, self.token.start
        return self._tokens[mark].start, self._tokens[self._at - 1].end

    def taken(self, mark: int) -> list[Token]:
        """The tokens since the mark."""
        return self._tokens[mark : self._at]
