"""Records the number of partitions of each topic at the task's first write, in Kafka.

A key's changes stay in order because they all go to one partition, and which one depends on the number of partitions.
Somebody who adds some, or makes a topic again, moves keys: that is noticed by the recorded number, also by a later term
on another machine. One record a topic, in a compacted topic of the task; with exactly_once it is part of the
transaction of the first rows.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

import msgspec
from kafka import TopicPartition

from replicator.errors import SinkError
from replicator.kafka.admin_client import AdminClient
from replicator.model.decoding import from_json
from replicator.sink.kafka.admin import Ask

VERSION: Final = 1
_READ_SECONDS: Final = 20.0


class CountRecord(msgspec.Struct, kw_only=True):
    """v: version of this form; topic: its name; partitions: how many; time_ms: wall clock of the writer."""

    v: int = VERSION
    topic: str
    partitions: int
    time_ms: int = 0


def dump(topic: str, partitions: int) -> bytes:
    return msgspec.json.encode(CountRecord(topic=topic, partitions=partitions, time_ms=time.time_ns() // 1_000_000))


def read_counts(ask: Ask, topic: str) -> dict[str, int]:
    """Partitions by topic, from the whole of a counts topic, which has to exist. ask: `Topics.ask`.

    Raises:
        SinkUnavailable: not read in time.
        SinkError: E3108.
    """
    return ask(f"the partition counts in '{topic}' could not be read", lambda admin: _counts(admin, topic))


def read_topics(ask: Ask, topic: str) -> list[str]:
    """The topics that a counts topic names, which has to exist, also in transactions that are aborted or have no end.
    ask: `Topics.ask`. Raises SinkUnavailable: not read in time."""
    what = f"the topics in '{topic}' could not be read"
    return ask(what, lambda admin: [name for name, _ in _read(admin, topic, committed=False) if name])


def _counts(admin: AdminClient, topic: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for name, value in _read(admin, topic, committed=True):
        if value is None:
            found.pop(name, None)
        else:
            found[name] = load(value, topic)
    return found


def _read(admin: AdminClient, topic: str, *, committed: bool) -> Iterator[tuple[str, bytes | None]]:
    place, deadline = TopicPartition(topic, 0), time.monotonic() + _READ_SECONDS
    first, last = admin.ends(place, deadline, committed=committed)
    for record in admin.read(place, first, last, deadline, committed=committed):
        yield (record.key or b"").decode("utf-8", "replace"), record.value


def load(data: bytes, topic: str) -> int:
    try:
        record = from_json(data, CountRecord)
        if record.v <= VERSION and record.partitions > 0:
            return record.partitions
        problem = f"version {record.v}, {record.partitions} partitions"
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        problem = str(error)
    raise SinkError("E3108", f"a record of '{topic}' can't be read", found=problem, wanted=f"version {VERSION}")


def changed(topic: str, recorded: int, found: int) -> SinkError:
    """E3106."""
    return SinkError(
        "E3106",
        f"the topic '{topic}' has a different number of partitions than when the task first wrote to it",
        found=f"{found}",
        wanted=f"{recorded}",
        fix="Set `sink.partitions_changed`: accept uses the new number, after which changes of a key may be in "
        f"another partition than earlier ones; keep uses only the first {recorded}. Or restore the former number.",
    )
