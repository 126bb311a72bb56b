"""Reads the state of one task from the coordinator into one immutable value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import msgspec

from replicator.codes import scope_of
from replicator.coordination.addresses.choice import unusable
from replicator.coordination.addresses.task_addresses import TaskAddress, TaskAddresses
from replicator.coordination.clock import now_ms
from replicator.coordination.groups.wishes import wish_of
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Contender, Election, Field
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import HistoryRecord, StatusRecord, TaskFigures
from replicator.coordination.sources.source_locks import SourceLocks, sources_of
from replicator.coordination.tasks.commands import Commands, Pending
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.history import KEPT, Entry, History
from replicator.coordination.tasks.maintenance import Maintenance
from replicator.coordination.tasks.orders import OrdersStore
from replicator.coordination.tasks.position_history import PositionHistory
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.removal import is_remains
from replicator.coordination.tasks.status import UNKNOWN, Status
from replicator.coordination.watches import Watches
from replicator.errors import ConfigError, CoordinationError, NodeMissing, NotConnected, ReplicatorError
from replicator.model.added_tables import visible
from replicator.model.position import Position
from replicator.model.quarantine import TaskOrders

HOUR_MS = 3_600_000
_AT_A_POSITION = ("running", "position")
"""What stands in the history of tasks that have had a position."""
_TRIES = 5
_RECENT = 60
"""Entries of the history that are read of a failed task: hours of it."""
Problem: TypeAlias = dict[str, str]
"""`ReplicatorError.to_dict()`."""
Validate: TypeAlias = Callable[[dict[str, Any]], dict[str, Any]]
"""Checks a configuration and returns it with its defaults filled in. Raises ConfigError."""


class Config(msgspec.Struct, frozen=True):
    """A validated configuration and the orders of operators for tables; both with the version of the znode
    they stand in, -1 for none. A worker is started with both, and takes up a change of either. `until`: where it ends,
    for a cut-over."""

    version: int
    data: dict[str, Any]
    orders: TaskOrders = TaskOrders()
    orders_version: int = -1
    until: Position | None = None


class Tried(msgspec.Struct, frozen=True):
    """A Core process that led the task and failed with what may be a fault of its host."""

    process: str
    host: str
    reason: str


class TaskView(msgspec.Struct, frozen=True, kw_only=True):
    """One reading of one task.

    Attributes:
        session, timeout: of the session that read it.
        exists: the task's znode is there.
        group: of Cores, in the configuration, "" for none; None: it can't be read.
        config: None when there is none, or none that can be used; `config_error` says why. Nor is one used where the
            orders beside it can't be read: tables that are left out would come back.
        field, own: the contenders, and which of them we are.
        desired: "running", "paused", "deleted", or UNKNOWN with `status_error`.
        stop_at: where alone a task that is to be paused stops, for a cut-over; it runs until then.
        held: the name of its source, where that is locked for maintenance: no worker may run.
        restoring: the task is being restored from a backup, and not complete.
        commit: lastCommit; `commit_error` when its content is not understood.
        delivered: there is no lastCommit, and position history or history show that the task has had a position.
        commands: read only where asked for, else ().
        maintenance: nobody may be promoted.
        reaching: guids of those that reach what we don't, or may have what our host lacks; gave_up: how often the task
            was given up for that in the last hour. Both read only where we are stuck.
        tried, healthy: who failed likewise, and guids of standbys that reach what the task needs. Read only where we
            have failed by what may be a fault of our host, with `gave_up`; `healthy` also where we are to hand over.
        addresses: of the address book that the task uses; without one that it can connect to it has no `config`.
        machines: transaction in which the last machine node came or went, read after `field`; 0 when not asked for.
    """

    task: str
    session: int
    timeout: float
    exists: bool = False
    uid: str = ""
    group: str | None = ""
    config: Config | None = None
    config_version: int = -1
    orders_version: int = -1
    config_error: Problem | None = None
    desired: str = "running"
    stop_at: Position | None = None
    held: str = ""
    status_error: Problem | None = None
    restoring: bool = False
    field: Field = Field()
    own: Contender | None = None
    commit: Commit = Commit(None)
    commit_error: Problem | None = None
    delivered: bool = False
    commands: tuple[Pending, ...] = ()
    maintenance: bool = False
    reaching: frozenset[str] = frozenset()
    gave_up: int = 0
    tried: tuple[Tried, ...] = ()
    healthy: frozenset[str] = frozenset()
    machines: int = 0
    addresses: tuple[TaskAddress, ...] = ()

    @property
    def wanted_addresses(self) -> tuple[str, ...]:
        return tuple(one.wanted for one in self.addresses)

    @property
    def incarnation(self) -> str:
        """The task's uid, also while its znode is damaged: lastCommit has it too, and goes when the task is deleted.
        Like `Registry.configure`, which repairs the znode; a term without it would lose the position at the sink."""
        record = self.commit.record
        return self.uid or (record.uid if record is not None else "")


class _Wishes:
    """What operators write: a watch tells that it changes, so that a cache may answer."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self.registry = Registry(coordinator, layout)
        self.status = Status(coordinator, layout)
        self.maintenance = Maintenance(coordinator, layout)
        self.orders = OrdersStore(coordinator, layout)
        self.source_locks = SourceLocks(coordinator, layout)


class ViewReader:
    """Reads views of one task. Not thread-safe: it remembers the last configuration that it validated.

    Args:
        kept: a cache of configuration, orders, status and maintenance, for views that are not `exact`. Contenders and
            lastCommit are read each time.
    """

    def __init__(
        self, coordinator: Coordinator, layout: Layout, task: str, validate: Validate, kept: Coordinator | None = None
    ) -> None:
        self._exact = _Wishes(coordinator, layout)
        self._cached = _Wishes(kept, layout) if kept is not None else self._exact
        self._wishes = self._exact
        self._coordinator = coordinator
        self._layout = layout
        self._task = task
        self._validate = validate
        self._election = Election(coordinator, layout)
        self._commits = Commits(coordinator, layout)
        self._commands = Commands(coordinator, layout)
        self._machines = Machines(coordinator, layout)
        self._history = History(coordinator, layout)
        self._position_history = PositionHistory(coordinator, layout)
        self._addresses = TaskAddresses(coordinator, layout)
        self._last_good: dict[str, Any] | None = None
        self._validated: tuple[tuple[str, int], Config | None, Problem | None] | None = None

    def read(
        self,
        guid: str,
        watches: Watches,
        commands: bool,
        machines: bool,
        stuck: str = "",
        failing: bool = False,
        moving: bool = False,
        *,
        exact: bool = True,
    ) -> TaskView:
        """Raises NotConnected. `exact`: nothing is from the cache.

        `stuck`: what we don't reach, "source", "sink" or "registry", or "host", which lacks
        something; `failing`: we have failed, perhaps by a fault of our host; `moving`: we are to hand over.

        The parts are read one by one. A task that is removed meanwhile, or created again, is read again as a whole:
        half a task looks like one that has lost its progress.
        """
        self._wishes = self._exact if exact else self._cached
        for _ in range(_TRIES):
            view = self._read(guid, watches, commands, machines, stuck)
            if view is not None:
                return self._with_others(view, stuck, failing, moving)
        raise NotConnected("E4002", f"'{self._task}' was changed during each read", found="several incarnations")

    def _read(self, guid: str, watches: Watches, commands: bool, machines: bool, stuck: str) -> TaskView | None:
        """None when the parts may be of several incarnations.

        The order matters for who takes over: contenders first, then lastCommit. What a term wrote before its node
        vanished is then in the lastCommit that is read.
        """
        session = self._coordinator.session_id
        view = TaskView(task=self._task, session=session, timeout=self._coordinator.session_timeout)
        try:
            present, czxid = self._read_task(view, watches)
            present = self._with_addresses(self._with_orders(present, watches), watches)
        except NodeMissing:
            return view
        status, status_error = self._read_status(watches)
        desired = status.desired
        field = self._election.field(self._task)
        changed = self._read_machines() if machines else 0
        commit, commit_error = self._read_commit()
        whole = desired and field.parent and commit.record and commit.record.uid == present.uid
        if not whole and self._czxid() != czxid:
            return None
        if not desired:
            desired = "deleted" if self._is_remains(present) else "running"
        return msgspec.structs.replace(
            present,
            desired=desired,
            stop_at=status.at if desired == "paused" else None,
            status_error=status_error,
            restoring=status.restoring,
            field=field,
            own=field.own(guid, session),
            machines=changed,
            held=self._held(present, watches),
            maintenance=self._wishes.maintenance.holds(self._task, watches),
            commit=commit,
            commit_error=commit_error,
            delivered=commit.version < 0 and commit_error is None and self._has_delivered(),
            commands=self._read_commands(watches) if commands else (),
        )

    def _with_others(self, view: TaskView, stuck: str, failing: bool, moving: bool) -> TaskView:
        """What decides whether the task is handed over because of a fault."""
        if not (stuck or failing or moving):
            return view
        figures = self._read_figures()
        recent = self._history.read(self._task, KEPT if stuck else _RECENT) if stuck or failing else []
        healthy = frozenset(one.guid for one in figures if one.state == "standby" and all(one.reach.values()))
        return msgspec.structs.replace(
            view,
            gave_up=_gave_up(recent),
            reaching=healthy if stuck == "host" else frozenset(one.guid for one in figures if _reaches(one, stuck)),
            tried=_tried(recent) if failing else (),
            healthy=healthy,
        )

    def _czxid(self) -> int:
        """Of the task's node; 0: there is none."""
        stat = self._coordinator.exists(self._layout.task(self._task))
        return stat.czxid if stat else 0

    def _is_remains(self, view: TaskView) -> bool:
        """Only of a task without a status, so rarely asked."""
        if view.config_error is None:
            return False
        return is_remains(self._coordinator.get(self._layout.task(self._task)).data, has_status=False)

    def _read_task(self, view: TaskView, watches: Watches) -> tuple[TaskView, int]:
        """With the czxid of the task's node."""
        path = self._layout.task(self._task)
        try:
            with watches.on("data", path) as watch:
                node = self._wishes.registry.read(self._task, watch)
        except NodeMissing:
            raise
        except CoordinationError as error:
            if error.transient:
                raise
            stat = self._coordinator.exists(path)
            if stat is None:
                raise NodeMissing("E5003", f"there is no task '{self._task}'") from error
            told = error.to_dict()
            seen = msgspec.structs.replace(
                view, exists=True, group=None, config_version=stat.version, config_error=told
            )
            return seen, stat.czxid
        config, problem = self._config(node.record.uid, node.version, node.record.config)
        seen = msgspec.structs.replace(
            view,
            exists=True,
            uid=node.record.uid,
            group=wish_of(node.record.config).group,
            config=config,
            config_version=node.version,
            config_error=problem,
        )
        return seen, node.czxid

    def _with_orders(self, view: TaskView, watches: Watches) -> TaskView:
        try:
            with watches.on("data", self._layout.orders(self._task)) as watch:
                ordered = self._wishes.orders.read(self._task, watch)
        except CoordinationError as error:
            if error.transient:
                raise
            return msgspec.structs.replace(view, config=None, config_error=view.config_error or error.to_dict())
        config = view.config
        if config is not None:
            # The orders are read behind the configuration, and may be for the next one.
            snapshots = visible(ordered.orders.snapshots, config.version)
            orders = msgspec.structs.replace(ordered.orders, snapshots=snapshots)
            config = msgspec.structs.replace(config, orders=orders, orders_version=ordered.version)
        return msgspec.structs.replace(view, config=config, orders_version=ordered.version)

    def _with_addresses(self, view: TaskView, watches: Watches) -> TaskView:
        """Without an address, now or before, there is nothing to connect to, until the book has it."""
        if view.config is None:
            return view
        found = self._addresses.read(self._task, view.uid, view.config.data, watches)
        problem = unusable(found)
        if problem is None:
            return msgspec.structs.replace(view, addresses=found)
        return msgspec.structs.replace(view, config=None, config_error=problem, addresses=found)

    def _held(self, view: TaskView, watches: Watches) -> str:
        """With a configuration that can't be used, the last one that could may be at work: its source counts then."""
        data = view.config.data if view.config is not None else self._last_good
        self._last_good = data
        resolved = [one.wanted for one in view.addresses if one.section == "source" and one.wanted]
        locked = self._wishes.source_locks.holding(sources_of(data, resolved), watches)
        return locked.name if locked is not None else ""

    def _config(self, uid: str, version: int, data: dict[str, Any] | None) -> tuple[Config | None, Problem | None]:
        if data is None:
            return None, None
        if self._validated is None or self._validated[0] != (uid, version):
            self._validated = ((uid, version), *self._judge(version, data))
        return self._validated[1], self._validated[2]

    def _judge(self, version: int, data: dict[str, Any]) -> tuple[Config | None, Problem | None]:
        try:
            config = self._validate(data)
            if config.get("name") != self._task:
                raise ConfigError(
                    "E1003",
                    f"the configuration of '{self._task}' belongs to another task",
                    found=str(config.get("name")),
                    wanted=self._task,
                    fix="Apply the configuration of the task again: `replicator task apply -f FILE`.",
                )
        except ReplicatorError as error:
            return None, error.to_dict()
        return Config(version, config), None

    def _read_status(self, watches: Watches) -> tuple[StatusRecord, Problem | None]:
        """What operators want; desired "" without a status, UNKNOWN for one that we can't read."""
        try:
            with watches.on("data", self._layout.status(self._task)) as watch:
                return self._wishes.status.find(self._task, watch) or StatusRecord(desired=""), None
        except CoordinationError as error:
            if error.transient:
                raise
            return StatusRecord(desired=UNKNOWN), error.to_dict()

    def _read_commit(self) -> tuple[Commit, Problem | None]:
        try:
            return self._commits.read(self._task), None
        except CoordinationError as error:
            if error.transient:
                raise
            return Commit(None), error.to_dict()

    def _has_delivered(self) -> bool:
        """A task starts to stream after the first write of its position, the first entry of the position history."""
        if self._position_history.read(self._task):
            return True
        return any(entry.record.kind in _AT_A_POSITION for entry in self._history.read(self._task))

    def _read_commands(self, watches: Watches) -> tuple[Pending, ...]:
        with watches.on("children", self._layout.commands(self._task)) as watch:
            return tuple(self._commands.pending(self._task, watch))

    def _read_figures(self) -> list[TaskFigures]:
        """Of this task on each machine that is online."""
        records = [machine.record for machine in self._machines.list() if machine.record is not None]
        return [record.tasks[self._task] for record in records if self._task in record.tasks]

    def _read_machines(self) -> int:
        stat = self._coordinator.exists(self._layout.machines)
        return stat.pzxid if stat else 0


_NEW_ROUND = frozenset({"created", "configured", "retry", "resumed", "resume", "position"})
"""Deeds of operators after which every host may try again."""


def _reaches(one: TaskFigures, side: str) -> bool:
    """The schema registry is of no use without source and sink."""
    return one.reach.get(side, False) and (side != "registry" or all(one.reach.values()))


def _gave_up(recent: list[Entry]) -> int:
    since = now_ms() - HOUR_MS
    return sum(entry.record.kind == "gave up" and entry.record.time_ms > since for entry in recent)


def _tried(recent: list[Entry]) -> tuple[Tried, ...]:
    """Within the hour before the last failure, so that a task stays where it failed last once all have tried."""
    found: dict[str, Tried] = {}
    last = 0
    for entry in reversed(recent):
        record = entry.record
        if record.kind in _NEW_ROUND or (last and record.time_ms < last - HOUR_MS):
            break
        if _failed_by_host(record):
            last = last or record.time_ms
            found.setdefault(record.process, Tried(record.process, record.host, record.reason))
    return tuple(found.values())


def _failed_by_host(record: HistoryRecord) -> bool:
    return record.kind == "failed" and scope_of(record.reason[:5]) != "task"
