"""Carries over positions in Kafka under the task's name when the task has none under the id of its installation.

Before installations had ids, their names had none in them. A position that this very task wrote then is carried over:
its producer is fenced out, its position read, and the first commit under the new names leaves a record in the old
topic that says so. The same holds for the topic of a name that was escaped to another's. Any other position is of an
earlier task of that name, or of another installation, and is only told.
"""

from __future__ import annotations

import logging
from typing import Final

import msgspec

from replicator.config.task import KafkaSink
from replicator.errors import SinkError
from replicator.kafka.admin_client import AdminClient
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka.hanging_transactions import HangingTransactions
from replicator.sink.kafka.names import (
    former_position_topic,
    position_topic,
    position_topics,
    transactional_id,
)
from replicator.sink.kafka.position import READ_SECONDS, PositionRecord, read_last, refuse_unknown
from replicator.sink.kafka.session import Session
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.topics import Topics

log: Final = logging.getLogger(__name__)


class Inherited(msgspec.Struct, frozen=True):
    """position: of this task, under its old names; old: the topic that it was in, to which the first commit writes the
    move. left: the position of another task of that name."""

    position: Position | None = None
    old: Topic | None = None
    left: Position | None = None


def find(config: KafkaSink, topics: Topics, term: Term) -> Inherited:
    """What there is under the task's name and not under its own names. Fences out who writes under the old names, where
    they are this task's.

    Raises:
        SinkUnavailable, SinkError: E3112, this very task has a position under another installation's id.
        SinkFenced: E3111.
    """
    own, plain = position_topic(term.task, term.installation), position_topic(term.task)
    names = topics.ask("the topics could not be listed", AdminClient.topics)
    found = {name: _read(topics, name, term) for name in position_topics(term.task, names) if name != own}
    former = former_position_topic(term.task, term.installation)
    mine = found.get(former)
    if mine is not None and mine.uid == term.uid:  # its producer had our transactional id, and is fenced out already
        refuse_unknown(mine, term)
        log.warning("the position in '%s' was moved to '%s'", former, own)
        return Inherited(mine.position, topics.position(former))
    mine = found.get(plain)
    if mine is not None and mine.uid == term.uid:
        refuse_unknown(mine, term)
        return _carry_over(config, topics, term, plain)
    others = sorted((record for record in found.values() if record is not None), key=lambda record: record.time_ms)
    for record in others:
        if record.uid == term.uid:
            raise _moved(record, term)
    counted = [record for record in others if record.uid not in term.purged]
    return Inherited(left=counted[-1].position if counted else None)


def _read(topics: Topics, name: str, term: Term) -> PositionRecord | None:
    return read_last(topics.ask, name, term.task, READ_SECONDS)


def _carry_over(config: KafkaSink, topics: Topics, term: Term, plain: str) -> Inherited:
    before = Topics(config, term.task)
    hanging, session = HangingTransactions(before, term.task), None
    try:
        hanging.look()
        term.check()
        session = Session(config, before, term, transactional_id(term.task))
        session.know(before.position(plain))
        session.init_transactions(hanging)
        record = _read(before, plain, term)
    finally:
        if session is not None:
            session.close()
        before.disconnect()
    if record is None or record.uid != term.uid:
        return Inherited(left=record.position if record is not None and record.uid not in term.purged else None)
    refuse_unknown(record, term)
    log.warning("the position in '%s' was moved to the key with the installation id, %s", plain, term.installation)
    return Inherited(record.position, topics.position(plain))


def _moved(record: PositionRecord, term: Term) -> SinkError:
    return SinkError(
        "E3112",
        "this task has a position under the id of another installation",
        found=f"installation {record.installation}, up to {record.position}, by {record.host or 'an unknown host'}",
        wanted=f"installation {term.installation}, as in the znode `installation`",
        fix="Restore the former id in the znode `installation` and restart the Cores. In a copy of another "
        "installation's ZooKeeper, delete the tasks and create them again.",
    )
