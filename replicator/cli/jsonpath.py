"""`-o jsonpath=...`: parts of an answer as text, in the notation of JSONPath or of kubectl.

    $.items[*].name                              each value on its own line
    {.items[*].name}                             values separated by spaces
    {range .items[*]}{.name}{"\\t"}{.state}{"\\n"}{end}

Imports its parser when it is first used, so that other commands start fast.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import click

PREFIX = "jsonpath="
_PIECE = re.compile(r"\{(?P<inner>(?:\"(?:[^\"\\]|\\.)*\"|'[^']*'|[^{}\"'])*)\}|(?P<text>[^{}]+)")
_FIELD = re.compile(r"\.((?:[^.\[\]\\{}()'\"\s]|\\.)+)")
_PLAIN = re.compile(r"\*|[A-Za-z_][A-Za-z0-9_]*")


class Part(NamedTuple):
    """`kind`: "text" (literal), "path", or "range" (`parts` for each value of the path `text`)."""

    kind: str
    text: str
    parts: tuple[Part, ...] = ()


def extracted(value: Any, output: str) -> str:
    """Of an option's value, `jsonpath=...`, that `check` accepts. Ends with a line break unless it is empty."""
    template = output.removeprefix(PREFIX)
    if "{" not in template:
        return "".join(f"{_shown(found)}\n" for found in _find(template, value))
    text = "".join(_rendered(_parsed(template), value))
    return text if not text or text.endswith("\n") else f"{text}\n"


def check(output: str) -> None:
    """Raises ValueError."""
    template = output.removeprefix(PREFIX)
    if not template.strip():
        raise ValueError("the path is empty")
    if "{" not in template:
        _path(template)
        return
    for part in _parsed(template):
        _check(part)


def _check(part: Part) -> None:
    if part.kind != "text":
        _path(part.text)
    for inner in part.parts:
        _check(inner)


def _rendered(parts: Sequence[Part], value: Any) -> Iterator[str]:
    for part in parts:
        if part.kind == "text":
            yield part.text
        elif part.kind == "path":
            yield " ".join(map(_shown, _find(part.text, value)))
        else:
            for found in _find(part.text, value):
                yield from _rendered(part.parts, found)


@functools.cache
def _parsed(template: str) -> tuple[Part, ...]:
    """Raises ValueError."""
    stack: list[list[Part]] = [[]]
    ranges: list[str] = []
    at = 0
    while at < len(template):
        found = _PIECE.match(template, at)
        if found is None:
            raise ValueError(f"{template[at : at + 20]!r} is not text or {{...}}")
        at = found.end()
        inner = found["inner"]
        if inner is None:
            stack[-1].append(Part("text", found["text"]))
            continue
        inner = inner.strip()
        if inner == "end":
            if not ranges:
                raise ValueError("{end} without {range ...}")
            parts = tuple(stack.pop())
            stack[-1].append(Part("range", ranges.pop(), parts))
        elif inner.startswith("range "):
            ranges.append(inner.removeprefix("range ").strip())
            stack.append([])
        elif inner[:1] in ('"', "'") and inner[-1:] == inner[:1]:
            stack[-1].append(Part("text", _literal(inner)))
        else:
            stack[-1].append(Part("path", inner))
    if ranges:
        raise ValueError("{range ...} without {end}")
    return tuple(stack[0])


def _literal(quoted: str) -> str:
    if quoted[0] == "'":
        return quoted[1:-1]
    try:
        return str(json.loads(quoted))
    except ValueError:
        raise ValueError(f"{quoted} is not a string") from None


def _find(text: str, value: Any) -> list[Any]:
    """Raises UsageError for a path that does not fit the answer: a comparison of a number with a text, for instance."""
    try:
        return [match.value for match in _path(text).find(value)]
    except (TypeError, ValueError, LookupError, AttributeError, re.error, RecursionError) as error:
        raise click.UsageError(f"The path {text!r} does not fit the answer: {error}"[:300]) from None


@functools.cache
def _path(text: str) -> Any:
    """Raises ValueError."""
    from jsonpath_ng.exceptions import JSONPathError
    from jsonpath_ng.ext.parser import parse

    try:
        return parse(_normal(text.strip()))
    except (JSONPathError, RecursionError, AttributeError, IndexError, TypeError) as error:
        raise ValueError(f"{text!r} is not a JSONPath: {error}"[:300]) from None


def _normal(text: str) -> str:
    """Begins with `$`; keys with other characters are quoted: kubectl writes `.example\\.com/team` for them."""
    if text.startswith("@"):
        text = text[1:]
    if not text.startswith("$"):
        text = f"${text}" if text.startswith((".", "[")) or not text else f"$.{text}"
    return "$" + "".join(_fields(text[1:])) if text != "$." else "$"


def _fields(text: str) -> Iterator[str]:
    """What is in brackets is left as it is."""
    at = 0
    while at < len(text):
        if text[at] == "[":
            end = text.find("]", at)
            end = len(text) if end < 0 else end + 1
            yield text[at:end]
            at = end
            continue
        found = _FIELD.match(text, at)
        if found is None:
            yield text[at]
            at += 1
            continue
        name = re.sub(r"\\(.)", r"\1", found[1])
        yield f".{name}" if _PLAIN.fullmatch(name) else f".'{name}'"
        at = found.end()


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
