"""Labels of tasks, and selectors that choose tasks by their labels.

A selector has one or more requirements, separated by commas; a task matches if all of them hold:

    env=prod  env==prod     the label has this value
    env!=prod               the label has another value, or is absent
    env in (a,b)            the label has one of the values
    env notin (a,b)         the label has none of the values, or is absent
    env                     the label is present
    !env                    the label is absent

Imports nothing but errors, so that each command starts fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from replicator.errors import ConfigError

MAX_LABELS: Final = 32
MAX_SELECTOR: Final = 1000
"""Characters."""
VALUE_PATTERN: Final = r"^([A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?$"
KEY_PATTERN: Final = r"^([a-z0-9]([a-z0-9.-]{0,98}[a-z0-9])?/)?[A-Za-z0-9]([A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?$"
_KEY_RULE: Final = "1 to 63 letters, digits, - _ and ., optionally after PREFIX/, for instance env or example.com/team"
_VALUE_RULE: Final = "up to 63 letters, digits, - _ and ., with a letter or digit at both ends"
_TOKEN: Final = re.compile(r"\s*(?:(?P<symbol>!=|==|[=!,()])|(?P<word>[A-Za-z0-9_./-]+))")
_WORDS: Final = ("in", "notin")

Operator = Literal["in", "notin", "present", "absent"]


@dataclass(frozen=True)
class Requirement:
    """`values`: of `in` and `notin`; `env=prod` is `in` with one value."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()

    def holds(self, labels: Mapping[str, str]) -> bool:
        if self.operator in ("present", "absent"):
            return (self.key in labels) == (self.operator == "present")
        return (self.key in labels and labels[self.key] in self.values) == (self.operator == "in")

    def __str__(self) -> str:
        if self.operator in ("present", "absent"):
            return f"{'!' if self.operator == 'absent' else ''}{self.key}"
        if len(self.values) == 1:
            return f"{self.key}{'=' if self.operator == 'in' else '!='}{self.values[0]}"
        return f"{self.key} {self.operator} ({','.join(self.values)})"


@dataclass(frozen=True)
class Selector:
    """All `requirements` have to hold. Its text form is parsed to an equal selector."""

    requirements: tuple[Requirement, ...]

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(requirement.holds(labels) for requirement in self.requirements)

    def __str__(self) -> str:
        return ",".join(map(str, self.requirements))


EVERYTHING: Final = Selector(())
"""Matches each task. No text is parsed to it: an empty selector is an error."""


def check_labels(labels: Mapping[str, str]) -> None:
    """Raises ConfigError E1030."""
    if len(labels) > MAX_LABELS:
        raise ConfigError("E1030", "too many labels", found=f"{len(labels)}", wanted=f"at most {MAX_LABELS}")
    for key, value in labels.items():
        if not _matches(KEY_PATTERN, key):
            raise ConfigError("E1030", "invalid key of a label", found=_shown(key), wanted=_KEY_RULE)
        if not _matches(VALUE_PATTERN, value):
            raise ConfigError("E1030", f"invalid value of the label {key}", found=_shown(value), wanted=_VALUE_RULE)


def labels_of(config: Mapping[str, Any] | None) -> dict[str, str]:
    """The labels of a configuration in plain data, which may be damaged; none of a task without one."""
    labels = (config or {}).get("labels")
    if not isinstance(labels, dict):
        return {}
    return {key: value for key, value in labels.items() if isinstance(key, str) and isinstance(value, str)}


def parse_selector(text: str) -> Selector:
    """Raises ConfigError E1031, also for an empty text: a variable without a value never means all tasks."""
    if not text.strip():
        raise _wrong("the selector is empty", "")
    if len(text) > MAX_SELECTOR:
        raise _wrong("the selector is too long", f"{len(text)} characters", f"at most {MAX_SELECTOR} characters")
    return Selector(tuple(_Parser(text).requirements()))


class _Parser:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0

    def requirements(self) -> Iterator[Requirement]:
        yield self._requirement()
        while self._take(","):
            yield self._requirement()
        if self._peek():
            raise self._unexpected("a comma between two requirements")

    def _requirement(self) -> Requirement:
        if self._take("!"):
            return Requirement(self._key(), "absent")
        key = self._key()
        if self._take("=") or self._take("=="):
            return Requirement(key, "in", (self._value(),))
        if self._take("!="):
            return Requirement(key, "notin", (self._value(),))
        for word in _WORDS:
            if self._take(word):
                return Requirement(key, "in" if word == "in" else "notin", self._values())
        return Requirement(key, "present")

    def _values(self) -> tuple[str, ...]:
        if not self._take("("):
            raise self._unexpected("values in parentheses, such as (a,b)")
        values = [self._value()]
        while self._take(","):
            values.append(self._value())
        if not self._take(")"):
            raise self._unexpected("a comma or )")
        return tuple(dict.fromkeys(values))

    def _key(self) -> str:
        word = self._peek()
        if not _matches(KEY_PATTERN, word):
            raise self._unexpected(f"the key of a label: {_KEY_RULE}")
        self._next += 1
        return word

    def _value(self) -> str:
        """Empty in front of a comma, a parenthesis or the end: `env=` is the label without a value."""
        word = self._peek()
        if word in ("", ",", ")"):
            return ""
        if not _matches(VALUE_PATTERN, word):
            raise self._unexpected(f"the value of a label: {_VALUE_RULE}")
        self._next += 1
        return word

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _take(self, token: str) -> bool:
        found = self._peek() == token
        self._next += found
        return found

    def _unexpected(self, wanted: str) -> ConfigError:
        found = self._peek()
        at = f"{_shown(found)} in {_shown(self._text)}" if found else f"the end of {_shown(self._text)}"
        return _wrong("the selector can't be understood", at, wanted)


def _tokens(text: str) -> Iterator[str]:
    at = 0
    while text[at:].strip():
        found = _TOKEN.match(text, at)
        if found is None:
            rest = text[at:].strip()
            raise _wrong("the selector has a character that is not allowed", f"{_shown(rest[0])} in {_shown(text)}")
        yield found["symbol"] or found["word"]
        at = found.end()


def _wrong(what: str, found: str, wanted: str = "env=prod, env!=prod, env in (a,b), env or !env") -> ConfigError:
    return ConfigError("E1031", what, found=found, wanted=wanted)


def _matches(pattern: str, text: str) -> bool:
    return re.fullmatch(pattern, text) is not None and "\n" not in text


def _shown(text: str) -> str:
    return ascii(text if len(text) <= 80 else f"{text[:80]}...")
