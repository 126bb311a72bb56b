"""`verify --repair`: writes rows that differ, through the task's own transforms and row images.

For a few rows at a time: the task's position row is locked, so that the target is exactly at its position P. The source
is read in a view that shows everything before P, and its log from P to behind the SELECT is searched for changes of
these rows. A row without one is at the source what it was at P, so it is written, and the task goes on with the change
behind P. Rows with one are left for a later attempt. See verify/DESIGN.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from typing import Final

import msgspec

from replicator.assembly.changed_keys import ChangedKeys, Changes
from replicator.assembly.pipeline import build_rendering
from replicator.assembly.planners import Planners
from replicator.assembly.shard_owners import ShardOwners
from replicator.assembly.target_keys import TargetKeys
from replicator.config.mysql_sink import MySQLSink
from replicator.config.secrets import resolve
from replicator.config.task import TaskConfig
from replicator.decode.snapshot.chunk_decoder import ChunkDecoder
from replicator.errors import ReplicatorError, SinkError
from replicator.model.finding import listed
from replicator.model.snapshot import SnapshotMoment
from replicator.model.target_table import TargetTable, TargetTables
from replicator.mysql import table_key
from replicator.mysql.hosts import Hosts
from replicator.mysql.statement_text import Text
from replicator.pipeline.ports import TableChanged
from replicator.sink.mysql.fenced_repair import FencedRepair, of_rows
from replicator.sink.mysql.row_runs import split
from replicator.source.mysql.snapshot.connections import Connections
from replicator.source.mysql.snapshot.keyed_rows import KeyedReader, KeyedRows
from replicator.verify.compare import Difference, KeyValue, Row
from replicator.verify.ordered import any_of
from replicator.verify.packet_rows import parser
from replicator.verify.repair import ACTIONS, Repaired
from replicator.verify.side import Side, literals
from replicator.verify.table_pair import TablePair

_BATCH: Final = 100
_TRIES: Final = 8
_FIRST_PAUSE_S: Final = 0.02
_LONGEST_PAUSE_S: Final = 0.5
_PATIENCE_S: Final = 5.0
"""To read the log, while the task waits."""
_CHANGED: Final = "the row, or its table, was changed at the source during each attempt"


class Tools(msgspec.Struct, frozen=True):
    """What the repairs of all tables of a task have in common. See `TaskRepair`."""

    target: Side
    tables: TargetTables
    decoder: ChunkDecoder
    changed: ChangedKeys
    guard: Callable[[str], None]
    sleep: Callable[[float], None]
    dry_run: bool
    owners: ShardOwners


class TaskRepair:
    """See `verify.repair.Repair`.

    Args:
        sink: with the host and port of the server that was compared.
        target: an open side, for reading.
        uid: of the task's incarnation; "": not known.
        guard: asked for a table while the position row is locked. Raises ProcessError: the task is not any more what
            the verification began with (E5041), or the table can't be repaired (E5042).
    """

    def __init__(
        self,
        config: TaskConfig,
        sink: MySQLSink,
        target: Side,
        uid: str = "",
        guard: Callable[[str], None] = lambda table: None,
        *,
        dry_run: bool = False,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._config, self._sink, self._uid = config, sink, uid
        self.dry_run = dry_run
        tables = TargetTables()
        planners, rendering, moment = Planners(config, tables), build_rendering(config), SnapshotMoment("", 4, 0)
        planner = cache(lambda marker: planners.snapshot(marker, moment))
        decoder = ChunkDecoder(planner, mariadb=config.source.type == "mariadb", rendering=rendering)
        changed = ChangedKeys(config, planners.stream, rendering, _PATIENCE_S)
        self._tools = Tools(target, tables, decoder, changed, guard, sleep, dry_run, ShardOwners(config))

    def __call__(self, table: str, pair: TablePair, differences: Sequence[Difference]) -> Repaired:
        keys = TargetKeys(self._tools.target, pair, mariadb=self._config.source.type == "mariadb")
        password, sink_password = resolve(self._config.database.password), resolve(self._sink.password)
        repaired = Repaired()
        with ExitStack() as opened:
            reader = KeyedReader(Hosts(self._config.database).first(lambda member: Connections(member, password)))
            opened.callback(reader.close)
            fence = FencedRepair(self._sink, sink_password, self._config.name, self._uid)
            opened.callback(fence.close)
            work = _TableRepair(self._tools, table, pair, keys, reader, fence)
            for at in range(0, len(differences), _BATCH):
                work.repair([each.key for each in differences[at : at + _BATCH]], repaired)
        return repaired


class _TableRepair:
    """Of one table."""

    def __init__(
        self,
        tools: Tools,
        table: str,
        pair: TablePair,
        keys: TargetKeys,
        reader: KeyedReader,
        fence: FencedRepair,
    ) -> None:
        self._tools, self._table, self._pair, self._keys = tools, table, pair, keys
        self._reader, self._fence, self._routes = reader, fence, fence.routes(tools.tables)
        self._comparison = keys.comparison

    def repair(self, keys: Sequence[KeyValue], repaired: Repaired) -> None:
        """A batch. Rows that are refused together are tried one by one."""
        left, pause = list(keys), _FIRST_PAUSE_S
        for _ in range(_TRIES):
            try:
                left = self._attempt(left, repaired)
            except SinkError as error:
                if error.transient:
                    raise
                left = [key for each in left for key in self._alone(each, repaired)]
            if not left:
                return
            self._tools.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_S)
        repaired.left.update(dict.fromkeys(left, _CHANGED))

    def _alone(self, key: KeyValue, repaired: Repaired) -> list[KeyValue]:
        try:
            return self._attempt([key], repaired)
        except SinkError as error:
            if error.transient:
                raise
            repaired.left[key] = f"{error.code} {error.what}: {error.found}"
            return []

    def _attempt(self, keys: Sequence[KeyValue], repaired: Repaired) -> list[KeyValue]:
        """One transaction. Returns the keys that were changed meanwhile."""
        fence, tools = self._fence, self._tools
        position = fence.begin()
        try:
            tools.guard(self._table)
            found = self._reader.read(self._table, self._condition(keys), position, self._pair.source.shape.select)
            table = tools.decoder.table(found.chunk)
            changes = tools.changed.between(position, found.chunk.high, table, self._pair.key)
            todo, busy = self._todo(keys, found, changes)
            todo = self._own(todo, repaired)
            statements = list(self._statements(todo, found))
            fence.write(statements)
        except TableChanged:
            fence.rollback()
            return list(keys)
        except BaseException:
            with suppress(ReplicatorError):  # of a lost connection, which the server has rolled back
                fence.rollback()
            raise
        if statements and not tools.dry_run:
            fence.commit()
        else:
            fence.rollback()
        repaired.done += [(each.key, ACTIONS[each.verdict]) for each in todo]
        return busy

    def _condition(self, keys: Sequence[KeyValue]) -> str:
        source = self._pair.source
        assert source.key is not None, "an ordered pair"  # noqa: S101
        where = f" AND ({self._pair.where})" if self._pair.where else ""
        return f" WHERE ({any_of(source, keys)}){where}{table_key.order(source.shape, source.key)}"

    def _todo(
        self, keys: Sequence[KeyValue], found: KeyedRows, changes: Changes
    ) -> tuple[list[Difference], list[KeyValue]]:
        """Rows that differ now, and keys of those that were changed behind the target's position."""
        key_of, parse = self._comparison.key, parser(found.types, self._pair.integers)
        mine = [parse(packet) for packet in found.packets]
        if changes.all or len(mine) != len(found.chunk.images):
            return [], list(keys)
        theirs = self._keys.read(keys)
        if self._pair.shared:  # what the source does not have may be a row of another table
            known = {key_of(row) for row in mine}
            theirs = [row for row in theirs if key_of(row) in known]
        moved = set[KeyValue]()
        if changes.keys:
            noted = self._tools.decoder.keys(found.chunk, self._pair.key)
            moved = {key_of(row) for row, key in zip(mine, noted, strict=True) if key in changes.keys}
            known = {key_of(row) for row in mine}
            moved |= self._keys.changed(self._tools.decoder, changes) - known
            moved |= set(keys) - known - {key_of(row) for row in theirs}  # at neither side: nobody knows its bytes
        differences = self._comparison.differences(_wanted(mine, keys, key_of), _wanted(theirs, keys, key_of))
        return [each for each in differences if each.key not in moved], [key for key in keys if key in moved]

    def _own(self, todo: list[Difference], repaired: Repaired) -> list[Difference]:
        """Without rows of the target that are those of another table, where `keys: disjoint` is not true. A row that is
        missing needs no question: the target refuses a key that it has."""
        if not self._pair.shared:
            return todo
        changed = [each for each in todo if each.target is not None]
        if not changed or not self._owners(changed):
            return todo
        others = {each.key: self._owners([each]) for each in changed}
        for key, names in others.items():
            if names:
                repaired.left[key] = f"{listed(names)} has a row with this key, too (keys: disjoint)"
        return [each for each in todo if not others.get(each.key)]

    def _owners(self, differences: Sequence[Difference]) -> Sequence[str]:
        """Other tables of the source with a row of one of the keys."""
        target, key = self._pair.target, self._pair.target.key
        assert key is not None, "an ordered pair"  # noqa: S101
        names = [target.shape.columns[index].name for index in key.columns]
        table = TargetTable(target.shape.database, target.shape.name, (), source=self._table)
        return self._tools.owners(
            table, [list(zip(names, literals(target, each.key), strict=True)) for each in differences]
        )

    def _statements(self, todo: Sequence[Difference], found: KeyedRows) -> Iterator[Text]:
        """Deletions first, as other rows may get the unique values of theirs."""
        gone = [each.key for each in todo if each.source is None]
        if gone:
            yield from self._keys.deletion(gone, self._fence)
        written = [each for each in todo if each.source is not None]
        if not written:
            return
        parse = parser(found.types, self._pair.integers)
        places = {self._comparison.key(parse(packet)): index for index, packet in enumerate(found.packets)}
        batches = self._tools.decoder.rows(found.chunk, "repair", "true", "true", "true")
        records = {record[4]: record for batch in batches for record in batch.records}
        chosen: dict[bytes, list[bytes]] = {}
        for each in written:
            topic, image = records[places[each.key]][0], split(records[places[each.key]])[1]
            if each.target is None:
                chosen.setdefault(b"I", []).append(image)
            else:  # the row is found by its key: what else the image before has does not matter
                chosen.setdefault(b"U", []).append(image + image)
        for operation, images in sorted(chosen.items(), reverse=True):
            yield from of_rows(self._routes.route(topic), operation, images)


def _wanted(rows: Sequence[Row], keys: Sequence[KeyValue], key_of: Callable[[Row], KeyValue]) -> list[Row]:
    """A collation finds more keys equal."""
    chosen = frozenset(keys)
    return [row for row in rows if key_of(row) in chosen]
