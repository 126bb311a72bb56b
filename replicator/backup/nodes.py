"""The znodes of a backup as values, and which znodes a backup has."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterable
from typing import Final

import msgspec

from replicator.coordination.ports import Stat
from replicator.errors import ProcessError

FORMAT: Final = 1
SECRETS: Final = ("tokens", "users")
"""Children of the root with the logins of people and programs: only on request."""
PASSING: Final = (
    *("tasks", "machines", "agents", "servers", "stopped", "requests", "restoring", "security"),
    *("locks", "barriers", "master_election", "cutovers", "alerts"),
)
"""Children of the root that have parts of their own, say what runs now, or belong to the ensemble (identities of
processes, by which the ACLs of restored znodes are made)."""
QUEUES: Final = ("commands", "instance")
"""Children of a task that are restored without children: commands were meant for the moment, contenders for a Core."""
MARKERS: Final = ("removing-", "restoring-", "verify-order")
"""Beginnings of the names of a task's children that say what happens with it now, or today."""
_DIGITS: Final = 10
_SEQUENTIAL: Final = re.compile(rf".*-(?P<number>[0-9]{{{_DIGITS}}})", re.DOTALL)


class SavedNode(msgspec.Struct, frozen=True, omit_defaults=True):
    """A persistent znode.

    Attributes:
        path: below the top of its part (a task's node, or the root), "" for the task's node itself.
        version: of its data.
        modified_ms: wall clock of the server at its last change.
        sequential: ZooKeeper has numbered it.
        text: its data where they are UTF-8, else `binary`: in Base64.
    """

    path: str
    version: int = 0
    modified_ms: int = 0
    sequential: bool = False
    text: str | None = None
    binary: str = ""

    @property
    def data(self) -> bytes:
        return self.text.encode() if self.text is not None else base64.b64decode(self.binary, validate=True)

    @property
    def size(self) -> int:
        return len(self.text) if self.text is not None else len(self.binary)


class SavedPart(msgspec.Struct, frozen=True):
    """A task, or what does not belong to a task (`task` ""). Nodes: parents before their children."""

    task: str
    nodes: tuple[SavedNode, ...]

    def find(self, path: str) -> SavedNode | None:
        return next((node for node in self.nodes if node.path == path), None)


def saved(path: str, data: bytes, stat: Stat, born: int = 0) -> SavedNode:
    """`born`: how many children the parent has had at least, 0 where none of them is numbered."""
    found = number_of(path)
    numbered = found is not None and found < born
    try:
        return SavedNode(path, stat.version, stat.mtime_ms, numbered, text=data.decode())
    except UnicodeDecodeError:
        return SavedNode(path, stat.version, stat.mtime_ms, numbered, binary=base64.b64encode(data).decode())


def checked(node: SavedNode) -> SavedNode:
    """Raises ProcessError E5102 for a path that leads elsewhere, or data that are not Base64."""
    parts = node.path.split("/") if node.path else []
    if any(part in ("", ".", "..") or "\0" in part for part in parts):
        raise ProcessError("E5102", "the backup has a znode with an invalid path", found=repr(node.path[:100]))
    try:
        node.data  # noqa: B018 - decoding is the check
        if node.sequential and number_of(node.path) is None:
            raise ValueError("a sequential znode without a number")
    except (binascii.Error, ValueError) as error:
        raise ProcessError("E5102", f"the data of the znode {node.path!r} can't be read", found=str(error)) from error
    return node


def number_of(path: str) -> int | None:
    """Of a name that a sequential znode may have; also a name that a person has given may look so."""
    match = _SEQUENTIAL.fullmatch(path.rpartition("/")[2])
    return int(match["number"]) if match else None


def prefix(node: SavedNode) -> str:
    """What a sequential node is created with, else its name."""
    name = node.path.rpartition("/")[2]
    return name[:-_DIGITS] if node.sequential else name


def in_order(nodes: Iterable[SavedNode]) -> list[SavedNode]:
    """Parents before children, and sequential siblings by their numbers: they get new ones when they are created, as
    those of a new parent begin at 0."""

    def key(node: SavedNode) -> tuple[int, str, int, str]:
        parent, _, name = node.path.rpartition("/")
        number = number_of(name) if node.sequential else None
        return node.path.count("/"), parent, -1 if number is None else number, name

    return sorted(nodes, key=key)
