"""The schema history in a worker process: every call is a request to the Core's agent."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Sequence

from core.protocol import AppendSchemaHistory, LoadSchemaHistory, SchemaHistoryAnswer
from replicator.errors import NotConnected
from replicator.model.schema_history import SchemaRecord

_ANSWER_SECONDS = 60.0


class SchemaHistoryClient:
    """Implements `ports.HistoryStore` over the link to the agent: each call waits for its answer.

    Args:
        send: puts a message on the link.
    """

    def __init__(self, send: Callable[[LoadSchemaHistory | AppendSchemaHistory], None]) -> None:
        self._send = send
        self._numbers = itertools.count(1)
        self._answers: dict[int, SchemaHistoryAnswer] = {}
        self._changed = threading.Condition()

    def load(self) -> Sequence[SchemaRecord]:
        return self._ask(LoadSchemaHistory(next(self._numbers))).records

    def append(self, record: SchemaRecord) -> None:
        self._ask(AppendSchemaHistory(next(self._numbers), record))

    def answered(self, answer: SchemaHistoryAnswer) -> None:
        """From the thread that listens to the agent."""
        with self._changed:
            self._answers[answer.number] = answer
            self._changed.notify_all()

    def _ask(self, message: LoadSchemaHistory | AppendSchemaHistory) -> SchemaHistoryAnswer:
        self._send(message)
        with self._changed:
            if not self._changed.wait_for(lambda: message.number in self._answers, _ANSWER_SECONDS):
                raise NotConnected("E4001", "the schema history could not be reached in time")
            answer = self._answers.pop(message.number)
        if answer.error is not None:
            raise answer.error
        return answer
