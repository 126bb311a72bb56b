"""Reads the DDL statements between two positions of a source, ahead of the task's stream.

The same stream and the same decoder as the task's, with no table chosen: rows are passed over, and what is refused in
them would stop the task there, too. It costs the source one more dump thread, which sends that part of the log once.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Final

from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.errors import SourceUnavailable
from replicator.model.metadata_event import Statement
from replicator.model.plan import TablePlan
from replicator.model.position import Position
from replicator.model.replica_id import derived
from replicator.model.schema_history import BinlogStatement
from replicator.model.table import Table
from replicator.pipeline.ports import Stream
from replicator.schema.position_coverage import PositionCoverage
from replicator.source.mysql.source import MySQLSource

SILENCE: Final = 60.0
"""Seconds that the source may take to send what it has written long ago."""
_WAIT: Final = 0.5


def statements(
    config: TaskConfig, start: Position, end: Position, stopping: Callable[[], bool]
) -> Iterator[BinlogStatement]:
    """DDL and the like from `start` to `end`, both of one source, as they come.

    Raises:
        SourceUnavailable: E2002, not reachable, or `end` does not come; or `stopping` says that nobody waits for it.
        SourceError, DecodeError: it can't be read; the task's own stream would stop there, too.
    """
    source = MySQLSource(
        config.database, config.name, resolve(config.database.password), derived(f"{config.name}/ahead")
    )
    reached = Reached(end, by_gtid=source.by_gtid(start), mariadb=config.source.type == "mariadb")
    start = Position(start.file, start.offset, start.gtid, server=start.server)
    if reached(start):
        return
    stream = source.open(start)
    try:
        yield from _decoded(config, stream, reached, stopping)
    finally:
        stream.close()


class Reached:
    """Whether a position is the end, or behind it."""

    def __init__(self, end: Position, *, by_gtid: bool, mariadb: bool) -> None:
        self.end = end
        self._by_gtid = by_gtid and bool(end.gtid)
        self._mariadb = mariadb

    def __call__(self, position: Position) -> bool:
        if not self._by_gtid:
            return position.order >= self.end.order
        if position.gtid == self.end.gtid:
            return True
        return PositionCoverage(position, mariadb=self._mariadb).covers_position(self.end)


def _decoded(
    config: TaskConfig, stream: Stream, reached: Reached, stopping: Callable[[], bool]
) -> Iterator[BinlogStatement]:
    recorder, nothing = _Recorder(), _Nothing()
    decoder = decoder_class()(
        nothing,
        position=stream.position,
        flavor=config.database.type,
        framing=stream.framing,
        server_error=stream.server_error,
        catalog=recorder,
        selection=nothing,
        row_image="accept_partial",
    )
    at, deadline = stream.position, time.monotonic() + SILENCE
    while not reached(at):
        if stopping():
            raise SourceUnavailable("E2002", "the task is ending while the binlog ahead of it is read")
        data = stream.read(_WAIT)
        for batch in decoder.feed(data):
            if batch.boundary and batch.position != at:
                at, deadline = batch.position, time.monotonic() + SILENCE
        yield from recorder.taken()
        if time.monotonic() > deadline:
            raise SourceUnavailable(
                "E2002",
                f"the binlog up to {reached.end} was not received in time",
                found=f"{at}, then no event for {SILENCE:g} s",
            )


class _Nothing:
    """A planner and a selection of no table."""

    def __call__(self, table: Table) -> TablePlan | None:
        return None

    def matches(self, database: str, table: str) -> bool:
        return False

    def touches(self, database: str) -> bool:
        return False


class _Recorder:
    """A catalog that keeps what it is told."""

    def __init__(self) -> None:
        self._seen: list[BinlogStatement] = []

    def describe(self, table: Table, *, named: bool) -> Table:
        return table

    def statement(self, database: str, text: str, position: Position, gtid: str) -> Statement:
        self._seen.append(BinlogStatement(database, text, Position(position.file, position.offset), gtid))
        return Statement(database, text, "")

    def taken(self) -> list[BinlogStatement]:
        seen, self._seen = self._seen, []
        return seen
