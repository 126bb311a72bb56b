"""Reads which rows of a table have changed between two positions of a source, through a second stream.

The same decoder as the task's, with the watcher that snapshots use. It costs the source one more dump thread for that
part of its log.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Final

from replicator.assembly.lookahead import Reached
from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.decode.native.compiled_decoder import decoder_class
from replicator.decode.plan.compiler import Renderer
from replicator.errors import SourceUnavailable
from replicator.model.metadata_event import Statement
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.model.replica_id import derived
from replicator.model.table import Table
from replicator.pipeline.ports import Planner
from replicator.source.mysql.source import MySQLSource
from replicator.transform.select import select

_WAIT: Final = 0.5


class Changes:
    """A decoder's watcher for one table.

    Attributes:
        keys: of rows that have changed, as `ChunkDecoder.keys` makes them.
        all: any row may have: the table was altered.
    """

    def __init__(self, table: str, key: tuple[str, ...]) -> None:
        self.tables: Mapping[str, tuple[str, ...]] = {table: key}
        self.keys: set[bytes] = set()
        self.all = False

    def changed(self, table: str, keys: Sequence[bytes]) -> None:
        self.keys.update(keys)

    def late(self, *, begins: bool) -> None:
        self.all = True  # a SELECT may not show it yet

    def altered(self, table: str | None) -> None:
        self.all = True

    def renamed(self, old: str, new: str) -> None:
        self.all = self.all or not self.tables.keys().isdisjoint((old, new))

    def moved(self, tables: Sequence[str]) -> None:
        self.all = True


class ChangedKeys:
    """
    Args:
        planner: of the task's stream.
        patience_s: for one question.
    """

    def __init__(self, config: TaskConfig, planner: Planner, rendering: Renderer, patience_s: float) -> None:
        self._config, self._planner, self._rendering = config, planner, rendering
        self._patience_s = patience_s

    def between(self, start: Position, end: Position, table: Table, key: tuple[str, ...]) -> Changes:
        """
        Args:
            table: as its TABLE_MAP event with all metadata describes it.
            key: names of its columns.

        Raises:
            SourceUnavailable: E2002, not reachable, or `end` does not come in time.
            SourceError, DecodeError: the log can't be read; the task's stream would stop there, too.
        """
        config = self._config
        changes = Changes(table.qualified, key)
        source = MySQLSource(
            config.database, config.name, resolve(config.database.password), derived(f"{config.name}/repair")
        )
        reached = Reached(end, by_gtid=source.by_gtid(start), mariadb=config.source.type == "mariadb")
        if not source.by_gtid(start):
            _same_server(start, end)
        if reached(start):
            return changes
        stream = source.open(Position(start.file, start.offset, start.gtid, server=start.server))
        try:
            decoder = decoder_class()(
                select(TableFilter((table.qualified,)).matches, self._planner),
                position=stream.position,
                flavor=config.database.type,
                framing=stream.framing,
                server_error=stream.server_error,
                catalog=_Described(table),
                selection=TableFilter((table.qualified,)),
                row_image="accept_partial",
                rendering=self._rendering,
            )
            decoder.watch(changes)
            at, deadline = stream.position, time.monotonic() + self._patience_s
            while not reached(at) and not changes.all:
                for batch in decoder.feed(stream.read(_WAIT)):
                    at = batch.position if batch.boundary else at
                if time.monotonic() > deadline:
                    raise SourceUnavailable(
                        "E2002",
                        f"the binlog up to {end} was not received in {self._patience_s:g} s",
                        found=str(at),
                        fix="Run `replicator verify` again when the source is less busy, or with a longer --wait.",
                    )
            return changes
        finally:
            stream.close()


def _same_server(start: Position, end: Position) -> None:
    """Raises SourceUnavailable E2002: places in the logs of two servers can't be compared."""
    known, now = Origin.parse(start.server).server, Origin.parse(end.server).server
    if start.log != end.log or known not in ("", now):
        raise SourceUnavailable(
            "E2002",
            "the target's position is one of another server",
            found=known,
            wanted=now,
            fix="Wait until the task has caught up with the present server of the source; then run `replicator "
            "verify` again.",
        )


class _Described:
    """A catalog of one table, as it is now. What does not fit it keeps its description, and then has no key."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def describe(self, table: Table, *, named: bool) -> Table:
        known = self._table
        same = table.qualified == known.qualified and [c.type for c in table.columns] == [c.type for c in known.columns]
        return known if same and not named else table

    def statement(self, database: str, text: str, position: Position, gtid: str) -> Statement:
        return Statement(database, text, "")
