"""Joins format, topic names, transforms and the choice of tables of a task: what becomes of its rows and statements."""

from __future__ import annotations

from functools import partial
from typing import Final

from replicator.config.task import TaskConfig
from replicator.encode import formats
from replicator.encode.topics import Topics
from replicator.model.snapshot import Marker, SnapshotMoment
from replicator.pipeline.ports import Narrator, Planner
from replicator.transform.chain import Chain
from replicator.transform.select import select


class Planners:
    """The planners of one task. They share what a format remembers (registered schemas) and the topics in use.

    Attributes:
        stream: for streamed rows.
        narrator: for what is not rows.
    """

    def __init__(self, config: TaskConfig) -> None:
        self._format: Final = formats[config.sink.format](config.name, config.sink, config.source.type)
        self._topics: Final = Topics(config.sink.topic_template, config.name)
        self._chain: Final = Chain(config.transforms)
        self._matches: Final = config.source.selection().matches
        self.stream: Final[Planner] = select(self._matches, self._chain.planner(self._format.plan, self._topics))
        self.narrator: Final[Narrator] = self._chain.narrator(self._format)

    def snapshot(self, marker: Marker, moment: SnapshotMoment) -> Planner:
        """For the rows of a snapshot that began at `moment`, under the same transforms, to the same topics. Transforms
        take them for inserts: a table whose inserts are skipped has no rows of a snapshot."""
        plan = partial(self._format.snapshot_plan, marker=marker, moment=moment)
        return select(self._matches, self._chain.planner(plan, self._topics))
