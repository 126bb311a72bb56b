"""Tables rebuilt from records of each format, and compared with what a server says."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, Final, NamedTuple

from tests.golden import canal_consumer, debezium_consumer, maxwell_consumer

Row = dict[str, Any]
Selected = dict[str, "str | bytes | None"]
Same = Callable[[Any, "str | bytes | None", Any], bool]

_UNAVAILABLE: Final = "__debezium_unavailable_value"
_MISSING: Final = (_UNAVAILABLE, base64.b64encode(_UNAVAILABLE.encode()).decode())


class Change(NamedTuple):
    """One row: `before`, `after` without what is not known; `kinds`: what `same` needs to know of each column."""

    table: str
    before: Row | None
    after: Row | None
    kinds: dict[str, Any]


def debezium(value: bytes) -> Iterator[Change]:
    """With schemas."""
    message = json.loads(value)
    payload = message["payload"]
    if "op" not in payload:
        return
    fields = next(field["fields"] for field in message["schema"]["fields"] if field["field"] == "after")
    kinds = {field["field"]: field for field in fields}
    yield Change(payload["source"]["table"], _known(payload["before"]), _known(payload["after"]), kinds)


def _known(row: Row | None) -> Row | None:
    return None if row is None else {name: value for name, value in row.items() if value not in _MISSING}


def maxwell(value: bytes) -> Iterator[Change]:
    message = json.loads(value, parse_float=Decimal)
    data, old = message["data"], message.get("old", {})
    before = None if message["type"] == "insert" else {**data, **old}
    yield Change(message["table"], before, None if message["type"] == "delete" else data, dict.fromkeys(data))


def canal(value: bytes) -> Iterator[Change]:
    return _canal(json.loads(value))


def protobuf(value: bytes) -> Iterator[Change]:
    return _canal(canal_consumer._flattened(value))


def _canal(message: Row | None) -> Iterator[Change]:
    if message is None or message["type"] not in ("INSERT", "UPDATE", "DELETE"):
        return
    for at, row in enumerate(message["data"]):
        before = {**row, **message["old"][at]} if message["type"] == "UPDATE" else row
        after = None if message["type"] == "DELETE" else row
        yield Change(message["table"], None if message["type"] == "INSERT" else before, after, message["mysqlType"])


class Rebuilt:
    """
    Args:
        keys: by table; () where rows have none.
        same: (value, what the server selects, kind) -> whether they are the same.
        partial: images before a change hold little more than the key, and formats do not tell what else of it is known.
    """

    def __init__(self, keys: dict[str, tuple[str, ...]], same: Same, *, partial: bool) -> None:
        self._keys, self._same, self._partial = keys, same, partial
        self._rows: dict[str, list[Row]] = {table: [] for table in keys}
        self._kinds: dict[str, dict[str, Any]] = {table: {} for table in keys}

    def take(self, change: Change) -> None:
        rows = self._rows[change.table]
        self._kinds[change.table] |= change.kinds
        known: Row = {}
        if change.before is not None:
            known = self._find(change.table, change.before)
            rows.remove(known)
        if change.after is not None:
            rows.append({**known, **change.after})

    def _find(self, table: str, before: Row) -> Row:
        """The row that the image before a change is of: what is known of both must be the same."""
        found = [row for row in self._rows[table] if _agree(row, before, self._keys[table] or tuple(before))]
        assert found, f"{table} has no row {before}"
        row = found[0]
        names = self._keys[table] if self._partial else ()
        assert _agree(row, before, names or tuple(before)), f"{table} has {row}, the change is of {before}"
        return row

    def differences(self, table: str, truth: list[Selected]) -> Iterator[str]:
        left = list(self._rows[table])
        for expected in truth:
            fitting = next((row for row in left if self._fits(table, row, expected)), None)
            if fitting is None:
                yield f"{table}: no row for {expected}, of {left}"
            else:
                left.remove(fitting)
        if left and len(truth) != len(self._rows[table]):
            yield f"{table}: {len(truth)} rows, and {left} besides"

    def _fits(self, table: str, row: Row, expected: Selected) -> bool:
        kinds = self._kinds[table]
        return all(self._same(row[name], value, kinds[name]) for name, value in expected.items() if name in row)


def _agree(row: Row, other: Row, names: tuple[str, ...]) -> bool:
    return all(row[name] == other[name] for name in names if name in row and name in other)


READERS: Final[dict[str, tuple[Callable[[bytes], Iterator[Change]], Same]]] = {
    "debezium": (debezium, debezium_consumer.same),
    "maxwell": (maxwell, lambda ours, theirs, kind: maxwell_consumer.same(ours, theirs)),
    "canal": (canal, lambda ours, theirs, kind: canal_consumer.same(kind, ours, theirs)),
    "protobuf": (protobuf, lambda ours, theirs, kind: canal_consumer.same(kind, ours, theirs)),
}
