"""Compares tables of a task with the topics that it writes: together, as a topic may have several."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Final, TypeVar

from replicator.errors import ReplicatorError
from replicator.verify.compare import Difference, KeyValue, Row
from replicator.verify.recheck import ROUNDS, Recheck
from replicator.verify.replication import Waiter
from replicator.verify.report import Sample, TableResult
from replicator.verify.side import TableAltered
from replicator.verify.topics.columns import RecordComparison, Values
from replicator.verify.topics.join import Counts, Joined, SourceStates, Suspect, join
from replicator.verify.topics.ports import Records, SourceRows, TopicTable
from replicator.verify.topics.spill import MOST_BYTES
from replicator.verify.topics.states import Change, Emptied, TopicStates, Watched
from replicator.verify.verifier import Observer, Options, Wanted

T = TypeVar("T")
_TRIES: Final = 5
"""How often it is tried again what a lost connection ends."""
_KEYS: Final = 500
"""Of one SELECT."""
_MOST_ROUNDS: Final = 2 * ROUNDS
_PAUSES_S: Final = (0.0, 0.1, 0.3, 0.6, 1.0)


class TopicVerifier:
    """
    Args:
        source, records: both sides.
        waiter: of the task's position.
        most_bytes: of memory for the states of each side, see `spill.MOST_BYTES`.
    """

    def __init__(
        self,
        source: SourceRows,
        records: Records,
        waiter: Waiter,
        options: Options,
        observer: Observer,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._source, self._records, self._waiter = source, records, waiter
        self._options, self._observer = options, observer
        self._clock, self._sleep, self._most_bytes = clock, sleep, most_bytes
        self._rows = 0
        self._keys: dict[bytes, dict[str, str]] = {}

    def run(self, tables: Sequence[TopicTable | Wanted], count: int | None = None) -> list[TableResult]:
        """`Wanted`: is not compared. `count`: of all tables, if these are some of them. May be called for other tables
        afterwards. Raises errors of connections, E5031, OSError."""
        self._keys = {}
        results = [_begun(each) for each in tables]
        open_ = {
            each.columns.number: (each, result)
            for each, result in zip(tables, results, strict=True)
            if isinstance(each, TopicTable)
        }
        if not open_:
            return results
        named = {each.name: each.columns for each, _ in open_.values()}
        with (
            closing(TopicStates(named, self._most_bytes)) as states,
            closing(SourceStates(self._most_bytes)) as rows,
        ):
            self._again(partial(self._read, states))
            scanned = {number: each for number, each in open_.items() if self._scan(*each, rows, count or len(open_))}
            compared = {number: table for number, (table, _) in scanned.items()}
            joined = join(rows, states, compared, self._options.max_differences)
            if joined.suspects or any(each.unrecorded or each.elsewhere for each in joined.counts.values()):
                self._again(partial(self._read_behind, states))
                joined = join(rows, states, compared, self._options.max_differences)
            self._settle(joined, states, scanned)
            for number, (table, result) in scanned.items():
                _conclude(table, result, joined.counts[number], states)
        return results

    def _read(self, states: TopicStates) -> None:
        for place, offset, changes in self._records.following():
            states.apply(place, offset, changes)

    def _read_behind(self, states: TopicStates) -> None:
        """The topics have everything afterwards that the source has now."""
        self._waiter.wait(self._waiter.end())
        self._read(states)

    def _again(self, attempt: Callable[[], T]) -> T:
        """What `attempt` gives, with new connections where they were lost. Records may be read twice."""
        for number in range(_TRIES):
            try:
                return attempt()
            except ReplicatorError as error:
                if not error.transient or number == _TRIES - 1:
                    raise
                self._sleep(2.0**number)
                self._source.reconnect()
        raise AssertionError("the last try returns or raises")

    def _scan(self, table: TopicTable, result: TableResult, rows: SourceStates, count: int) -> bool:
        """Whether all rows of the source were read."""
        self._observer.table(table.wanted, table.columns.number, count)
        begun = self._clock()
        try:
            before = self._rows
            self._again(partial(self._scan_once, table, rows, before))
        except TableAltered:
            result.result, result.note = "error", "the table was altered during the comparison; repeat the command"
        except ReplicatorError as error:
            if error.transient:
                raise
            result.result, result.note = "error", f"{error.code} {error.what}: {error.found}"
        result.seconds = self._clock() - begun
        return result.result != "error"

    def _scan_once(self, table: TopicTable, rows: SourceStates, before: int) -> None:
        """From its beginning, also where a connection was lost. `before`: rows of other tables."""
        self._rows = before
        rate, begun, read = self._options.max_rows_per_s, self._clock(), 0
        for some in self._source.scan(table):
            for row in some:
                rows.add(table, row)
            read += len(some)
            self._rows += len(some)
            self._observer.rows(self._rows)
            if rate:
                self._sleep(max(0.0, read / rate - (self._clock() - begun)))

    def _settle(self, joined: Joined, states: TopicStates, tables: dict[int, tuple[TopicTable, TableResult]]) -> None:
        """Follows the rows that differ until it is known which of them differ for good."""
        suspects = joined.suspects
        states.watched = {key: Watched(tables[each.table][0].columns, None) for key, each in suspects.items()}
        self._again(partial(self._read_watched, suspects, states, tables))
        unknown = [key for key, each in suspects.items() if each.key is None]
        for key in unknown:
            joined.counts[suspects.pop(key).table].unreadable += 1
        recheck = Recheck(RecordComparison(), [Difference((key,), (), ()) for key in suspects])
        for number in range(_MOST_ROUNDS if suspects else 0):
            self._sleep(_PAUSES_S[min(number, len(_PAUSES_S) - 1)])
            open_ = [key for (key,) in recheck.keys]
            mine, unchanged = self._again(partial(self._looked_at, open_, suspects, states, tables))
            its: dict[KeyValue, Row] = {(key,): row for key in open_ if (row := states.watched[key].row) is not None}
            recheck.round(mine, its, unchanged=unchanged)
            if not recheck.keys:
                break
        for each in recheck.real:
            self._count(each, tables[suspects[each.key[0]].table])
        for each in recheck.changing:
            tables[suspects[each.key[0]].table][1].changing += 1

    def _looked_at(
        self,
        open_: Sequence[bytes],
        suspects: dict[bytes, Suspect],
        states: TopicStates,
        tables: dict[int, tuple[TopicTable, TableResult]],
    ) -> tuple[dict[KeyValue, Row], bool]:
        """Rows of the source, behind which the topics were read; and whether the source is the same all the time."""
        before = self._waiter.end()
        mine = self._source_rows(open_, suspects, tables)
        self._read_behind(states)
        return mine, self._waiter.known and self._waiter.end() == before

    def _read_watched(
        self, suspects: dict[bytes, Suspect], states: TopicStates, tables: dict[int, tuple[TopicTable, TableResult]]
    ) -> None:
        """The values that the topics have of the suspects: states have only their hashes."""
        wanted: dict[tuple[int, int], list[bytes]] = {}
        for key, each in suspects.items():
            if each.state is not None and each.state.present:
                states.watched[key].row = states.watched[key].columns.unreadable
                wanted.setdefault((each.state.place, each.state.offset), []).append(key)
        for place, offset, changes in self._records.at(sorted(wanted)):
            keys = wanted.get((place, offset), ())
            for after in _rows_of(changes):
                for key in keys:
                    watched = states.watched[key]
                    if watched.columns.identity(after) == key:
                        watched.row = watched.columns.row(after)
                        self._keys[key] = watched.columns.shown_key(after)
                        if suspects[key].key is None:
                            suspects[key].key = self._source.key_of(tables[suspects[key].table][0], after)

    def _source_rows(
        self,
        open_: Sequence[bytes],
        suspects: dict[bytes, Suspect],
        tables: dict[int, tuple[TopicTable, TableResult]],
    ) -> dict[KeyValue, Row]:
        found: dict[KeyValue, Row] = {}
        wanted, passed = frozenset(open_), self._waiter.end()
        for number, (table, _) in tables.items():
            keys = [key for each in open_ if suspects[each].table == number and (key := suspects[each].key) is not None]
            for at in range(0, len(keys), _KEYS):
                for row in self._source.rows(table, keys[at : at + _KEYS], passed):
                    identity = table.columns.identity(row.values)
                    if identity in wanted and identity is not None:
                        found[(identity,)] = table.columns.row(row.values)
                        self._keys.setdefault(identity, table.columns.shown_key(row.values))
        return found

    def _count(self, each: Difference, of: tuple[TopicTable, TableResult]) -> None:
        table, result = of
        columns: tuple[str, ...] = ()
        if each.verdict == "missing":
            result.missing += 1
        elif each.verdict == "extra":
            result.extra += 1
        elif each.source is not None and each.target is not None:
            result.different += 1
            indexes = RecordComparison().columns(each.source, each.target)
            columns = tuple(table.columns.names[index] for index in indexes)
        if len(result.samples) < self._options.samples:
            result.samples.append(Sample(each.verdict, self._keys.get(each.key[0], {}), columns))


def _rows_of(changes: Sequence[Change | Emptied]) -> list[Values]:
    return [each.after for each in changes if isinstance(each, Change) and each.after is not None]


def _begun(table: TopicTable | Wanted) -> TableResult:
    if isinstance(table, Wanted):
        return TableResult(table.table, table.target, "not_compared", note=table.skipped)
    result = TableResult(table.wanted.table, f"topic {table.topic}", key=table.columns.key)
    result.not_compared = dict(table.excluded)
    return result


def _conclude(table: TopicTable, result: TableResult, counts: Counts, states: TopicStates) -> None:
    number = table.columns.number
    result.rows, result.unrecorded, result.stopped = counts.rows, counts.unrecorded, counts.cut
    result.changing += counts.elsewhere + counts.unreadable
    notes = [] if table.partitions else [f"topic {table.topic} does not exist"]
    if number in states.emptied and table.partitions > 1:
        result.result = "not_compared"
        notes.append("the order of TRUNCATE and of rows is not known in a topic with several partitions")
    if counts.elsewhere:
        notes.append(
            f"{_rows(counts.elsewhere)} with other values at the source: records are in several partitions, "
            "whose order is not known"
        )
    if counts.unreadable:
        notes.append(f"{_rows(counts.unreadable)} only in the topic, with keys that can't be looked up at the source")
    if states.unkeyed.get(number):
        notes.append(f"records without the columns of the key are left out: {states.unkeyed[number]}")
    if counts.unrecorded:
        why = f"records have expired ({table.expired})" if table.expired else "the task may have begun after them"
        notes.append(f"{_rows(counts.unrecorded)} of the source without a record in the topic: {why}")
    elif table.expired:
        notes.append(f"records have expired ({table.expired})")
    for layout in range(table.columns.layouts):
        for column in table.columns.lacking(layout):
            result.not_compared.setdefault(column, "in records from before the column was added")
    result.note = "; ".join(notes)
    result.conclude()


def _rows(count: int) -> str:
    return f"{count} row" if count == 1 else f"{count} rows"
