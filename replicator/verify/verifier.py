"""Compares the tables of a task one after the other, with progress, throttling and resumption."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, Protocol, TypeVar

import msgspec

from replicator.errors import ReplicatorError
from replicator.model.finding import listed
from replicator.mysql.table_key import Bound
from replicator.verify.compare import Difference, Row
from replicator.verify.ordered import BATCH, Chunk, OrderedTables
from replicator.verify.repair import Repair
from replicator.verify.replication import Waiter
from replicator.verify.report import RepairedRow, Sample, TableResult, shown
from replicator.verify.server_checksums import possible
from replicator.verify.side import Side, TableAltered
from replicator.verify.state import StateFile
from replicator.verify.table_pair import TablePair
from replicator.verify.unordered import Left, UnorderedTables

T = TypeVar("T")
_TRIES: Final = 5
"""How often a table is begun again that was altered, or a chunk is read again whose connection was lost."""
_OF_ALL: Final = frozenset({"E5031", "E5033"})
"""Errors that are not of one table."""
_CHUNK_BYTES: Final = 8 << 20
_MOST_ROWS: Final = 20_000
_SAVE_S: Final = 1.0
_SHARED: Final = (
    "rows that only the target has are not looked for, and not deleted: they may be of another table (disjoint keys)"
)
_CHECKSUM_CHUNKS: Final = 5
"""A chunk whose checksum is computed is as many times as long."""


class Options(msgspec.Struct, frozen=True):
    """
    Attributes:
        max_rows_per_s: of the source; None: as many as it sends.
        checksums: the servers compute them.
        max_differences: of one table; then the next one is compared.
        samples: of each table, in the report.
        max_repairs: rows of all tables.
        complete: of topics: rows that have no record are missing.
    """

    max_rows_per_s: int | None = None
    checksums: bool = False
    max_differences: int = 100_000
    samples: int = 10
    max_repairs: int = 1_000
    complete: bool = False


class Wanted(msgspec.Struct, frozen=True):
    """A table of the source. `rows`, `size`: as its server estimates them. `skipped`: why it is not compared.
    `told_apart`: a column of the target says which rows come from it. `strange`: it is no table, but rows of the target
    that come from none; the query that counts them. `tasks`: others that write to the target; the rows may be theirs.
    """

    table: str
    target: str
    rows: int
    size: int
    skipped: str = ""
    told_apart: bool = False
    strange: str = ""
    tasks: tuple[str, ...] = ()


class Observer(Protocol):
    def table(self, wanted: Wanted, number: int, count: int) -> None: ...

    def rows(self, rows: int) -> None:
        """Rows of all tables so far."""
        ...


Prepare = Callable[[Wanted], TablePair | None]
"""None: one of the two tables is missing."""


class Verifier:
    """
    Args:
        prepare: describes both sides of a table; asked again when it was altered.
        repair: of the rows that differ; None: nothing is written.
    """

    def __init__(
        self,
        source: Side,
        target: Side,
        prepare: Prepare,
        waiter: Waiter,
        options: Options,
        state: StateFile,
        observer: Observer,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
        repair: Repair | None = None,
    ) -> None:
        self._source, self._target, self._prepare, self._waiter = source, target, prepare, waiter
        self._options, self._state, self._observer = options, state, observer
        self._clock, self._sleep = clock, sleep
        self._repair, self._repairs = repair, 0
        self._real: list[Difference] = []
        self._rows = sum(each.rows for each in state.progress.finished)
        self._saved = 0.0

    def run(self, tables: Sequence[Wanted]) -> list[TableResult]:
        """Raises errors of connections that could not be made again, E5031, E5033."""
        known = {each.table for each in self._state.progress.finished}
        for number, wanted in enumerate(tables):
            if wanted.table not in known:
                self._observer.table(wanted, number, len(tables))
                self._state.finish(self._table(wanted))
        self._state.remove()
        return self._state.progress.finished

    def _table(self, wanted: Wanted) -> TableResult:
        if wanted.skipped:
            return TableResult(wanted.table, wanted.target, "not_compared", note=wanted.skipped)
        if wanted.strange:
            return self._strange(wanted)
        for _ in range(_TRIES):
            begun = self._clock()
            try:
                result = self._compared(wanted)
            except TableAltered as error:
                why, self._state.progress.open = str(error), None
                self._source.drop_rows()
                self._target.drop_rows()
                continue
            except ReplicatorError as error:
                if error.transient or error.code == "E5031" or (not error.table and error.code[1] == "5"):
                    raise
                return TableResult(
                    wanted.table, wanted.target, "error", note=f"{error.code} {error.what}: {error.found}"
                )
            result.seconds += self._clock() - begun
            result.conclude()
            return result
        return TableResult(wanted.table, wanted.target, "error", note=f"altered {_TRIES} times: {why}")

    def _strange(self, wanted: Wanted) -> TableResult:
        begun, result = self._clock(), TableResult(wanted.table, wanted.target)
        result.extra = int(self._again(lambda: self._target.control.value(wanted.strange)) or 0)
        if result.extra:
            result.note = "no table of the source has the value that these rows have in a column of transforms.add"
        if result.extra and wanted.tasks:
            result.result = "not_compared"
            result.note = f"{result.extra} rows: {result.note}; they may be of {listed(wanted.tasks)}, which also write"
            result.note += " to this server"
            result.extra = 0
        result.seconds = self._clock() - begun
        result.conclude()
        return result

    def _compared(self, wanted: Wanted) -> TableResult:
        pair = self._prepare(wanted)
        result = TableResult(wanted.table, wanted.target)
        if pair is None:
            result.result, result.note = "differs", "the table is missing at the target"
            return result
        result.key = pair.key
        result.not_compared = {each.column: each.reason for each in pair.left_out}
        if pair.faults:
            result.result = "differs"
            result.note = "; ".join(f"column {each.column}: {each.reason}" for each in pair.faults)
        if not pair.names:
            result.result, result.note = "not_compared", "no column is compared"
            return result
        if pair.shared and not pair.ordered:
            result.result, result.note = "not_compared", "merged with disjoint keys, and the keys have no common order"
            return result
        if pair.shared:
            result.add_note(_SHARED)
        if pair.ordered:
            return self._by_key(wanted, pair, result)
        self._by_hash(pair, result)
        if self._repair is not None and result.differences:
            result.note = "not repaired: E5042 the two sides have no key with the same order"
        return result

    def _by_key(self, wanted: Wanted, pair: TablePair, result: TableResult) -> TableResult:
        tables = OrderedTables(self._source, self._target, pair, self._waiter)
        suspects: list[Difference] = []
        done: Bound | None = None
        cut_by = _cut_by(pair)
        kept = self._state.progress.open
        if kept is not None and kept.result.table == wanted.table and kept.key == cut_by:
            result, done = kept.result, kept.done
            self._rows += result.rows
        self._real = []
        count = self._chunk_rows(wanted)
        while True:
            begun = self._clock()
            chunk = self._again(partial(self._chunk, tables, pair, done, count))
            result.rows += chunk.rows
            suspects += chunk.differences
            done = chunk.end
            self._advance(chunk.rows)
            if suspects and (done is None or len(suspects) >= BATCH):
                self._settle(tables, pair, suspects, result)
                suspects = []
            result.stopped = done is not None and result.differences >= self._options.max_differences
            if done is None or result.stopped:
                self._mend(wanted, pair, tables, result)
                return result
            if not suspects and self._clock() - self._saved >= _SAVE_S:
                self._saved = self._clock()
                self._state.keep(result, done, cut_by)
            self._throttle(chunk.rows, begun)

    def _chunk(self, tables: OrderedTables, pair: TablePair, done: Bound | None, count: int) -> Chunk:
        if self._options.checksums and not pair.shared and possible(pair):
            found = tables.checked(done, count * _CHECKSUM_CHUNKS)
            if found is not None:
                return found
        return tables.chunk(done, count)

    def _settle(self, tables: OrderedTables, pair: TablePair, suspects: list[Difference], result: TableResult) -> None:
        decided = self._again(lambda: tables.settle(suspects, self._sleep))
        result.changing += len(decided.changing)
        room = self._options.max_repairs + 1 - len(self._real)
        self._real += decided.real[:room] if self._repair is not None else []
        for each in decided.real:
            columns: tuple[str, ...] = ()
            if each.verdict == "missing":
                result.missing += 1
            elif each.verdict == "extra":
                result.extra += 1
            elif each.source is not None and each.target is not None:
                result.different += 1
                columns = tuple(pair.names[index] for index in tables.comparison.columns(each.source, each.target))
            if len(result.samples) < self._options.samples:
                row = each.source if each.source is not None else each.target
                result.samples.append(Sample(each.verdict, _key_of(pair, row), columns))

    def _mend(self, wanted: Wanted, pair: TablePair, tables: OrderedTables, result: TableResult) -> None:
        """Repairs the rows that differ, and looks at them again."""
        repair, real = self._repair, self._real
        if repair is None or not real:
            return
        if self._repairs + len(real) > self._options.max_repairs:
            result.add_note(f"not repaired: E5043 more than {self._options.max_repairs} rows differ (--max-repairs)")
            return
        try:
            repaired = self._again(partial(repair, wanted.table, pair, real))
        except ReplicatorError as error:
            if error.transient or error.code == "E5041":
                raise
            result.add_note(f"not repaired: {error.code} {error.what}: {error.found}")
            return
        self._repairs += len(repaired.done)
        rows = {each.key: each.source if each.source is not None else each.target for each in real}
        for key, action in repaired.done[: self._options.samples]:
            result.repairs.append(RepairedRow(action, _key_of(pair, rows.get(key))))
        reasons = dict.fromkeys(repaired.left.values())
        for reason in list(reasons)[:3]:
            result.add_note(f"not repaired: {reason}")
        result.dry_run = repair.dry_run
        result.written = len(repaired.done)
        if not repair.dry_run:
            decided = self._again(lambda: tables.settle(real, self._sleep))
            result.repaired = len(real) - len(decided.real) - len(decided.changing)

    def _by_hash(self, pair: TablePair, result: TableResult) -> None:
        compared = self._again(
            lambda: UnorderedTables(
                self._source, self._target, pair, self._waiter, self._advance, self._throttle
            ).compare(self._sleep)
        )
        result.rows, result.changing, result.stopped = compared.rows, compared.changing, not compared.complete
        result.different = len(compared.changed)
        result.missing = sum(count for count in compared.hashes.values() if count > 0) - result.different
        result.extra = -sum(count for count in compared.hashes.values() if count < 0) - result.different
        self._sample(pair, compared, result)

    def _sample(self, pair: TablePair, compared: Left, result: TableResult) -> None:
        others = dict(compared.changed)
        known = {*others.values()}
        for digest, row in compared.samples.items():
            count = compared.hashes.get(digest, 0)
            if not count or digest in known or len(result.samples) >= self._options.samples:
                continue
            other = compared.samples.get(others.get(digest, b""))
            if other is not None:
                columns = tuple(name for name, one, two in zip(pair.names, row, other, strict=True) if one != two)
                result.samples.append(Sample("different", _key_of(pair, row), columns))
            elif digest not in others:
                result.samples.append(Sample("missing" if count > 0 else "extra", _key_of(pair, row)))

    def _again(self, attempt: Callable[[], T]) -> T:
        """What `attempt` gives, with new connections where they were lost."""
        for number in range(_TRIES):
            try:
                return attempt()
            except ReplicatorError as error:
                if not error.transient or number == _TRIES - 1:
                    raise
                self._sleep(2.0**number)
                self._source.reconnect()
                self._target.reconnect()
        raise AssertionError("the last try returns or raises")

    def _advance(self, rows: int) -> None:
        self._rows += rows
        self._observer.rows(self._rows)

    def _chunk_rows(self, wanted: Wanted) -> int:
        average = wanted.size // wanted.rows if wanted.rows else 1
        count = max(1, min(_MOST_ROWS, _CHUNK_BYTES // max(1, average)))
        return min(count, self._options.max_rows_per_s or count)

    def _throttle(self, rows: int, begun: float) -> None:
        if self._options.max_rows_per_s:
            self._sleep(max(0.0, rows / self._options.max_rows_per_s - (self._clock() - begun)))


def _cut_by(pair: TablePair) -> str:
    key = pair.source.key.columns if pair.source.key else ()
    columns = (pair.source.shape.columns[index] for index in key)
    return ",".join(f"{each.name}:{each.type}:{each.meta}:{each.collation_name}" for each in columns)


def _key_of(pair: TablePair, row: Row | None) -> dict[str, str]:
    if row is None:
        return {}
    key = pair.source.key.columns if pair.source.key else range(min(3, len(row)))
    return {pair.names[index]: _text(pair, index, row[index]) for index in key}


def _text(pair: TablePair, index: int, value: bytes | None) -> str:
    signed = pair.integers[index]
    return shown(value) if value is None or signed is None else str(int.from_bytes(value, "little", signed=signed))
