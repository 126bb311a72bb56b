"""Rows and the position after them in one Kafka transaction, under the task's own transactional id.

Kafka keeps both promises: a later term's `init_transactions` ends our open transaction and refuses our next commit, and
a consumer with `isolation.level=read_committed` sees either all of a transaction or nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from replicator.config.task import KafkaSink
from replicator.errors import SinkError, SinkFenced, SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka import former_positions
from replicator.sink.kafka import position as positions
from replicator.sink.kafka.dead_letters import dead_letters
from replicator.sink.kafka.hanging_transactions import HangingTransactions
from replicator.sink.kafka.names import position_topic, transactional_id
from replicator.sink.kafka.session import Session
from replicator.sink.kafka.topic import Topic
from replicator.sink.kafka.topics import Topics

_IDLE_SECONDS = 1.0  # between transactions that hold a position and no rows
_AGAIN_SECONDS = 3600.0  # brokers forget transactional ids that are not used for days
_ABORT_SECONDS = 2.0


class ExactlyOnceSink:
    """`ports.Sink` for `delivery: exactly_once`.

    Several commits are never joined, and one commit may hold many writes: a transaction of the source that is larger
    than one write stays invisible until its end, as long as it takes less than `transaction_timeout_ms`.
    """

    holds_position = True
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    by_sql = False

    def __init__(self, config: KafkaSink, task: str, installation: str = "", *, batches: bool = True) -> None:
        self._config = config
        self._task = task
        self._batches = batches
        self._letters = dead_letters(config, task)
        self._topics = Topics(config, task, self._letters.topic if self._letters else None, installation)
        self._hanging = HangingTransactions(self._topics, task, installation)
        self._position_name = position_topic(task, installation)
        self._id = transactional_id(task, installation)
        self.left: Position | None = None
        self._session: Session | None = None
        self._waited = 0.0  # in earlier sessions
        self._position_topic: Topic | None = None
        self._old_topic: Topic | None = None  # where the position stood before; the next commit says that it has moved
        self._begun: float | None = None  # when the open transaction began
        self._waiting: Position | None = None  # a position without rows, not committed yet
        self._committed: Position | None = None
        self._stands: Position | None = None  # committed since `open`
        self._last_commit = 0.0

    def open(self, term: Term) -> Position | None:
        self.close()
        term.check()
        try:
            self._stands, self._committed = None, self._fence(term)
        except BaseException:
            self.close()
            raise
        self._last_commit = time.monotonic()
        return self._committed

    def _fence(self, term: Term) -> Position | None:
        session = Session(self._config, self._topics, term, self._id, letters=self._letters, batches=self._batches)
        self._session = session
        topic = self._position_topic = session.know(self._topics.position(self._position_name))
        self._read(topic, term)  # who is not of this task's history is not fenced out
        self._hanging.look()
        term.check()  # fencing is an act of leadership too
        session.init_transactions(self._hanging)
        record = self._read(topic, term)
        self._old_topic = self.left = None
        if record is not None and record.uid == term.uid:
            return record.position
        if record is not None or not term.installation:
            self.left = record.position if record is not None and record.uid not in term.purged else None
            return None
        inherited = former_positions.find(self._config, self._topics, term)
        self.left = inherited.left
        if inherited.old is not None:
            self._old_topic = session.know(inherited.old)
        return inherited.position

    def _read(self, topic: Topic, term: Term) -> positions.PositionRecord | None:
        record = positions.read_last(self._topics.ask, topic.name, self._task, positions.READ_SECONDS)
        if record is not None:
            positions.refuse_unknown(record, term)
        return record

    @property
    def dead_letters(self) -> int:
        return self._letters.count if self._letters else 0

    @property
    def waited_s(self) -> float:
        return self._waited + (self._session.window.waited if self._session is not None else 0.0)

    def write(self, batch: Batch) -> None:
        if not batch.records:
            return
        session = self._opened
        session.term.check()
        self._begin(session)
        try:
            session.write(batch.records, more=True)
        except SinkFenced as error:
            raise self._fenced_or_late(error) from error

    def commit(self, position: Position) -> None:
        session = self._opened
        session.term.check()
        passed = time.monotonic() - self._last_commit
        if self._begun is None and position == self._stands and passed < _AGAIN_SECONDS:
            self._waiting = None  # a heartbeat of an idle source: that stands there already
            return
        self._waiting = position
        if self._begun is not None or passed >= _IDLE_SECONDS:
            self._commit(session)

    def acknowledged(self) -> Position | None:
        """Also commits a position that has waited long enough for rows to go with."""
        session = self._opened
        session.producer.push()
        session.window.acknowledged()
        idle = time.monotonic() - self._last_commit
        if self._waiting is not None and self._begun is None and idle >= _IDLE_SECONDS:
            self._commit(session)
        return self._committed

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        session = self._opened
        session.term.check()
        # Rows that were written since do not belong to the position that waits: they may be half a transaction.
        if self._waiting is not None and self._begun is None:
            self._commit(session, timeout)

    def close(self) -> None:
        self._waited = self.waited_s
        session, self._session = self._session, None
        begun, self._begun = self._begun, None
        self._waiting = None
        if session is not None:
            if begun is not None:
                session.producer.abort(_ABORT_SECONDS)  # else read_committed consumers wait until it times out
            session.close()
        self._topics.disconnect()

    def _begin(self, session: Session) -> None:
        if self._begun is None:
            assert self._position_topic is not None, "opened"  # noqa: S101
            session.begin(self._position_topic, self._hanging)
            self._begun = time.monotonic()

    def _commit(self, session: Session, timeout: float | None = None) -> None:
        position, topic = self._waiting, self._position_topic
        assert position is not None and topic is not None, "there is something to commit"  # noqa: S101
        limit = timeout if timeout is not None else max(1.0, self._config.delivery_timeout_ms / 1000)
        deadline = time.monotonic() + limit
        self._begin(session)
        try:
            session.producer.send_plain(topic, self._task.encode(), positions.dump(session.term, position))
            if self._old_topic is not None:
                session.producer.send_plain(self._old_topic, self._task.encode(), positions.dump_moved(session.term))
            session.producer.push()
            session.window.drain(limit)
            session.term.check()
            session.producer.commit(max(0.5, deadline - time.monotonic()))
        except SinkFenced as error:
            raise self._fenced_or_late(error) from error
        self._begun = self._waiting = self._old_topic = None
        self._committed = self._stands = position
        self._last_commit = time.monotonic()

    def _fenced_or_late(self, error: SinkFenced) -> SinkError:
        """A transaction that times out at the broker is refused in the same words as a fenced one."""
        open_for = time.monotonic() - self._begun if self._begun is not None else 0.0
        if open_for * 1000 < self._config.transaction_timeout_ms * 0.9:
            return error
        return SinkUnavailable(
            "E3002",
            "the broker aborted a transaction that was open for too long",
            found=f"{open_for:.0f} s",
            wanted=f"less than sink.transaction_timeout_ms ({self._config.transaction_timeout_ms} ms)",
            fix="Raise sink.transaction_timeout_ms (up to transaction.max.timeout.ms of the broker), or set "
            "max_transaction_bytes: consumers may then see a part of a large transaction.",
        )

    @property
    def _opened(self) -> Session:
        if self._session is None:
            raise SinkUnavailable("E3002", "the sink is not open")
        return self._session
