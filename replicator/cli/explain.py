"""`replicator explain`: configuration keys and error codes."""

from __future__ import annotations

import difflib
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any

import click

from replicator.codes import CODES
from replicator.config import json_schema

_MEANING_COLUMN = 4


@click.command("explain")
@click.argument("what", default="task")
def command(what: str) -> None:
    """What WHAT means: a key of a task's configuration (task, task.source, sink.topic, ...) or an error code (E2104).

    Of a key: its type, its default, its meaning, and the keys below it.
    """
    code = what.upper()
    if code in CODES:
        click.echo(_code(code), nl=False)
        return
    path = [part for part in what.split(".") if part]
    if path[:1] == ["task"]:
        path = path[1:]
    known = _known()
    name = ".".join(path)
    if name and name not in known:
        if re.fullmatch(r"E\d{1,4}", code):
            alike = [other for other in CODES if other[:3] == code[:3]]
            raise click.UsageError(f"No such code: {code}. {'There are ' + ', '.join(alike) if alike else ''}".rstrip())
        choices = list(known)
        near = difflib.get_close_matches(name, choices, n=3, cutoff=0.5)
        words = difflib.get_close_matches(path[-1], [key.rpartition(".")[2] for key in known], n=2, cutoff=0.6)
        near += [key for word in words for key in known if key.rpartition(".")[2] == word and key not in near]
        hint = f" Did you mean {' or '.join(near[:3])}?" if near else " See `replicator explain task`."
        raise click.UsageError(f"No such key or code: {what!r}.{hint}")
    click.echo(_key(name, known), nl=False)


def _code(code: str) -> str:
    entry = CODES[code]
    lines = [f"{code} {entry.area}: {entry.title}", f"  {entry.meaning}"]
    return "\n".join([*lines, f"  Fix: {entry.remedy}"] if entry.remedy else lines) + "\n"


def _known() -> dict[str, dict[str, Any]]:
    """Every key by its dotted path. One that several forms share (`sink.type`) has all their values."""
    root = json_schema.schema()
    known: dict[str, dict[str, Any]] = {}
    for path, node in _walk(root, root):
        if "const" in node:
            before = known.get(path, {}).get("enum", [])
            node = {**node, "enum": [*before, *([] if node["const"] in before else [node["const"]])]}
        known[path] = node
    return known


def _walk(node: dict[str, Any], root: dict[str, Any], prefix: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key below `node` of the JSON Schema, dotted, with its own schema; of several forms all keys."""
    for form in _forms(node, root):
        for key, child in form.get("properties", {}).items():
            path = f"{prefix}{key}"
            yield path, {**child, "required": key in form.get("required", ())}
            yield from _walk(child, root, f"{path}.")


def _forms(node: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "$ref" in node:
        yield from _forms(root["$defs"][node["$ref"].rpartition("/")[2]], root)
        return
    for choice in ("anyOf", "oneOf"):
        for form in node.get(choice, ()):
            yield from _forms(form, root)
    yield node


def _type(node: dict[str, Any]) -> str:
    if "$ref" in node:
        return "mapping"
    forms = node.get("anyOf") or node.get("oneOf")
    if forms:
        return " or ".join(dict.fromkeys(text for text in map(_type, forms) if text != "null"))
    if "const" in node or "enum" in node:
        return " | ".join(map(str, node.get("enum", [node.get("const")])))
    if node.get("type") == "array":
        return f"list of {_type(node.get('items', {}))}"
    bounds = [
        f"{word} {node[key]}"
        for key, word in (("minimum", "from"), ("exclusiveMinimum", "over"), ("maximum", "to"))
        if key in node
    ]
    return " ".join([str(node.get("type", "any")), *bounds])


def _about(path: str, node: dict[str, Any]) -> str:
    parts = [f"{path.rpartition('.')[2]} <{_type(node)}>"]
    if node.get("required"):
        parts.append("required")
    elif node.get("default") is not None and not isinstance(node["default"], dict):
        parts.append(f"default: {_plain(node['default'])}")
    return "  ".join(parts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _key(name: str, known: dict[str, dict[str, Any]]) -> str:
    """The key itself, then the keys directly below it."""
    lines = [_about(name, known[name]) if name else "task  one source and one sink"]
    if name and known[name].get("description"):
        lines += textwrap.wrap(known[name]["description"], 76, initial_indent="  ", subsequent_indent="  ")
    below = [key for key in known if key.rpartition(".")[0] == name]
    if below:
        lines += ["", "keys:"]
    for key in below:
        lines.append(f"  {_about(key, known[key])}")
        indent = " " * (_MEANING_COLUMN + 2)
        lines += textwrap.wrap(known[key].get("description", ""), 74, initial_indent=indent, subsequent_indent=indent)
    return "\n".join(lines) + "\n"
