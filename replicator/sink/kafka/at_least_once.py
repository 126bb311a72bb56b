"""An idempotent producer without transactions: rows are visible at once, a restart repeats what was not acknowledged.

Nothing fences an earlier term out here; its lease does (no batch leaves the process after it), and the `epoch` header
shows consumers what came from whom.
"""

from __future__ import annotations

from collections.abc import Callable

from replicator.config.task import KafkaSink
from replicator.errors import SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.conflicts import ConflictCounts
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.sink.kafka.dead_letters import dead_letters
from replicator.sink.kafka.session import Session
from replicator.sink.kafka.topics import Topics


class AtLeastOnceSink:
    """`ports.Sink` for `delivery: at_least_once`."""

    left = None
    holds_position = False
    holds_rows = unfinished = False
    conflicts: ConflictCounts = ()
    by_sql = False

    def __init__(self, config: KafkaSink, task: str, installation: str = "", *, batches: bool = True) -> None:
        self._config = config
        self._task = task
        self._batches = batches
        self._letters = dead_letters(config, task)
        self._topics = Topics(config, task, self._letters.topic if self._letters else None, installation)
        self._session: Session | None = None
        self._waited = 0.0  # in earlier sessions

    def open(self, term: Term) -> Position | None:
        self.close()
        term.check()
        self._session = Session(self._config, self._topics, term, None, letters=self._letters, batches=self._batches)
        return None

    @property
    def dead_letters(self) -> int:
        return self._letters.count if self._letters else 0

    @property
    def waited_s(self) -> float:
        return self._waited + (self._session.window.waited if self._session is not None else 0.0)

    def write(self, batch: Batch) -> None:
        if batch.records:
            self._opened.write(batch.records)

    def commit(self, position: Position) -> None:
        session = self._opened
        session.term.check()
        session.window.mark(position)

    def acknowledged(self) -> Position | None:
        return self._opened.window.acknowledged()

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        session = self._opened
        session.term.check()
        session.window.drain(timeout, progress)

    def close(self) -> None:
        self._waited = self.waited_s
        session, self._session = self._session, None
        if session is not None:
            session.close()
        self._topics.disconnect()

    @property
    def _opened(self) -> Session:
        if self._session is None:
            raise SinkUnavailable("E3002", "the sink is not open")
        return self._session
