"""Current state of all tasks and machines, for the Server, the Monitor and the CLI. Read-only."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import msgspec

from replicator.config.labels import labels_of
from replicator.coordination.groups.groups import GroupNode
from replicator.coordination.groups.reader import GroupReader, KnownGroups
from replicator.coordination.groups.report import problem
from replicator.coordination.groups.wishes import wish_of
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Contender, Election, Field
from replicator.coordination.leadership.state import State
from replicator.coordination.machines.machines import MachineNode, Machines
from replicator.coordination.machines.report_ages import ReportAges
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import (
    AddressFigures,
    CommitRecord,
    DeliveryFigures,
    StatusRecord,
    TaskFigures,
)
from replicator.coordination.sources.source_locks import LockedSource, SourceLocks, sources_of
from replicator.coordination.tasks.commits import Commit, Commits
from replicator.coordination.tasks.maintenance import Maintenance
from replicator.coordination.tasks.orders import OrdersStore
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import UNKNOWN, Status
from replicator.coordination.tasks.verifications import Verifications
from replicator.coordination.tasks.verify_orders import VerifyOrders
from replicator.errors import CoordinationError, NodeMissing
from replicator.model.checkpoint import Checkpoint
from replicator.model.nightly import VerifyOrder, wanted
from replicator.model.quarantine import TaskOrders
from replicator.model.retrying import Retrying
from replicator.model.verification import Verification

OLD_SECONDS = 3.0
"""Age from which on figures are shown as old: a Core writes them once a second."""


class InstanceOverview(msgspec.Struct, kw_only=True):
    """One Core that is a contender for a task. `machine`: name of its node under /machines (`HOST~xxxx` when another
    process has its host name), "" when that is not there; `state`: a value of `State`; `running`: it has the smallest
    sequence; `figures`: None without a machine; `figures_age_s`: since they were written."""

    host: str
    guid: str
    sequence: int
    epoch: int
    state: str
    running: bool
    pid: int = 0
    process: str = ""
    since_ms: int = 0
    machine: str = ""
    machine_time_ms: int = 0
    figures: TaskFigures | None = None
    figures_age_s: float = 0.0


class TaskState(DeliveryFigures, kw_only=True):
    """What a task is meant to do, and what it does; the API and `TaskOverview` add to it.

    Attributes:
        uid, config, updated_*: of the task's znode; `config` None: not configured, or not understood.
        labels: of the configuration.
        desired: "running", "paused" or "deleted"; `desired_*`: who ordered it, when and why.
        maintenance: "task" or "cluster" while no standby may be promoted, else ""; `maintenance_*`: by whom and why.
        state: of the first instance, "absent" without one; `host`: of the same, which is RUNNING or about to be.
        position, gtid: live, or else of lastCommit.
        figures_age_s: seconds since the Core that runs the task wrote its figures, by the clock of the reader; None:
            there are none.
        figures_old: they are older than a Core that works lets them become. Lag and rates are unknown then.
        problems: `ReplicatorError.to_dict()` of everything that is wrong: unreadable nodes, foreign children, errors of
            the task and of its configuration; most basic first.
        verification: of the target, the last one; None without one.
        nightly: the last order of a nightly verification; None without one, or where they are not configured.
        group: of Cores that run it, "" for all Cores without one; `placed`: those that it is placed on, the preferred
            one first; `pin`: the one that operators want, "" for any.
        addresses: of the address book that the task uses, as its Core reports them.
    """

    name: str
    uid: str = ""
    updated_ms: int = 0
    updated_by: str = ""
    desired: str = "running"
    desired_by: str = ""
    desired_ms: int = 0
    desired_reason: str = ""
    maintenance: str = ""
    maintenance_by: str = ""
    maintenance_reason: str = ""
    state: str = State.ABSENT.value
    host: str = ""
    figures_age_s: float | None = None
    figures_old: bool = False
    problems: list[dict[str, str]] = msgspec.field(default_factory=list)
    verification: Verification | None = None
    nightly: VerifyOrder | None = None
    group: str = ""
    placed: list[str] = msgspec.field(default_factory=list)
    pin: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    addresses: list[AddressFigures] = msgspec.field(default_factory=list)
    config: dict[str, Any] | None = None


class TaskOverview(TaskState, kw_only=True):
    """A task with everything that is known of it.

    Attributes:
        config_version: version of the task's znode.
        running: the first instance, which leads or is about to; `host`, `epoch` and `figures` are its.
        standbys: the others, next in line first.
        orders: of operators, of tables in quarantine and of snapshots.
        last_commit: the progress in ZooKeeper; `commit_version` changes with each write.
    """

    config_version: int = -1
    running: InstanceOverview | None = None
    standbys: list[InstanceOverview] = msgspec.field(default_factory=list)
    figures: TaskFigures | None = None
    orders: TaskOrders = TaskOrders()
    last_commit: CommitRecord | None = None
    commit_version: int = -1

    @property
    def checkpoint(self) -> Checkpoint | None:
        """Of `last_commit`; None: nothing is delivered yet."""
        return self.last_commit.checkpoint if self.last_commit else None

    @property
    def instances(self) -> list[InstanceOverview]:
        return ([self.running] if self.running else []) + self.standbys


class Stored(msgspec.Struct, frozen=True):
    """A task as it is stored: without what machines report of it."""

    view: TaskOverview
    field: Field


class Overview:
    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._registry = Registry(coordinator, layout)
        self._status = Status(coordinator, layout)
        self._election = Election(coordinator, layout)
        self._commits = Commits(coordinator, layout)
        self._machines = Machines(coordinator, layout)
        self._agents = Machines(coordinator, layout, agents=True)
        self._ages, self._agent_ages = ReportAges(), ReportAges()
        self._maintenance = Maintenance(coordinator, layout)
        self._orders = OrdersStore(coordinator, layout)
        self._verifications = Verifications(coordinator, layout)
        self._verify_orders = VerifyOrders(coordinator, layout)
        self._groups = GroupReader(coordinator, layout)
        self._source_locks = SourceLocks(coordinator, layout)

    def machines(self) -> list[MachineNode]:
        """Of Cores."""
        return _aged(self._machines.list(), self._ages)

    def agents(self) -> list[MachineNode]:
        """Machines of agents."""
        return _aged(self._agents.list(), self._agent_ages)

    def watch_reports(self) -> None:
        """Looks which machines have reported, so that ages are right whenever they are asked for. Call it once a
        second."""
        self._ages.see(self._machines.stats())
        self._agent_ages.see(self._agents.stats())

    def names(self) -> list[str]:
        """All tasks, sorted."""
        return self._registry.names()

    def tasks(self, machines: list[MachineNode] | None = None) -> list[TaskOverview]:
        """Every task, by name. Raises NotConnected; whatever else is wrong with a task stands in its `problems`."""
        present = self.machines() if machines is None else machines
        found, groups, locked = [], self._known_groups(), self._source_locks.all()
        for name in self.names():
            try:
                found.append(self.task(name, present, groups, locked))
            except NodeMissing:
                continue  # deleted meanwhile
        return found

    def task(
        self,
        name: str,
        machines: list[MachineNode] | None = None,
        groups: KnownGroups | None = None,
        locked: Mapping[str, LockedSource] | None = None,
    ) -> TaskOverview:
        """Raises NodeMissing E5003 (no such task), NotConnected."""
        view = _joined(self._stored(name), self.machines() if machines is None else machines)
        _add_group(view, self._known_groups() if groups is None else groups)
        _add_source_lock(view, self._source_locks.all() if locked is None else locked)
        return view

    def _known_groups(self) -> KnownGroups:
        return KnownGroups(self._group, self._groups.drained)

    def _group(self, name: str) -> GroupNode:
        return self._groups.read(name)

    def _stored(self, name: str) -> Stored:
        view = TaskOverview(name=name, problems=[])
        self._add_version(view)
        self._add_config(view)
        self._add_status(view)
        self._add_maintenance(view)
        self._add_orders(view)
        self._add_verification(view)
        self._add_commit(view)
        return Stored(view, self._election.field(name))

    def _add_version(self, view: TaskOverview) -> None:
        try:
            view.config_version = self._registry.version(view.name)
        except NodeMissing:
            raise
        except CoordinationError as error:  # ZooKeeper from 3.9 on tells it only to those who may read
            _note(view, error)

    def _add_config(self, view: TaskOverview) -> None:
        try:
            node = self._registry.read(view.name)
        except NodeMissing:
            raise
        except CoordinationError as error:
            _note(view, error)
            return
        view.uid, view.config, view.config_version = node.record.uid, node.record.config, node.version
        view.labels = labels_of(node.record.config)
        view.updated_ms, view.updated_by = node.record.updated_ms, node.record.updated_by

    def _add_status(self, view: TaskOverview) -> None:
        try:
            status = self._status.read(view.name)
        except CoordinationError as error:
            _note(view, error)
            status = StatusRecord(desired=UNKNOWN)
        view.desired, view.desired_by = status.desired, status.by
        view.desired_ms, view.desired_reason = status.time_ms, status.reason

    def _add_maintenance(self, view: TaskOverview) -> None:
        for kind, task in (("cluster", ""), ("task", view.name)):
            record = self._maintenance.read(task)
            if record is not None:
                view.maintenance, view.maintenance_by, view.maintenance_reason = kind, record.by, record.reason

    def _add_orders(self, view: TaskOverview) -> None:
        try:
            view.orders = self._orders.read(view.name).orders
        except CoordinationError as error:
            _note(view, error)

    def _add_verification(self, view: TaskOverview) -> None:
        try:
            view.verification = self._verifications.read(view.name, view.uid)
            if wanted(view.config):
                found = self._verify_orders.read(view.name).order
                view.nightly = found if found is not None and found.uid == view.uid else None
        except CoordinationError as error:
            _note(view, error)

    def _add_commit(self, view: TaskOverview) -> None:
        commit = Commit(None)
        try:
            commit = self._commits.read(view.name)
        except CoordinationError as error:
            _note(view, error)
        view.last_commit, view.commit_version = commit.record, commit.version


def _aged(found: list[MachineNode], ages: ReportAges) -> list[MachineNode]:
    ages.see({machine.name: machine.stat for machine in found if machine.stat is not None})
    return [msgspec.structs.replace(machine, age_s=ages.of(machine.name)) for machine in found]


def _joined(stored: Stored, machines: list[MachineNode]) -> TaskOverview:
    """With what the machines report of the task."""
    view = copy.copy(stored.view)
    view.problems = list(view.problems)
    _add_instances(view, stored.field, machines)
    _add_figures(view)
    # What we can't read, the Core that leads can't read either, and says so too.
    view.problems = [p for index, p in enumerate(view.problems) if p not in view.problems[:index]]
    return view


def _add_group(view: TaskOverview, groups: KnownGroups) -> None:
    wish = wish_of(view.config)
    view.group = wish.group
    try:
        node = groups.of(wish.group)
    except CoordinationError as error:
        _note(view, error)
        return
    if node is None:
        return
    view.placed, view.pin = list(node.places(view.name)), node.record.pins.get(view.name, "")
    found = problem(view.name, wish, node, groups.drained)
    if found is not None:
        view.problems.append(found.to_dict())


def _add_source_lock(view: TaskOverview, locked: Mapping[str, LockedSource]) -> None:
    for name in sources_of(view.config, resolved_sources(view)) if locked else ():
        if name in locked:
            view.problems.append(locked[name].problem().to_dict())


def resolved_sources(view: TaskOverview) -> list[str]:
    """Addresses of the book that its source uses, or is to use."""
    used = [one for one in view.addresses if one.section == "source"]
    return [address for one in used for address in (one.in_use, one.wanted) if address]


def _add_instances(view: TaskOverview, field: Field, machines: list[MachineNode]) -> None:
    by_owner = {machine.owner: machine for machine in machines}
    instances = [
        _instance(view.name, contender, index == 0, by_owner.get(contender.owner))
        for index, contender in enumerate(field.contenders)
    ]
    view.problems += [
        CoordinationError(
            "E4009",
            f"there is an unknown znode in the election of '{view.name}'",
            found=name,
            fix="Delete the znode: mysql-replicator has not created it.",
        ).to_dict()
        for name in field.foreign
    ]
    if not instances:
        return
    first, view.standbys = instances[0], instances[1:]
    view.running, view.host, view.epoch = first, first.host, first.epoch
    view.state, view.figures = first.state, first.figures
    if first.figures is not None:
        view.problems += [error for error in (first.figures.error, first.figures.config_error) if error]
        view.problems += _retried(first.figures.retrying)
        view.addresses = first.figures.addresses
        view.problems += [one.error for one in view.addresses if one.error]


def _instance(task: str, contender: Contender, first: bool, machine: MachineNode | None) -> InstanceOverview:
    record = contender.record
    vitals = machine.record if machine else None
    figures = vitals.tasks.get(task) if vitals else None
    return InstanceOverview(
        host=contender.host,
        guid=contender.guid,
        sequence=contender.sequence,
        epoch=contender.czxid,
        state=record.state if record else (figures.state if figures else State.STANDBY.value),
        running=first,
        pid=record.pid if record else 0,
        process=record.process if record else "",
        since_ms=record.since_ms if record else 0,
        machine=machine.name if machine else "",
        machine_time_ms=vitals.time_ms if vitals else 0,
        figures=figures,
        figures_age_s=machine.age_s if machine else 0.0,
    )


def _retried(retrying: Retrying | None) -> list[dict[str, str]]:
    if retrying is None:
        return []
    return [{name: getattr(retrying, name) for name in ("code", "what", "found", "fix")}]


def _add_figures(view: TaskOverview) -> None:
    figures = view.figures or DeliveryFigures(lag_note="no Core reports figures of the task")
    if view.figures is not None and view.running is not None:
        view.figures_age_s = round(view.running.figures_age_s, 1)
        view.figures_old = view.figures_age_s > OLD_SECONDS
    if view.figures_old:
        note = f"the figures are {view.figures_age_s:.0f} s old: the Core does not report"
        unknown = {"lag_s": None, "rows_per_s": None, "behind_bytes": None, "behind_transactions": None}
        figures = msgspec.structs.replace(figures, lag_note=note, **unknown)
    checkpoint = view.checkpoint
    view.position, view.gtid = figures.position, figures.gtid
    if checkpoint is not None:
        view.position = view.position or str(checkpoint.position)
        view.gtid = view.gtid or checkpoint.position.gtid
    view.rows, view.transactions, view.rows_per_s = figures.rows, figures.transactions, figures.rows_per_s
    view.lag_s, view.lag_at_most, view.lag_note = figures.lag_s, figures.lag_at_most, figures.lag_note
    view.behind_bytes, view.behind_transactions = figures.behind_bytes, figures.behind_transactions
    view.clock_skew_s, view.retention_headroom_s = figures.clock_skew_s, figures.retention_headroom_s
    view.source_shared, view.retrying = figures.source_shared, figures.retrying
    view.last_event_ms, view.checkpoint_ms = figures.last_event_ms, figures.checkpoint_ms


def _note(view: TaskOverview, error: CoordinationError) -> None:
    """Remembers what is wrong with a task; not being connected is not a fault of the task."""
    if error.transient:
        raise error
    view.problems.append(error.to_dict())
