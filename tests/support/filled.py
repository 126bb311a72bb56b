"""Tasks that fill a database by a snapshot, in this process, and writers that change the rows meanwhile."""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pymysql

from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.history import MemoryHistory
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.task import TaskConfig
from replicator.errors import ReplicatorError
from replicator.model.position import Position
from replicator.model.quarantine import TaskOrders
from replicator.model.snapshot import SnapshotProgress
from replicator.model.term import Term
from tests.support.in_memory import Unseen
from tests.support.verified import Pair
from tests.support.waiting import eventually

_EXPECTED = frozenset({1062, 1205, 1213, 1451, 1452, 1054, 1146, 1136})
"""What statements of writers may run into: others were faster, or the table was altered."""


class Fill(Unseen):
    """One task over its restarts."""

    def __init__(self, config: TaskConfig) -> None:
        self.config = config
        self.store, self.history = MemoryStore(), MemoryHistory()
        self.errors: list[ReplicatorError] = []
        self.failed: BaseException | None = None
        self.epoch = 0

    def waiting(self, error: ReplicatorError) -> None:
        self.errors.append(error)

    @contextmanager
    def running(self, orders: TaskOrders | None = None) -> Iterator[None]:
        self.epoch += 1
        term = Term(self.config.name, "u1", self.epoch, lambda: float("inf"), host="here")
        pipeline = build_pipeline(
            self.config,
            term=term,
            store=self.store,
            observer=self,
            save_interval=0.02,
            history=self.history,
            orders=orders,
        )

        def run() -> None:
            try:
                pipeline.run()
            except BaseException as error:  # also what is no error of ours: `complete` raises it
                self.failed = error

        thread = threading.Thread(target=run, name="task")
        thread.start()
        try:
            yield
        finally:
            pipeline.drain()
            thread.join(60)
            assert not thread.is_alive()

    @property
    def snapshot(self) -> SnapshotProgress | None:
        known = self.store.load()
        return known.position.snapshot if known is not None else None

    def complete(self, seconds: float = 90) -> SnapshotProgress:
        """Waits for it. Raises what the task has failed with."""

        def found() -> SnapshotProgress | None:
            if self.failed is not None:
                raise self.failed
            return self.snapshot if self.snapshot is not None and self.snapshot.ended_ms else None

        return eventually(found, seconds)

    def stopped(self, seconds: float = 60) -> ReplicatorError:
        found = eventually(lambda: self.failed, seconds)
        assert isinstance(found, ReplicatorError), found
        return found

    def position(self) -> Position:
        known = self.store.load()
        assert known is not None
        return known.position


@contextmanager
def writers(two: Pair, statements: Sequence[str], count: int = 2, seed: int = 1) -> Iterator[list[int]]:
    """Connections that execute random ones of `statements`, in transactions of up to three. In each {id} and {other}
    are random rows and {n} is a new number."""
    stop, done, failed = threading.Event(), [0], list[BaseException]()

    def write(number: int) -> None:
        chance = random.Random(seed * 100 + number)
        connection = two.source.connect(database=two.database, autocommit=False)
        with connection, connection.cursor() as cursor:
            while not stop.is_set():
                try:
                    for _ in range(chance.randint(1, 3)):
                        row = {"id": chance.randint(1, 5000), "other": chance.randint(1, 5000)}
                        cursor.execute(chance.choice(statements).format(n=number + count * done[0], **row))
                    connection.commit()
                except pymysql.err.MySQLError as error:
                    connection.rollback()
                    if error.args[0] not in _EXPECTED:
                        failed.append(error)
                        return
                done[0] += 1

    threads = [threading.Thread(target=write, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield done
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert not failed, failed
