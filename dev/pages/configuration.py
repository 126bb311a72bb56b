"""docs/configuration.md: every key of a task's configuration, from the models that validate it."""

from __future__ import annotations

import json
from typing import Any

from dev.pages.markdown import row, table
from replicator.config import reference

_HEAD = """# Task configuration

Made from `replicator/config/` by `make docs`; do not edit. One YAML or JSON document describes one task.
`replicator task apply -f FILE` applies it; `replicator check -f FILE` tests it with the servers that it names.
`replicator explain task.sink.topic` shows a key in the terminal, and [task.schema.json](task.schema.json) lets an
editor complete and validate it. Unknown keys are refused (E1001).

A secret is a reference, never a value: `env:NAME` or `file:/path` ([security.md](security.md)).
[snapshots.md](snapshots.md) explains `source.snapshot`, [formats.md](formats.md) the options of each format,
[transforms.md](transforms.md) the transforms."""
_TOP = ""
_TITLES = {_TOP: "Task"}


def page() -> str:
    keys = reference.keys()
    parts = [_HEAD]
    for parent in [_TOP, *(path for path in keys if _children(path, keys))]:
        parts += ["", f"## {_TITLES.get(parent) or parent}", ""]
        if parent:
            parts += [_sentence(str(keys[parent].get("description", ""))), ""]
        parts += table("key", "type", "default", "meaning")
        parts += [_line(path, keys[path], nested=bool(_children(path, keys))) for path in _children(parent, keys)]
    return "\n".join(parts) + "\n"


def _children(parent: str, keys: dict[str, dict[str, Any]]) -> list[str]:
    return [path for path in keys if path.rpartition(".")[0] == parent]


def _line(path: str, node: dict[str, Any], *, nested: bool) -> str:
    name = f"`{path.rpartition('.')[2]}`"
    linked = f"[{name}](#{path.replace('.', '').lower()})" if nested else name
    return row(linked, reference.type_name(node), _default(node), str(node.get("description", "")))


def _default(node: dict[str, Any]) -> str:
    if node.get("required"):
        return "required"
    value = node.get("default")
    if value in (None, [], "") or isinstance(value, dict):
        return ""
    return f"`{value if isinstance(value, str) else json.dumps(value)}`"


def _sentence(text: str) -> str:
    text = text.strip() or "Its keys:"
    return text[0].upper() + text[1:] + ("" if text.endswith((".", ":")) else ".")
