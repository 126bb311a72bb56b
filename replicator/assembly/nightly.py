"""The nightly verification of a task: like `replicator verify`, with an end by the clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence

from replicator.assembly.verification import open_verification
from replicator.config.task import KafkaSink, TaskConfig
from replicator.coordination.clock import now_ms
from replicator.errors import ReplicatorError
from replicator.model.nightly import Outcome, Stage, snapshot_open
from replicator.model.position import Position
from replicator.model.verification import limited
from replicator.verify.report import TableResult
from replicator.verify.topics.ports import TopicTable
from replicator.verify.verifier import Options, Wanted

Ask = Callable[[], Position | None]


def verify_task(
    config: TaskConfig, uid: str, last: Mapping[str, int], ask: Ask, clock: Callable[[], float] = time.monotonic
) -> Outcome:
    """Compares all tables for at most `verify.max_hours`, those first that were not compared for the longest time.

    A table that had the whole time alone and is not compared then is `undecided` as of now: the next night begins with
    the others.

    Args:
        uid: of the task's incarnation.
        last: when tables were compared last, ms since the epoch.
        ask: the position of the task now, where it is not in the sink.
    """
    found: list[TableResult] = []
    stage: Stage = "done"
    note = ""
    end = _End(clock, config.verify.max_hours)
    try:
        if isinstance(config.sink, KafkaSink):
            _topics(config, config.sink, uid, last, ask, end, found)
        else:
            _target(config, last, end, found)
    except _TimeIsUp:
        left = (
            f"{end.count - len(found)} of {end.count} tables were not compared" if end.count else "nothing was compared"
        )
        stage, note = "incomplete", f"verify.max_hours ({config.verify.max_hours:g}) were over: {left}"
        if not found:
            found = [_too_long(each, config.verify.max_hours) for each in end.first]
    except ReplicatorError as error:
        stage, note = "failed", f"{error.code} {error.what}: {error.found}".removesuffix(": ")
    time_ms = now_ms()
    tables, omitted = limited(each.kept(time_ms) for each in found)
    return Outcome(stage=stage, note=note, tables=tables, omitted=omitted, whole=stage == "done")


def _target(config: TaskConfig, last: Mapping[str, int], end: _End, found: list[TableResult]) -> None:
    """`found` has each table as soon as it is compared."""
    with open_verification(config, ()) as verification:
        tables = sorted(verification.tables, key=lambda each: last.get(each.table, 0))
        end.count, end.first = len(tables), tables[:1]
        verifier = verification.verifier(_options(config), config.verify.wait_s, None, end)
        for count in range(1, len(tables) + 1):
            found[:] = verifier.run(tables[:count])  # compares the last one alone: it remembers the others
            if count < len(tables):
                end.check()


def _topics(
    config: TaskConfig,
    sink: KafkaSink,
    uid: str,
    last: Mapping[str, int],
    ask: Ask,
    end: _End,
    found: list[TableResult],
) -> None:
    """`found` has the tables of a topic as soon as all of them are compared."""
    from replicator.assembly.topic_verification import Known, open_topic_verification  # imports the Kafka client

    def known() -> Known:
        position = ask()
        return Known(position, snapshot_open(position))

    with open_topic_verification(config, sink, (), uid=uid, known=known) as verification:
        tables = sorted(verification.tables, key=lambda each: last.get(_wanted(each).table, 0))
        end.count = len(tables)
        end.first = [_wanted(each) for each in tables if _topic(each) == _topic(tables[0])]  # are compared together
        with verification.verifier(_options(config), config.verify.wait_s, end) as verifier:
            try:
                verifier.run(tables)
            finally:
                found += verifier.finished


def _wanted(each: TopicTable | Wanted) -> Wanted:
    return each.wanted if isinstance(each, TopicTable) else each


def _topic(each: TopicTable | Wanted) -> str:
    """ "" for a table that is not compared."""
    return each.topic if isinstance(each, TopicTable) else ""


def _too_long(wanted: Wanted, hours: float) -> TableResult:
    note = f"its comparison takes longer than verify.max_hours ({hours:g}); raise max_hours or max_rows_per_s"
    return TableResult(wanted.table, wanted.target, "undecided", note=note)


def _options(config: TaskConfig) -> Options:
    return Options(config.verify.max_rows_per_s)


class _TimeIsUp(Exception):
    pass


class _End:
    """An observer that ends the comparison by the clock. `count`: tables; `first`: that are compared before others."""

    def __init__(self, clock: Callable[[], float], hours: float) -> None:
        self._clock, self._end = clock, clock() + hours * 3600
        self.count = 0
        self.first: Sequence[Wanted] = ()

    def check(self) -> None:
        if self._clock() >= self._end:
            raise _TimeIsUp

    def table(self, wanted: Wanted, number: int, count: int) -> None:
        self.check()

    def rows(self, rows: int) -> None:
        self.check()
