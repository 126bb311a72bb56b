"""Builds the verification of a task: tables and columns as its transforms leave them, position at the target."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import msgspec

from replicator.assembly.repair import TaskRepair
from replicator.assembly.verified_config import fingerprint
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.tables import TableFilter
from replicator.config.task import TaskConfig
from replicator.decode.binlog import table_map as table_maps
from replicator.errors import ProcessError, ReplicatorError, SinkUnavailable
from replicator.model.decoding import from_json
from replicator.model.finding import listed
from replicator.model.position import Position
from replicator.model.position_order import reached
from replicator.model.table import Table
from replicator.model.target_table import Shard
from replicator.mysql import server_errors, table_map
from replicator.mysql.hosts import Hosts
from replicator.mysql.identifiers import quote_identifier
from replicator.pipeline.ports import TableSize
from replicator.source.mysql.positions import end_position
from replicator.source.mysql.snapshot import tables as source_tables
from replicator.source.mysql.snapshot.definition import split
from replicator.transform.chain import Chain
from replicator.transform.filters import Filters
from replicator.transform.operations import Operations
from replicator.transform.view import View
from replicator.verify import filter_sql, table_pair
from replicator.verify.repair import Repair
from replicator.verify.replication import Waiter
from replicator.verify.side import Side
from replicator.verify.state import StateFile
from replicator.verify.table_pair import Description, Mapped, TablePair
from replicator.verify.verifier import Observer, Options, Verifier, Wanted

_NO_TABLE: Final = frozenset({1049, 1146})


class Verification:
    """The two sides of one task. `tables`: those that are compared, by name."""

    def __init__(
        self,
        config: TaskConfig,
        sink: MySQLSink,
        source: Side,
        target: Side,
        patterns: Sequence[str],
        member: MySQLSink,
    ) -> None:
        self._config, self._sink = config, sink
        self._source, self._target = source, target
        self._patterns, self._member = tuple(patterns), member
        self._chain, self._filters = Chain(config.transforms), Filters(config.transforms.filter)
        self._operations = Operations(config.transforms.operations)
        self._merged: dict[tuple[str, str], list[Shard]] = {}
        self.tables = self._tables()

    def repair(self, uid: str, guard: Callable[[str], None], *, dry_run: bool) -> TaskRepair:
        """See `TaskRepair`."""
        return TaskRepair(self._config, self._member, self._target, uid, guard, dry_run=dry_run)

    def verifier(
        self,
        options: Options,
        patience_s: float,
        state: Path | None,
        observer: Observer,
        repair: Repair | None = None,
    ) -> Verifier:
        """Raises ProcessError E5033."""
        kept = StateFile(state, fingerprint(self._config, self._patterns))
        waiter = Waiter(_Replication(self._config.name, self._sink, self._source, self._target), patience_s)
        return Verifier(self._source, self._target, self.pair, waiter, options, kept, observer, repair=repair)

    def _tables(self) -> list[Wanted]:
        chosen = TableFilter(self._patterns or ("*.*",))
        sizes = source_tables.selected(self._source.control, self._config.database)
        if self._patterns and not any(chosen.chooses(each.table) for each in sizes):
            raise ProcessError(
                "E5032",
                f"no table that the task replicates matches {', '.join(self._patterns)}",
                wanted="--table with names of the source",
                fix="Correct --table: patterns of `source.tables`, such as shop.*.",
            )
        wanted = _without_merged([self._wanted(size) for size in sizes])
        kept = [each for each in wanted if chosen.chooses(each.table)]
        return [*kept, *self._strange({each.target for each in kept})]

    def _strange(self, targets: Collection[str]) -> Iterator[Wanted]:
        """Rows of merged tables with values that no table of the source has."""
        for name, shards in self._merged.items():
            described = self._target.describe(*name)
            columns = {} if described is None else {each.name.lower(): each for each in described.shape.columns}
            wanted = {column.lower() for shard in shards for column in shard.columns}
            if ".".join(name) not in targets or not wanted <= columns.keys():
                continue
            known = (
                " AND ".join(
                    table_pair.equals(columns[column.lower()], value)
                    for column, value in zip(shard.columns, shard.values, strict=True)
                )
                for shard in shards
            )
            table = ".".join(map(quote_identifier, name))
            sql = f"SELECT COUNT(*) FROM {table} WHERE (({') OR ('.join(known)})) IS NOT TRUE"  # noqa: S608 (quoted)
            yield Wanted(
                f"{'.'.join(name)} (rows of no table)", ".".join(name), 0, 0, strange=sql, tasks=self._other_tasks()
            )

    def _wanted(self, size: TableSize) -> Wanted:
        described = self._source.describe(*split(self._source.control, size.table))
        if described is None:
            return Wanted(size.table, size.table, 0, 0, "it is a view, or was dropped")
        table = table_of(self._source, described)
        target = self._chain.view(table).table
        chosen = self._filters.filter(table)
        skipped = ""
        omitted = self._operations.skipped(table) - {"truncate"}
        if omitted:
            skipped = f"transforms.operations omit {listed(sorted(omitted))}"
        elif chosen is not None and not chosen.rows:
            skipped = "transforms.filter select changes, not rows"
        elif chosen is not None:
            try:
                filter_sql.condition(described.shape, chosen.condition)
            except filter_sql.NotInSQL as error:
                skipped = f"transforms.filter can't be tested by the source: {error}"
        shard = self._chain.shard(table)
        if shard is not None and not shard.disjoint:
            self._merged.setdefault((target.database, target.name), []).append(shard)
        return Wanted(size.table, target.qualified, size.rows, size.size, skipped, shard is not None)

    def pair(self, wanted: Wanted) -> TablePair | None:
        """Both sides of a table; None: one of them is missing."""
        source = self._source.describe(*split(self._source.control, wanted.table))
        if source is None:
            return None
        table = table_of(self._source, source)
        view = self._chain.view(table)
        target = self._target.describe(view.table.database, view.table.name)
        if target is None:
            return None
        chosen = self._filters.filter(table)
        where = filter_sql.condition(source.shape, chosen.condition) if chosen is not None else ""
        shard = self._chain.shard(table)
        shared = shard is not None and shard.disjoint
        return table_pair.pair(source, target, _mapped(table, view), where, _constants(shard), shared=shared)

    def _other_tasks(self) -> tuple[str, ...]:
        """That have a position at the target: some of their names."""
        table = f"{quote_identifier(self._sink.position_database)}.replicator_position"
        sql = f"SELECT DISTINCT task FROM {table} WHERE task <> %s ORDER BY task LIMIT 5"  # noqa: S608 (quoted)
        try:
            return tuple(str(name) for (name,) in self._target.control.rows(sql, (self._config.name,)))
        except ReplicatorError as error:
            if server_errors.number_of(error) in _NO_TABLE:
                return ()
            raise


def _constants(shard: Shard | None) -> dict[str, str]:
    """Of columns that tell the rows of merged tables apart."""
    return dict(zip(shard.columns, shard.values, strict=True)) if shard is not None else {}


def table_of(source: Side, described: Description) -> Table:
    """As the table map of the source's stream describes it."""
    mariadb = source.server.mariadb
    found = table_maps.parse(table_map.body(described.shape, 0, mariadb=mariadb)[6:], mariadb=mariadb).table
    unique = described.keys[0].columns if described.keys and not found.primary_key else ()
    return msgspec.structs.replace(found, unique_key=unique)


def _without_merged(tables: Sequence[Wanted]) -> list[Wanted]:
    """A table that is written from several ones has the rows of all of them: they are compared where a column says
    which table of the source each row comes from, or where the keys do (`keys: disjoint`)."""
    written = Counter(each.target for each in tables)
    reason = "several tables of the source are written to this table, and no column of transforms.add with key: true"
    reason += " distinguishes their rows"
    return [
        msgspec.structs.replace(each, skipped=each.skipped or reason)
        if written[each.target] > 1 and not each.told_apart
        else each
        for each in tables
    ]


def _mapped(table: Table, view: View) -> list[Mapped]:
    return [
        Mapped(table.columns[origin.column].name, column.name, "masked" if origin.mask or origin.nothing else "")
        for column, origin in zip(view.table.columns, view.origins, strict=True)
        if origin.constant is None
    ]


class _Replication:
    """See `verify.replication.Replication`."""

    def __init__(self, task: str, sink: MySQLSink, source: Side, target: Side) -> None:
        self._task, self._source, self._target = task, source, target
        table = f"{quote_identifier(sink.position_database)}.replicator_position"
        self._sql = f"SELECT position FROM {table} WHERE task = %s ORDER BY written_at DESC LIMIT 1"  # noqa: S608 (quoted)

    def end(self) -> Position:
        return end_position(self._source.control, self._source.server)

    def passed(self, goal: Position) -> bool | None:
        try:
            text = self._target.control.value(self._sql, (self._task,))
        except ReplicatorError as error:
            if server_errors.number_of(error) in _NO_TABLE:
                return None
            raise
        if not text:
            return None
        return reached(from_json(str(text), Position).transaction_start, goal)


def _writable(member: MySQLSink, password: str) -> Side:
    """Of several servers, rows are in the one that the task writes to."""
    side = Side.of(member, password)
    if member.hosts and side.server.get("read_only") not in ("OFF", ""):
        side.close()
        raise SinkUnavailable(
            "E3408", f"{member.host}:{member.port} is read-only", found=f"read_only = {side.server.get('read_only')}"
        )
    return side


@contextmanager
def open_verification(config: TaskConfig, patterns: Sequence[str]) -> Iterator[Verification]:
    """Connects to both sides. `patterns`: of tables at the source; empty: all of the task.

    Raises:
        ProcessError: E5032, the task has another sink.
        SourceUnavailable, SourceError, SinkUnavailable, SinkError, ConfigError.
    """
    sink = config.sink
    if not isinstance(sink, MySQLSink):
        raise ProcessError(
            "E5032",
            "only topics and targets that are databases can be verified",
            found=f"sink.type: {sink.type}",
            wanted="sink.type: kafka, mysql or mariadb",
            fix="Name a task with such a sink; records in files are not compared.",
        )
    with ExitStack() as opened:
        source_password, sink_password = resolve(config.database.password), resolve(sink.password)
        source = Hosts(config.database).first(lambda member: Side.of(member, source_password))
        opened.callback(source.close)
        targets = Hosts(sink)
        target = targets.first(lambda member: _writable(member, sink_password))
        opened.callback(target.close)
        yield Verification(config, sink, source, target, patterns, targets.current)
