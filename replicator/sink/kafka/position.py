"""The position record of exactly_once: written in the transaction of the rows, read back after fencing.

It stands in a compacted topic of one partition, keyed by the task's name. What is read is the last committed record:
`init_transactions` has ended every transaction of an earlier term before, one way or the other. It is read before
fencing, too: a position of a term that ZooKeeper does not know is somebody's whom we must not fence out.
"""

from __future__ import annotations

import time
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
from kafka import TopicPartition

from replicator.errors import SinkError
from replicator.kafka.admin_client import AdminClient
from replicator.model.decoding import from_json
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink import unknown_term
from replicator.sink.kafka.admin import Ask

VERSION = 1
MOVED = 2
"""Version of the record that a task leaves in its old topic: versions that would go on there stop at it (E3108)."""
READ_SECONDS: Final = 20.0
_FIRST_LOOK = 32  # offsets; each transaction takes two: the record and its marker
_GROWTH = 32


class PositionRecord(msgspec.Struct, kw_only=True):
    """v: version of this form; uid: the task's incarnation; epoch: term that wrote it; time_ms: its wall clock;
    installation, host: where that was, "" in records of earlier versions."""

    v: int = VERSION
    uid: str
    epoch: int
    position: Position
    time_ms: int
    installation: str = ""
    host: str = ""


class MovedRecord(msgspec.Struct, kw_only=True):
    """The record in the topic from before installations had ids, once the position has moved to the installation's."""

    v: int = MOVED
    uid: str
    moved_to: str


def dump(term: Term, position: Position) -> bytes:
    record = PositionRecord(
        uid=term.uid,
        epoch=term.epoch,
        position=position,
        time_ms=time.time_ns() // 1_000_000,
        installation=term.installation,
        host=term.host,
    )
    return msgspec.json.encode(record)


def dump_moved(term: Term) -> bytes:
    return msgspec.json.encode(MovedRecord(uid=term.uid, moved_to=term.installation))


def load(data: bytes, topic: str) -> PositionRecord | None:
    """None: it has moved to another topic. Raises SinkError E3108 for what this version can't read: a position is never
    guessed."""
    try:
        content = from_json(data, dict[str, Any])
        version = content.get("v")
        if version == MOVED and "moved_to" in content:
            return None
        if isinstance(version, int) and version <= VERSION:
            return from_json(data, PositionRecord)
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


def refuse_unknown(record: PositionRecord, term: Term) -> None:
    """Raises UnknownTerm E3111 for a position of this task that no term of its history can have written."""
    if record.uid == term.uid:
        when = datetime.fromtimestamp(record.time_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
        unknown_term.refuse_unknown(
            term, record.epoch, f"{record.host or 'an unknown host'}, {when}, at {record.position}"
        )


def _last_value(admin: AdminClient, place: TopicPartition, key: bytes, deadline: float) -> bytes | None:
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
