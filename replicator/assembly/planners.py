"""Builds the planners of a task from its format, topic names, transforms and choice of tables."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from typing import Final

from replicator.assembly.target_ddl import statement_rewriter
from replicator.config.ddl import rules_of
from replicator.config.mysql_sink import MySQLSink
from replicator.config.task import TaskConfig
from replicator.encode import formats
from replicator.encode.row_images import RowImages, TargetNames
from replicator.encode.target_statements import TargetStatements
from replicator.encode.topics import Topics
from replicator.model.metadata_event import Message
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.model.snapshot_steps import SnapshotEnds, SnapshotStep, TableBegins, TableEnds
from replicator.model.target_table import TargetTables
from replicator.pipeline.ports import Format, Narrator, Planner
from replicator.transform.chain import Chain, TopicNames
from replicator.transform.select import select


class Planners:
    """The planners of one task. They share what a format remembers (registered schemas) and the topics in use.

    Attributes:
        stream: for streamed rows.
        narrator: for what is not rows.
        tables: that records of a sink that is a database are for; the sink is given the same object.
    """

    def __init__(self, config: TaskConfig, tables: TargetTables | None = None) -> None:
        self.tables: Final = TargetTables() if tables is None else tables
        self._chain: Final = Chain(config.transforms)
        self._format, self._topics = _format(config, self.tables, self._chain)
        self._matches: Final = config.source.selection().matches
        self._marker_topic: Final = (config.source.snapshots.marker_topic or "").replace("{task}", config.name)
        self.stream: Final[Planner] = select(self._matches, self._chain.planner(self._format.plan, self._topics))
        self.narrator: Final[Narrator] = self._chain.narrator(self._format)

    def snapshot(self, marker: Marker, moment: SnapshotMoment) -> Planner:
        """For the rows of a snapshot that began at `moment`, under the same transforms, to the same topics. Transforms
        take them for inserts: a table whose inserts are skipped has no rows of a snapshot."""
        plan = partial(self._format.snapshot_plan, marker=marker, moment=moment)
        return select(self._matches, self._chain.planner(plan, self._topics, snapshot=True))

    @property
    def defines_tables(self) -> bool:
        """Whether `SnapshotBegins` needs definitions."""
        return self._format.defines_tables

    def snapshot_messages(self, step: SnapshotStep, moment: SnapshotMoment) -> Iterable[Message]:
        """The records of a snapshot that are not of rows. Those of a table have the names and the topic of its rows,
        schema changes are as the source has them. None of a table that is not replicated. They are made while
        they are taken, as there may be thousands.

        Raises what planners do.
        """
        topic = self._marker_topic if isinstance(step, SnapshotEnds) else ""
        if isinstance(step, TableBegins | TableEnds):
            table = step.table
            seen = self._chain.snapshot_step(step, self._topics) if self._matches(table.database, table.name) else None
            if seen is None:
                return ()
            step, topic = seen
        return self._format.snapshot_messages(step, topic, moment)


def _format(config: TaskConfig, tables: TargetTables, chain: Chain) -> tuple[Format, TopicNames]:
    sink = config.sink
    if isinstance(sink, MySQLSink):
        rewrite, mariadb = statement_rewriter(config, chain), config.source.type == "mariadb"
        names = TargetNames(chain.shard)
        return RowImages(tables, TargetStatements(rules_of(sink.ddl), rewrite, mariadb=mariadb), names), names
    return formats[sink.format](config.name, sink, config.source.type), Topics(sink.topic_template, config.name)
