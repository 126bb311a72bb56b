"""Records of a topic as changes of rows of random tables."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, Protocol, TypeAlias

import msgspec

Row: TypeAlias = dict[str, Any]
Key: TypeAlias = tuple[Any, ...]
Kind: TypeAlias = Literal["read", "set", "delete", "empty"]


class Record(Protocol):
    @property
    def topic(self) -> str: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


class Seen(msgspec.Struct, frozen=True):
    """
    Attributes:
        kind: read: a row of a snapshot; set: a row of now; empty: all rows of the table are gone.
        before, after: images of the row.
        name: of the table in the record.
        origin: headers `position` and `row`.
    """

    kind: Kind
    name: str
    before: Row | None
    after: Row | None
    origin: tuple[bytes, bytes]


def table_of(row: Row) -> int:
    return int(row["t"])


def version_of(row: Row) -> int:
    return int(row["v"])


def key_of(row: Row) -> Key:
    """With the number of the table: rows keep it when their table is renamed."""
    return (int(row["t"]), *(row[name] for name in sorted(row) if name[0] == "k" and name[1:].isdigit()))


def changes(records: Iterable[Record]) -> Iterator[Seen]:
    """Those of rows; of a statement that empties a table, where the format writes one."""
    for record in records:
        if record.value is None:
            continue
        message = json.loads(record.value)
        found = dict(record.headers)
        origin = found.get("position", b""), found.get("row", b"")
        if "op" in message:
            yield _debezium(message, origin)
        elif "type" in message and "data" in message and "database" in message:
            change = _maxwell(message, origin)
            if change is not None:
                yield change


_DEBEZIUM: dict[str, Kind] = {"r": "read", "c": "set", "u": "set", "d": "delete", "t": "empty"}
_MAXWELL: dict[str, Kind] = {"bootstrap-insert": "read", "insert": "set", "update": "set", "delete": "delete"}


def _debezium(message: Row, origin: tuple[bytes, bytes]) -> Seen:
    name = message["source"]["table"]
    return Seen(_DEBEZIUM[message["op"]], name, message.get("before"), message.get("after"), origin)


def _maxwell(message: Row, origin: tuple[bytes, bytes]) -> Seen | None:
    kind = _MAXWELL.get(message["type"])
    if kind is None:
        return None
    data = message["data"]
    before = {**data, **message.get("old", {})} if kind == "delete" or message["type"] == "update" else None
    return Seen(kind, message["table"], before, None if kind == "delete" else data, origin)
