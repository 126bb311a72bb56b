"""Documentation of the configuration keys, made from the models: path, type, default and meaning."""

from __future__ import annotations

import functools
import json
from collections.abc import Iterator
from typing import Any, Final

from replicator.config import json_schema

SECTIONS: Final = ("source", "sink")
"""They have other keys for each `type`."""


@functools.cache
def types(section: str) -> list[str]:
    """Of one of `SECTIONS`."""
    return list(map(str, keys()[f"{section}.type"]["enum"]))


def keys(section: str = "", kind: str = "") -> dict[str, dict[str, Any]]:
    """Every key by its dotted path. One that several forms share (`sink.type`) has all their values.

    Args:
        section, kind: one of `SECTIONS` and one of its types: of the section only the keys of this type.
    """
    root = json_schema.schema()
    known: dict[str, dict[str, Any]] = {}
    for path, node in _walk(root, root, only={f"{section}.": kind} if kind else {}):
        values = _values(node)
        if values:
            before = known.get(path, {}).get("enum", [])
            node = {**node, "enum": [*before, *(value for value in values if value not in before)]}
        known[path] = node
    return known


def _walk(
    node: dict[str, Any], root: dict[str, Any], prefix: str = "", *, only: dict[str, str]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every key below `node` of the JSON Schema, dotted, with its own schema; all keys of several forms, and of the
    members of a list. `only`: prefix -> value of `type` of the forms that count there."""
    for form in _forms(node, root):
        properties = form.get("properties", {})
        if prefix in only and only[prefix] not in _values(properties.get("type", {})):
            continue
        for key, child in properties.items():
            path = f"{prefix}{key}"
            yield path, {**child, "required": key in form.get("required", ())}
            yield from _walk(child, root, f"{path}.", only=only)


def _values(node: dict[str, Any]) -> list[Any]:
    return [node["const"]] if "const" in node else list(node.get("enum", []))


def _forms(node: dict[str, Any], root: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "$ref" in node:
        yield from _forms(root["$defs"][node["$ref"].rpartition("/")[2]], root)
        return
    for choice in ("anyOf", "oneOf"):
        for form in node.get(choice, ()):
            yield from _forms(form, root)
    if "items" in node:
        yield from _forms(node["items"], root)
    yield node


def type_name(node: dict[str, Any]) -> str:
    if "$ref" in node:
        return "mapping"
    forms = node.get("anyOf") or node.get("oneOf")
    if forms:
        return " or ".join(dict.fromkeys(text for text in map(type_name, forms) if text != "null"))
    if "const" in node or "enum" in node:
        return " | ".join(map(str, node.get("enum", [node.get("const")])))
    if node.get("type") == "array":
        return f"list of {type_name(node.get('items', {}))}"
    bounds = [
        f"{word} {node[key]}"
        for key, word in (("minimum", "from"), ("exclusiveMinimum", "over"), ("maximum", "to"))
        if key in node
    ]
    return " ".join([str(node.get("type", "any")), *bounds])


def headline(path: str, node: dict[str, Any]) -> str:
    parts = [f"{path.rpartition('.')[2]} <{type_name(node)}>"]
    if node.get("required"):
        parts.append("required")
    elif node.get("default") is not None and not isinstance(node["default"], dict):
        parts.append(f"default: {_plain(node['default'])}")
    return "  ".join(parts)


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
