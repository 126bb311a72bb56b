"""Applies the changes of a partial JSON update (sql-common/json_diff.cc) to a document.

A list of: operation 1 byte (0 replace, 1 insert, 2 remove), path behind its length, and but for remove a document
behind its length; lengths are length-encoded integers.
"""

from __future__ import annotations

import json
import re
from typing import Final, TypeAlias

from replicator.decode.values import json_tree
from replicator.decode.values.byte_reader import ByteReader
from replicator.decode.values.json_tree import Node

Leg: TypeAlias = bytes | int
"""A member's name or an array's index; negative: from its end, as in Python."""

_REPLACE, _INSERT, _REMOVE = range(3)
_LEG: Final = re.compile(r'\.(?:("(?:[^"\\]|\\.)*")|([^."\[\s]+))|\[(?:(\d{1,10})|last(?:-(\d{1,10}))?)\]', re.DOTALL)


def apply(before: bytes, diffs: bytes) -> bytes:
    """The document after the changes.

    Raises:
        DecodeError: E2302, the list is cut short.
        ValueError, IndexError: a document is damaged, or a change does not fit the one before.
    """
    if not diffs:
        return before
    root = json_tree.parse(before)
    reader = ByteReader(diffs, 0, len(diffs), "a partial JSON update")
    while reader:
        operation = reader.byte()
        path = _path(reader.take(reader.packed()).decode())
        value = json_tree.parse(reader.take(reader.packed())) if operation != _REMOVE else None
        _change(root, operation, path, value)
    return json_tree.write(root)


def _path(text: str) -> list[Leg]:
    """As the server writes them: `$.name[3]."other name"[last-1]`, without wildcards and ranges."""
    legs: list[Leg] = []
    at = 1
    while text.startswith("$") and (match := _LEG.match(text, at)):
        quoted, name, index, from_end = match.groups()
        if quoted or name:
            legs.append((json.loads(quoted, strict=False) if quoted else name).encode())
        else:
            legs.append(int(index) if index else -1 - int(from_end or 0))
        at = match.end()
    if at != len(text) or not legs:
        raise ValueError(f"invalid path: {text[:100]!r}")
    return legs


def _change(root: Node, operation: int, path: list[Leg], value: Node | None) -> None:
    parent = root
    for leg in path[:-1]:
        parent = _child(parent, leg)
    last = path[-1]
    if isinstance(parent, list) and isinstance(last, int):
        _change_array(parent, operation, last, value)
    elif isinstance(parent, dict) and isinstance(last, bytes):
        _change_object(parent, operation, last, value)
    else:
        raise ValueError(f"no such place: {last!r}")


def _child(node: Node, leg: Leg) -> Node:
    if isinstance(node, list) and isinstance(leg, int):
        return node[leg]
    if isinstance(node, dict) and isinstance(leg, bytes) and leg in node:
        return node[leg]
    raise ValueError(f"no such place: {leg!r}")


def _change_array(array: list[Node], operation: int, index: int, value: Node | None) -> None:
    if operation == _INSERT and value is not None:
        array.insert(index, value)  # beyond either end: there, as the server does
    elif index >= len(array):
        raise ValueError(f"no such place: [{index}]")
    elif operation == _REPLACE and value is not None:
        array[index] = value
    elif operation == _REMOVE:
        del array[index]
    else:
        raise ValueError(f"unknown operation: {operation}")


def _change_object(members: dict[bytes, Node], operation: int, name: bytes, value: Node | None) -> None:
    if (name in members) != (operation != _INSERT):
        raise ValueError(f"member {name!r} to {('replace', 'insert', 'remove')[operation]}")
    if operation == _REMOVE:
        del members[name]
    elif value is not None and operation in (_REPLACE, _INSERT):
        members[name] = value
    else:
        raise ValueError(f"unknown operation: {operation}")
