"""Reads and writes schema histories in ZooKeeper for the workers, in one thread of the Core's agent.

A worker waits for its answer, so that no row behind a change of the schema is delivered before the change is durable.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable

from core.protocol import AppendSchemaHistory, LoadSchemaHistory, SchemaHistoryAnswer
from replicator.errors import ReplicatorError
from replicator.pipeline.ports import HistoryStore

Answer = Callable[[SchemaHistoryAnswer], None]


class _Shelf:
    def __init__(self, store: HistoryStore, answer: Answer) -> None:
        self.store = store
        self.answer = answer
        self.busy = threading.Lock()
        self.ended = False


class SchemaHistoryService:
    def __init__(self) -> None:
        self._shelves: dict[str, _Shelf] = {}
        self._asked: queue.SimpleQueue[tuple[_Shelf, LoadSchemaHistory | AppendSchemaHistory] | None] = (
            queue.SimpleQueue()
        )
        self._thread = threading.Thread(target=self._run, name="schema-history", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def begin(self, task: str, store: HistoryStore, answer: Answer) -> None:
        """A term begins. `store` checks with each write that our node in its election stands."""
        self._shelves[task] = _Shelf(store, answer)

    def submit(self, task: str, message: LoadSchemaHistory | AppendSchemaHistory) -> None:
        shelf = self._shelves.get(task)
        if shelf is not None:
            self._asked.put((shelf, message))

    def end(self, task: str) -> None:
        """Returns when no write of this task is under way; what was not written is dropped."""
        shelf = self._shelves.pop(task, None)
        if shelf is not None:
            shelf.ended = True
            with shelf.busy:
                return

    def stop(self) -> None:
        self._asked.put(None)
        self._thread.join(timeout=5)

    def _run(self) -> None:
        while (asked := self._asked.get()) is not None:
            shelf, message = asked
            with shelf.busy:
                if not shelf.ended:
                    shelf.answer(answered(shelf.store, message))


def answered(store: HistoryStore, message: LoadSchemaHistory | AppendSchemaHistory) -> SchemaHistoryAnswer:
    """Does what a worker asks for."""
    try:
        if isinstance(message, LoadSchemaHistory):
            return SchemaHistoryAnswer(message.number, tuple(store.load()))
        store.append(message.record)
    except ReplicatorError as error:
        return SchemaHistoryAnswer(message.number, error=error)
    return SchemaHistoryAnswer(message.number)
