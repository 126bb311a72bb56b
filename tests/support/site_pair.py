"""A source whose rows are written to a target by a sink."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dev.faults.proxy import Direction, Proxy
from dev.servers import Database
from replicator.errors import SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.position import Position
from replicator.model.target_table import TargetTables
from replicator.sink.mysql.mysql_sink import MySQLSink
from tests.support import target
from tests.support.row_records import Reader


class Pair:
    """
    Attributes:
        source, target: servers, which may be the same one.
        here, there: databases of the tables.
        place: database of the position table.
        reader: of what is written to the source.
    """

    def __init__(self, source: Database, target: Database, here: str, there: str, place: str) -> None:
        self.source, self.target = source, target
        self.here, self.there, self.place = here, there, place
        self.tables = TargetTables()
        self.reader = Reader(source, self.tables, here, there)
        self._sinks: list[MySQLSink] = []

    def sink(self, **options: Any) -> MySQLSink:
        self._sinks.append(target.sink(self.target, self.tables, self.place, **options))
        return self._sinks[-1]

    def opened(self, epoch: int = 1, **options: Any) -> MySQLSink:
        made = self.sink(**options)
        made.open(target.term(epoch))
        return made

    def both(self, *statements: str) -> None:
        """Executes on both sides; what follows alone is read from the source's log."""
        for server, database in ((self.source, self.here), (self.target, self.there)):
            self._run(server, database, statements)
        self.reader.batches()

    def at_source(self, *statements: str) -> list[Batch]:
        """Transactions of these statements."""
        self._run(self.source, self.here, statements)
        return self.reader.batches()

    def at_target(self, *statements: str) -> None:
        self._run(self.target, self.there, statements)

    def rows(self, table: str, order: str = "id") -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
        """At the source and at the target."""
        return (
            target.rows(self.source, f"{self.here}.{table}", order),
            target.rows(self.target, f"{self.there}.{table}", order),
        )

    def position(self) -> list[tuple[Any, ...]]:
        return target.position_rows(self.target, self.place)

    def close(self) -> None:
        for sink in self._sinks:
            sink.close()

    @staticmethod
    def _run(server: Database, database: str, statements: Sequence[str]) -> None:
        connection = server.connect(database=database)
        with connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        connection.close()


def deliver_over_cut(
    sink: MySQLSink, proxy: Proxy, batch: Batch, after: int, direction: Direction, before: Position
) -> bool:
    """Delivers a batch while the proxy cuts its connections behind `after` bytes, and opens the sink again: the
    position is that of the batch, or `before`. Whether the batch is at the target."""
    proxy.cut_after(max(1, after), direction)
    try:
        deliver(sink, [batch])
        lost = False
    except SinkUnavailable:
        lost = True
    proxy.pass_()
    held = sink.open(target.term())
    assert held in (before, batch.position)
    assert lost or held == batch.position
    return held == batch.position


def deliver(sink: MySQLSink, batches: Sequence[Batch]) -> Position:
    """Each in a transaction of its own, which is ended. The last position."""
    for batch in batches:
        sink.write(batch)
        sink.commit(batch.position)
    sink.flush(60)
    return batches[-1].position
