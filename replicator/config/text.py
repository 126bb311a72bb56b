"""Parses YAML or JSON text to plain data with the line of every key. The text is untrusted: it comes over HTTP and from
znodes.

Only what JSON can say is accepted: mappings, lists, strings, numbers, true/false, null. YAML's dates stay strings
(a GTID such as 1000-11-22 would become one), anchors and aliases are refused (ten lines of them make gigabytes), a key
given twice is an error instead of a quiet win for the last one.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

import yaml

from replicator.errors import ConfigError

MAX_BYTES = 256 * 1024
MAX_DEPTH = 20
Path: TypeAlias = tuple[str | int, ...]


class Document(NamedTuple):
    """data: as plain values; lines: of each path, from 1 (empty for JSON, which has no line worth naming)."""

    data: Any
    lines: dict[Path, int]

    def line_of(self, path: Path) -> int | None:
        """Of the path, or of the nearest part above it that has a line: of a key that is missing, that of its
        mapping."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def parse(text: str | bytes) -> Document:
    """Raises ConfigError E1001 (syntax, with line and column) or E1008 (size, depth)."""
    decoded = _decode(text)
    if decoded.lstrip().startswith("{"):
        document = _try_json(decoded)
        if document is not None:
            return document
    return _parse_yaml(decoded)


def documents(text: str | bytes, limit: int) -> list[str]:
    """The documents of a YAML text, or a JSON text, without empty ones. Each is at its own line, so that errors name
    the line of the whole text. `limit`: of the whole text, in bytes.

    Raises ConfigError E1001, E1008.
    """
    decoded = _decode(text, limit)
    if decoded.lstrip().startswith("{") and _is_json(decoded):
        return [decoded]
    loader = None
    try:
        loader = yaml.SafeLoader(decoded)
        starts = list(_starts(loader))
    except yaml.YAMLError as error:
        raise _unparsed(error) from None
    finally:
        if loader is not None:
            loader.dispose()
    lines = decoded.splitlines(keepends=True)
    ends = [line for line, _ in starts[1:]] + [len(lines)]
    return [
        "\n" * start + "".join(lines[start:end]) for (start, empty), end in zip(starts, ends, strict=True) if not empty
    ]


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _starts(loader: yaml.SafeLoader) -> Iterator[tuple[int, bool]]:
    """(line, from 0; whether there is nothing in it) of each document."""
    start: int | None = None
    while loader.check_event():
        event = loader.get_event()  # type: ignore[no-untyped-call]
        if start is not None:
            yield start, isinstance(event, yaml.ScalarEvent) and _place(event.start_mark) == _place(event.end_mark)
        mark: Any = event.start_mark
        start = mark.line if isinstance(event, yaml.DocumentStartEvent) else None


def _decode(text: str | bytes, limit: int = MAX_BYTES) -> str:
    try:
        raw = text.encode() if isinstance(text, str) else bytes(text)
        if len(raw) > limit:
            raise ConfigError("E1008", "the text is too large", found=f"{len(raw)} bytes", wanted=f"at most {limit}")
        return raw.decode("utf-8-sig")
    except UnicodeError as error:
        raise ConfigError(
            "E1001", "the text is not UTF-8", found=str(error)[:200], wanted="UTF-8", fix="Save the file as UTF-8."
        ) from None


def _try_json(text: str) -> Document | None:
    """None when it is not JSON: `{name: x}` is YAML."""
    try:
        data = json.loads(text, object_pairs_hook=_unique)
    except json.JSONDecodeError:
        return None
    except (RecursionError, ValueError) as error:
        raise ConfigError("E1008", "a number is too large, or the nesting too deep", found=str(error)[:80]) from None
    _check_depth(data, 1)
    return Document(data, {})


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ConfigError(
            "E1001", f"duplicate key {twice!r}", wanted="each key once", fix=f"Remove one of the keys {twice!r}."
        )
    return result


def _check_depth(value: Any, depth: int) -> None:
    if depth > MAX_DEPTH:
        raise _too_deep()
    if isinstance(value, dict | list):
        for item in value.values() if isinstance(value, dict) else value:
            _check_depth(item, depth + 1)


def _too_deep() -> ConfigError:
    return ConfigError("E1008", "the text is nested too deeply", wanted=f"at most {MAX_DEPTH} levels")


_ALIAS = "Put a value that begins with * or & into quotes, such as '*.orders'; write out what is repeated."
_REMEDIES = (
    ("while scanning an alias", _ALIAS),
    ("while scanning an anchor", _ALIAS),
    ("found character '\\t'", "Indent with blanks instead of tabs."),
    ("that cannot start any token", "Put the value into quotes."),
    ("YAML tags", "Put the value into quotes."),
    ("mapping values are not allowed here", "Put a value that contains ': ' into quotes, or correct the indentation."),
)


class _Loader(yaml.SafeLoader):
    """Composes nodes under our limits; `_Builder` makes values of them."""

    depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise ConfigError(
                "E1001",
                "anchors and aliases are not supported",
                found=_place(event.start_mark),
                wanted="plain YAML",
                fix=_ALIAS,
            )
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise _too_deep()
        try:
            return super().compose_node(parent, index)
        finally:
            self.depth -= 1


_Loader.yaml_implicit_resolvers = {
    first: [(tag, regex) for tag, regex in resolvers if tag != "tag:yaml.org,2002:timestamp"]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
_SCALARS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))


def _parse_yaml(text: str) -> Document:
    loader = None
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines: dict[Path, int] = {}
        return Document(_build(loader, node, (), lines) if node is not None else None, lines)
    except yaml.YAMLError as error:
        raise _unparsed(error) from None
    except RecursionError:
        raise _too_deep() from None
    finally:
        if loader is not None:
            loader.dispose()


def _build(loader: _Loader, node: yaml.Node, path: Path, lines: dict[Path, int]) -> Any:
    lines.setdefault(path, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode) and node.tag == "tag:yaml.org,2002:map":
        result: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _key(key_node)
            if key in result:
                raise _syntax(f"duplicate key {key!r}", _place(key_node.start_mark))
            lines[(*path, key)] = key_node.start_mark.line + 1
            result[key] = _build(loader, value_node, (*path, key), lines)
        return result
    if isinstance(node, yaml.SequenceNode) and node.tag == "tag:yaml.org,2002:seq":
        return [_build(loader, item, (*path, index), lines) for index, item in enumerate(node.value)]
    if isinstance(node, yaml.ScalarNode) and node.tag in _SCALARS:
        try:
            return loader.construct_object(node)
        except (ValueError, KeyError, IndexError, OverflowError):
            raise _syntax(f"this is not a valid {node.tag.rpartition(':')[2]}", _place(node.start_mark)) from None
    # the tag itself is not repeated: it may be the start of a password that begins with an exclamation mark
    raise _syntax("YAML tags (!...) are not supported; put the value in quotes", _place(node.start_mark))


def _key(node: yaml.Node) -> str:
    """As written: `on: 1` has the key "on", not True."""
    if not isinstance(node, yaml.ScalarNode):
        raise _syntax("a key must be a string", _place(node.start_mark))
    return str(node.value)


def _place(mark: Any) -> str:
    return f"line {mark.line + 1}, column {mark.column + 1}"


def _unparsed(error: yaml.YAMLError) -> ConfigError:
    if not isinstance(error, yaml.MarkedYAMLError):
        return _syntax(str(error).splitlines()[0][:200], "")
    problem = ", ".join(part for part in (error.context, error.problem) if part)
    where = error.problem_mark or error.context_mark
    return _syntax(problem, _place(where) if where else "")


def _syntax(problem: str, place: str) -> ConfigError:
    fix = next((remedy for part, remedy in _REMEDIES if part in problem), "")
    return ConfigError("E1001", f"the text can't be parsed: {problem}", found=place, wanted="YAML or JSON", fix=fix)
