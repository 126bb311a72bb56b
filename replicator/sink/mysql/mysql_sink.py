"""Rows, the position after them and the epoch in one transaction of a MySQL or MariaDB server."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from replicator.config.mysql_sink import MySQLSink as MySQLSinkConfig
from replicator.errors import SinkError, SinkUnavailable
from replicator.model.batch import Batch, Record
from replicator.model.conflicts import ConflictCounts, added
from replicator.model.filling import Filling
from replicator.model.position import Position
from replicator.model.snapshot import INITIAL
from replicator.model.target_table import STATEMENT, TargetTables
from replicator.model.term import Term
from replicator.mysql.hosts import Hosts
from replicator.mysql.identifiers import quote_account
from replicator.mysql.session import Session
from replicator.sink.mysql import apply_mode
from replicator.sink.mysql.apply_mode import Mode
from replicator.sink.mysql.branches import support
from replicator.sink.mysql.branches.branches import Branches
from replicator.sink.mysql.branches.recovery import recover
from replicator.sink.mysql.claim import claim
from replicator.sink.mysql.conflicts.conflict_table import ConflictTable
from replicator.sink.mysql.conflicts.recorder import Recorder, Texts, ValueText, hexadecimal
from replicator.sink.mysql.conflicts.resolver import Resolver
from replicator.sink.mysql.conflicts.rules import Converging, Rules
from replicator.sink.mysql.connection import Target
from replicator.sink.mysql.ddl import Statements
from replicator.sink.mysql.filling import FillRules, check_empty, marked
from replicator.sink.mysql.position_table import PositionTable
from replicator.sink.mysql.routes import Routes
from replicator.sink.mysql.row_groups import Route, RoutedSection
from replicator.sink.mysql.row_runs import runs
from replicator.sink.mysql.row_sections import sections
from replicator.sink.mysql.shards import Owners
from replicator.sink.mysql.sql import load_mode
from replicator.sink.mysql.sql.load_mode import Loads
from replicator.sink.mysql.stored_rows import stored
from replicator.sink.mysql.table_creation import SourceTables, TableCreation
from replicator.sink.mysql.transaction import Transaction

log: Final = logging.getLogger(__name__)

_IDLE_SECONDS: Final = 1.0  # between transactions that have a position and no rows
_SKIPPED_SECONDS: Final = 10.0
"""Where the position has only moved over transactions that tasks have written. A task in the other direction reads what
is written here: both would answer each other's positions."""
_AGAIN_SECONDS: Final = 3600.0
TableNames: TypeAlias = Callable[[], Sequence[tuple[str, str]]]


class _Pending(NamedTuple):
    """A commit that the server executes. fresh: `acknowledged` was not called since."""

    transaction: Transaction
    position: Position
    fresh: bool = True


class MySQLSink:
    """`ports.Sink` for `sink.type: mysql` and `mariadb`.

    A commit is one transaction of the target, and is durable when it returns, but for one over several connections: the
    server executes it while the next one is made, and what comes next ends it (`_settle`).

    Args:
        filled: names at the target of the tables that a first snapshot fills.
        owners: asks the source for tables that have a row, where several are merged into one.
    """

    holds_position = True
    holds_rows = True
    dead_letters = 0
    conflicts: ConflictCounts = ()
    waited_s = 0.0

    def __init__(
        self,
        config: MySQLSinkConfig,
        password: str,
        task: str,
        installation: str,
        tables: TargetTables,
        source_tables: SourceTables | None = None,
        value_text: ValueText = hexadecimal,
        filled: TableNames = tuple,
        owners: Owners | None = None,
        *,
        converge: bool = False,
        merges: bool = False,
    ) -> None:
        """`merges`: tables with disjoint keys are written to one table.
        `converge`: changes may be repeated; rows of the target become what the changes say, whatever they were."""
        self._config = config
        self._task = task
        self._password = password
        self._tables = tables
        self._source_tables = source_tables
        self._hosts = Hosts(config)
        self._filled = filled
        self._value_text = value_text
        self._owners = owners
        self._converge = converge
        self._merges = merges
        self._conflict_table = ConflictTable(config.position_database, installation, task, config.keep_conflicts)
        self._position_table = PositionTable(config.position_database, installation, task)
        self.left: Position | None = None
        self._term: Term | None = None
        self._target: Target | None = None
        self._routes: Routes | None = None
        self._statements: Statements | None = None
        self._creation: TableCreation | None = None
        self._branches: Branches | None = None
        self._resolver: Resolver | None = None
        self._filler: Resolver | None = None
        self._transaction: Transaction | None = None
        self._pending: _Pending | None = None
        self._failed = False  # a commit: nothing behind it may be committed before `open`
        self._sequence = 0
        self._mode: Mode | None = None
        self._loads = Loads()
        self._load_message = ""  # logged last
        self._waiting: Position | None = None  # a position without rows, not committed yet
        self._committed: Position | None = None
        self._last_commit = 0.0
        self._only_skipped = True  # since the last commit
        self._seen: Position | None = None

    def open(self, term: Term) -> Position | None:
        self.close()
        term.check()
        try:
            target = self._target = self._hosts.first(lambda config: Target(config, self._password))
            self._loads.begin(allowed=target.mode == "sql" and target.obstacle is None)
            self._prepare(target)
            claimed = claim(target.session, self._position_table, term)
            recover(target.session, target.server, self._position_table, term)
            self._branches = self._made_branches(target, term)
            self._statements = Statements(target, self._position_table, term, self._config, self._another_session)
            self._sequence = self._statements.recover(claimed.sequence)
            self._creation = self._table_creation(target)
            if self._creation is not None and claimed.position is None and claimed.left is None:
                self._creation.create()
        except BaseException:
            self.close()
            raise
        self._term, self.left = term, claimed.left
        self._say(target)
        self._routes = Routes(target, self._tables, self._creation, self._owners)
        self._resolver, self._filler = self._conflicts(target)
        self._committed = claimed.position
        self._last_commit = time.monotonic()
        return claimed.position

    @property
    def by_sql(self) -> bool:
        return self._mode == "sql"

    def _say(self, target: Target) -> None:
        """Once for each change of how rows are applied."""
        if target.mode == "sql" and self._mode != "sql" and self._config.apply == "auto":
            privilege = apply_mode.privilege(target.server)
            account = quote_account(target.server.account)
            log.warning(
                "%s: rows are applied by SQL at %s, as the account may not execute %s; row images are applied faster: "
                "GRANT %s ON *.* TO %s;",
                self._task, target.session.where, apply_mode.statements(target.server), privilege, account,
            )  # fmt: skip
        message = "" if target.mode == "binlog" else load_mode.description(target.obstacle)
        if message and message != self._load_message:
            log.info("%s: at %s %s", self._task, target.session.where, message)
        self._mode, self._load_message = target.mode, message

    def _prepare(self, target: Target) -> None:
        table = self._position_table
        if table.exists(target.session):
            return
        if not self._config.create_position_table:
            raise SinkError(
                "E3411",
                f"{table.name} does not exist at {target.session.where}",
                found="no such table, and sink.create_position_table is false",
                wanted=table.definition,
            )
        table.create(target.session)

    def write(self, batch: Batch) -> None:
        if batch.position != self._seen:
            self._seen = batch.position
            self._only_skipped &= 0 < batch.transactions == batch.skipped
        if not batch.records:
            return
        term = self._ready
        term.check()
        records = batch.records
        while batch.barrier and records and records[0][0] == STATEMENT:
            self._execute(records[0])
            records = records[1:]
        if not records:
            return
        self._add(self._begun(), records, batch.filling)

    def _add(self, transaction: Transaction, records: Sequence[Record], filling: Filling | None) -> None:
        routes = self._routes
        assert routes is not None, "opened"  # noqa: S101
        if filling is not None:
            self._add_filling(transaction, records, filling)
            return
        for section in sections(records, transaction.event_bytes):
            if section.mark is not None:
                routed = {each.topic: self._route(routes, each.topic) for each in section.topics}
                if transaction.add_section(RoutedSection(section, routed)):
                    continue
            self._write_runs(section.records, transaction, routes)

    def _route(self, routes: Routes, topic: str) -> Route:
        if not routes.knows(topic):
            self._settle()
        return routes.route(topic)

    def _add_filling(self, transaction: Transaction, records: Sequence[Record], filling: Filling) -> None:
        routes, first = self._routes, 0
        assert routes is not None, "opened"  # noqa: S101
        transaction.resolver = self._filler
        for run in runs(records, transaction.event_bytes):
            for rows in stored(self._route(routes, run.topic), run, records, first, transaction.event_bytes):
                transaction.add(marked(rows, filling))
            first += run.records

    def _write_runs(self, records: Sequence[Record], transaction: Transaction, routes: Routes) -> None:
        first = 0
        for run in runs(records, transaction.event_bytes):
            for rows in stored(self._route(routes, run.topic), run, records, first, transaction.event_bytes):
                transaction.add(rows)
            first += run.records

    def commit(self, position: Position) -> None:
        self._ready.check()
        if self._failed:
            raise SinkUnavailable("E3402", "the sink is not open", found="the commit before this one has failed")
        passed = time.monotonic() - self._last_commit
        last = self._pending.position if self._pending is not None else self._committed
        if self._transaction is None and position == last and passed < _AGAIN_SECONDS:
            self._waiting = None  # a heartbeat of an idle source
            return
        self._waiting = position
        # Behind a statement at once: the note of the next one replaces that of this one.
        behind = self._statements is not None and self._statements.taken() is not None
        if self._transaction is not None or behind or passed >= self._idle_seconds:
            self._commit()

    @property
    def unfinished(self) -> bool:
        return self._pending is not None

    def acknowledged(self) -> Position | None:
        """Also commits a position that has waited long enough for rows."""
        self._ready  # noqa: B018 (raises)
        if self._pending is not None and self._pending.fresh:
            self._pending = self._pending._replace(fresh=False)
            return self._committed
        if self._failed:
            return self._committed
        self._settle()
        self._look()
        idle = time.monotonic() - self._last_commit
        if self._waiting is not None and self._transaction is None and idle >= self._idle_seconds:
            self._commit()
        return self._committed

    def flush(self, timeout: float, progress: Callable[[], None] | None = None) -> None:
        self._ready.check()
        if self._failed:
            return
        self._settle()
        if self._waiting is not None and self._transaction is None:
            self._commit()

    def close(self) -> None:
        target, self._target = self._target, None
        self._transaction = self._waiting = self._term = self._routes = self._statements = self._pending = None
        self._failed = False
        branches, self._branches = self._branches, None
        if branches is not None:
            branches.close()
        if target is not None:
            target.close()  # the server rolls back

    def _execute(self, record: Record) -> None:
        """A statement of the source. What came before it is committed: the batch is a barrier."""
        statements, target = self._statements, self._target
        assert statements is not None and target is not None, "opened"  # noqa: S101
        if self._transaction is not None:
            raise ValueError("rows before a statement are not committed")
        self._settle()
        self._look(now=True)  # the next look is at other columns
        self._sequence = statements.execute(record, self._sequence)
        # Tables have other columns now.
        self._routes = Routes(target, self._tables, self._creation, self._owners)
        self._resolver, self._filler = self._conflicts(target)

    def _table_creation(self, target: Target) -> TableCreation | None:
        if self._source_tables is None:
            return None
        return TableCreation(self._source_tables, self._another_session, target.server, self._config, self._task)

    def _made_branches(self, target: Target, term: Term) -> Branches | None:
        """Raises SinkError E3415."""
        config = self._config
        if config.order == "transaction":
            return None
        support.refuse_unsupported(target.server, target.session.where)
        connect = partial(Target, self._hosts.current, self._password)
        return Branches(connect, self._position_table, term, self._task, config.connections - 1)

    def _conflicts(self, target: Target) -> tuple[Resolver | None, Resolver]:
        """Of changes, if there is a policy for conflicts; and while a snapshot is open. Of one session: what they know
        of tables is of their present columns."""
        rules: Converging | Rules = (
            Converging() if self._converge else Rules(self._config.conflict, merges=self._merges)
        )
        texts = Texts(self._value_text)
        if rules.recorded:
            self._conflict_table.prepare(target.session, create=self._config.create_position_table)
        recorder = Recorder(target, self._conflict_table, texts)
        filler = Resolver(target, FillRules(rules, self._config.existing_rows), texts, recorder)
        return Resolver(target, rules, texts, recorder) if rules.needed else None, filler

    def _another_session(self) -> Session:
        return Session(self._hosts.current, self._password)

    def _look(self, *, now: bool = False) -> None:
        if self._routes is not None:
            self._routes.altered.look(now=now)

    def _begun(self) -> Transaction:
        if self._transaction is None:
            target, term = self._target, self._ready
            assert target is not None, "opened"  # noqa: S101
            target.describe()
            self._transaction = Transaction(
                target, self._position_table, term, self._sequence, self._resolver, self._settle
            )
            self._transaction.branches, self._transaction.loads = self._branches, self._loads
        return self._transaction

    def _commit(self) -> None:
        position = self._waiting
        assert position is not None, "there is something to commit"  # noqa: S101
        with self._noting_failure():
            transaction = self._begun()
            # While rows are compared, the commit that counts what was found has to end with them.
            later = transaction.resolver is None and transaction.divides()
            self._settle()
            if self._committed is None and self._config.existing_rows == "refuse" and _begins_with_snapshot(position):
                check_empty(self._open_target.session, self._filled())
            self._look()
            statements = self._statements
            assert statements is not None, "opened"  # noqa: S101
            if later and transaction.divides():
                transaction.begin(position, statements.taken())
                self._pending = _Pending(transaction, position)
            else:
                self._sequence = transaction.commit(position, statements.taken())
                self._ended(position)
        self._transaction = self._waiting = None
        self._last_commit = time.monotonic()
        self._only_skipped = True

    def _settle(self) -> None:
        """Ends the commit that has begun, if one has. Raises what `Transaction.commit` raises."""
        pending, self._pending = self._pending, None
        if pending is None:
            return
        with self._noting_failure():
            self._sequence = pending.transaction.finish()
        if self._transaction is not None:
            self._transaction.sequence = self._sequence
        self._ended(pending.position)

    @contextmanager
    def _noting_failure(self) -> Iterator[None]:
        try:
            yield
        except BaseException:
            self._failed = True
            raise

    def _ended(self, position: Position) -> None:
        assert self._statements is not None, "opened"  # noqa: S101
        self._statements.committed()
        if self._resolver is not None:
            self.conflicts = added(self.conflicts, self._resolver.recorder.taken())
        self._committed = position

    @property
    def _idle_seconds(self) -> float:
        return _SKIPPED_SECONDS if self._only_skipped else _IDLE_SECONDS

    @property
    def _open_target(self) -> Target:
        assert self._target is not None, "opened"  # noqa: S101
        return self._target

    @property
    def _ready(self) -> Term:
        if self._term is None:
            raise SinkUnavailable("E3402", "the sink is not open")
        return self._term


def _begins_with_snapshot(position: Position) -> bool:
    """Nothing of it is written yet."""
    progress = position.snapshot
    return progress is not None and progress.id == INITIAL and not (progress.tables or progress.ended_ms)
