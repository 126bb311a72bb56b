"""Replaces records that are too large for Kafka by references to their rows (`sink.oversize: dead_letter`)."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from replicator.config.task import KafkaSink
from replicator.model.batch import Record
from replicator.sink.kafka.names import dead_letter_topic
from replicator.sink.kafka.records import Stamp, size_of
from replicator.sink.kafka.topic import Topic
from replicator.sink.lines import text_or_base64

log = logging.getLogger(__name__)

VERSION: Final = 1
_CERTAINLY_FITS: Final = 4096
"""Bytes that a record may take besides key and value, when it has no headers of its own."""

_LONGEST_KEY: Final = 64 << 10
_LOUD: Final = 10
_LOUD_EACH: Final = 1000


class DeadLetters:
    """Of one task, over all its sessions.

    A record counts as too large independent of its place among others, so that a row that is sent again is handled
    in the same way.

    Attributes:
        topic: where they go.
        count: how many were made.
    """

    def __init__(self, topic: str, task: str) -> None:
        self.topic = topic
        self.count = 0
        self._task = task

    def instead(self, records: Iterable[Record], stamp: Stamp, topic_of: Callable[[str], Topic]) -> Iterator[Record]:
        """The records in order, with a dead letter in the place of each that is too large for its topic."""
        last, most = "", 0
        for record in records:
            if record[0] != last:
                last = record[0]
                most = topic_of(last).record_bytes
            if len(record[1] or b"") + len(record[2] or b"") + _CERTAINLY_FITS < most and not record[5]:
                yield record
                continue
            size = size_of(record, stamp)
            yield record if size <= most or last == self.topic else self._letter(record, size, most)

    def _letter(self, record: Record, size: int, most: int) -> Record:
        topic, key, value, position, row, *_ = record
        where = position.decode("ascii", "replace")
        self.count += 1
        if self.count <= _LOUD or self.count % _LOUD_EACH == 0:
            log.warning(
                "record %d too large for '%s' went to '%s': %d bytes of at most %d, row %d of %s",
                self.count,
                topic,
                self.topic,
                size,
                most,
                row,
                where,
            )
        letter: dict[str, Any] = {
            "v": VERSION,
            "topic": topic,
            **text_or_base64("key", key if key is None else key[:_LONGEST_KEY]),
            "position": where,
            "row": row,
            "size": size,
            "sha256": None if value is None else hashlib.sha256(value).hexdigest(),
            "claim_check": {"task": self._task, "position": where, "row": row},
            "reason": f"over the {most} bytes that sink.max_record_bytes and the topic's max.message.bytes allow",
        }
        short = key if key is not None and len(key) <= _LONGEST_KEY else None
        return self.topic, short, msgspec.json.encode(letter), position, row, ()


def dead_letters(config: KafkaSink, task: str) -> DeadLetters | None:
    """None where a record that is too large stops the task. Raises ConfigError E1007."""
    if config.oversize == "fail":
        return None
    return DeadLetters(dead_letter_topic(config.dead_letter_topic, task), task)
