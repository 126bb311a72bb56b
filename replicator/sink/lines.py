"""Records as JSON lines: `{"topic", "partition", "offset", "timestamp", "key", "value", "headers"}`; headers are a list
of `{"key", "value"}`.

Keys and values stand as text where they are UTF-8, else under `key_base64` / `value_base64`; null is null.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterable
from typing import Any

import msgspec

from replicator.model.batch import Record
from replicator.model.term import Term

_encode = msgspec.json.Encoder().encode


class LineWriter:
    """Makes lines of the records of one term and numbers them per topic.

    Args:
        offsets: next offset per topic; changed as lines are made.
    """

    def __init__(self, term: Term, offsets: dict[str, int]) -> None:
        self._own = [
            {"key": "task", "value": term.task},
            {"key": "epoch", "value": str(term.epoch)},
        ]
        self._offsets = offsets

    def lines(self, records: Iterable[Record]) -> list[bytes]:
        """One line per record, each with its newline."""
        now = time.time_ns() // 1_000_000
        return [self._line(record, now) for record in records]

    def _line(self, record: Record, now: int) -> bytes:
        topic, key, value, position, row, headers, *_ = record
        offset = self._offsets.get(topic, 0)
        self._offsets[topic] = offset + 1
        line: dict[str, Any] = {"topic": topic, "partition": 0, "offset": offset, "timestamp": now}
        line |= text_or_base64("key", key)
        line |= text_or_base64("value", value)
        line["headers"] = [
            *[{"key": name, **text_or_base64("value", content)} for name, content in headers],
            *self._own,
            {"key": "position", "value": position.decode("ascii", "replace")},
            {"key": "row", "value": str(row)},
        ]
        return _encode(line) + b"\n"


def text_or_base64(name: str, data: bytes | None) -> dict[str, str | None]:
    """`{name: text}`, or `{name_base64: ...}` for what is not UTF-8."""
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}
