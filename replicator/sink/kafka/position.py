"""The position record of exactly_once: written in the transaction of the rows, read back after fencing.

It stands in a compacted topic of one partition, keyed by the task's name. What is read is the last committed record:
`init_transactions` has ended every transaction of an earlier term before, one way or the other.
"""

from __future__ import annotations

import time
from typing import Any

import msgspec
from kafka.structs import TopicPartition

from replicator.errors import SinkError
from replicator.model.position import Position
from replicator.sink.kafka.admin import Admin, Ask

VERSION = 1
_FIRST_LOOK = 32  # offsets; each transaction takes two: the record and its marker
_GROWTH = 32


class PositionRecord(msgspec.Struct, kw_only=True):
    """v: version of this form; uid: the task's incarnation; epoch: term that wrote it; time_ms: its wall clock."""

    v: int = VERSION
    uid: str
    epoch: int
    position: Position
    time_ms: int


def dump(uid: str, epoch: int, position: Position) -> bytes:
    record = PositionRecord(uid=uid, epoch=epoch, position=position, time_ms=time.time_ns() // 1_000_000)
    return msgspec.json.encode(record)


def load(data: bytes, topic: str) -> PositionRecord:
    """Raises SinkError E3108 for what this version can't read: a position is never guessed."""
    try:
        version = msgspec.json.decode(data, type=dict[str, Any]).get("v")
        if isinstance(version, int) and version <= VERSION:
            return msgspec.json.decode(data, type=PositionRecord)
        problem = f"version {version}"
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem = f"{error}: {data[:80].decode('utf-8', 'replace')}"
    raise SinkError("E3108", f"the last record of '{topic}' can't be read", found=problem, wanted=f"version {VERSION}")


def read_last(ask: Ask, topic: str, task: str, timeout: float) -> PositionRecord | None:
    """The last committed position record of the task's name, whichever incarnation's; None when there is none.

    The end of the partition is looked at first, then larger and larger pieces; a task's own topic needs one look.

    Args:
        ask: `Topics.ask`.

    Raises:
        SinkUnavailable: not read within `timeout` seconds.
        SinkError: E3108.
    """
    place, deadline = TopicPartition(topic, 0), time.monotonic() + timeout
    what = f"the position in '{topic}' could not be read"
    data = ask(what, lambda admin: _last_value(admin, place, task.encode(), deadline))
    return load(data, topic) if data else None


def _last_value(admin: Admin, place: TopicPartition, key: bytes, deadline: float) -> bytes | None:
    """b"" for a tombstone, by which an operator resets it."""
    begin, until = admin.ends(place, deadline)
    look, end = _FIRST_LOOK, until
    while until > begin:
        start = max(begin, end - look)
        found: bytes | None = None
        for record in admin.read(place, start, until, deadline):
            if record.key == key:
                found = record.value or b""
        if found is not None:
            return found
        look, until = look * _GROWTH, start
    return None
