"""Partial JSON updates as MySQL 8.0 and later write them (sql-common/json_diff.cc)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from tests.unit.decode import json_writer
from tests.unit.decode.binlog_writer import lenenc

_REPLACE: Final = 0
_INSERT: Final = 1
_REMOVE: Final = 2


def changes(before: Any, after: Any) -> bytes | None:
    """The list that makes `after` of `before`; None where only a whole document does."""
    if type(before) is not type(after) or not isinstance(before, (dict, list)):
        return None
    return b"".join(_changes("$", before, after))


def _changes(path: str, before: Any, after: Any) -> Iterator[bytes]:
    if _text(before) == _text(after):
        return
    if isinstance(before, dict) and isinstance(after, dict):
        for name in sorted(before.keys() | after.keys()):
            place = f"{path}.{_text(name)}"
            if name not in after:
                yield _one(_REMOVE, place)
            elif name not in before:
                yield _one(_INSERT, place, after[name])
            else:
                yield from _changes(place, before[name], after[name])
    elif isinstance(before, list) and isinstance(after, list):
        for at in range(len(before) - 1, len(after) - 1, -1):
            yield _one(_REMOVE, f"{path}[{at}]")
        for at, value in enumerate(after):
            if at < len(before):
                yield from _changes(f"{path}[{at}]", before[at], value)
            else:
                yield _one(_INSERT, f"{path}[{at}]", value)
    else:
        yield _one(_REPLACE, path, after)


def _one(operation: int, path: str, *value: Any) -> bytes:
    parts = (path.encode(), *map(json_writer.write, value))
    return bytes([operation]) + b"".join(lenenc(len(part)) + part for part in parts)


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True)
