"""Operations on tasks: decided here, written to ZooKeeper, and executed by the Cores."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import Any

from replicator.config.ddns import references
from replicator.config.identity import check_change
from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.coordination.addresses.book import AddressBook
from replicator.coordination.cached_overview import CachedOverview
from replicator.coordination.clock import now_ms
from replicator.coordination.installation import installation_id
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.machines.expected import ExpectedMachines
from replicator.coordination.machines.known import KnownMachine, all_online, known
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.overview import InstanceOverview, TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import CommandRecord, HistoryRecord
from replicator.coordination.sources.source_locks import SourceLocks
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.history import Entry, History
from replicator.coordination.tasks.maintenance import Maintenance
from replicator.coordination.tasks.orders import Ordered, OrdersStore
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.coordination.tasks.verifications import Verifications
from replicator.errors import ConfigError, CoordinationError, NodeExists, NodeMissing, ProcessError, VersionConflict
from replicator.model.quarantine import TaskOrders
from replicator.model.verification import VerificationReport
from replicator.telemetry.log import get_logger
from server.added_tables import orders_with
from server.edit_locks import EditLocks, lost

_POLL = 0.1
CHECKED = 5
"""Nodes that are read again in each round of the background work, to compare them with the cache."""
_log = get_logger("server")


class TaskOperations:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away, and NodeMissing E5003 for a task that is
    not there. What is read is kept under watches and asked for only when it changes; `max_age_s`: how old an answer may
    be, 0: everything that any Server acknowledged before is in it."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._coordinator, self._layout = coordinator, layout
        self._registry = Registry(coordinator, layout)
        self._overview = CachedOverview(coordinator, layout)
        self._status = Status(coordinator, layout)
        self._commands = Commands(coordinator, layout)
        self._history = History(coordinator, layout)
        self._maintenance = Maintenance(coordinator, layout)
        self._orders = OrdersStore(coordinator, layout)
        self._book = AddressBook(coordinator, layout)
        self._verifications = Verifications(coordinator, layout)
        self._stopped = StoppedCores(self._overview.cache, layout)
        self._stopped_agents = StoppedCores(self._overview.cache, layout, agents=True)
        self._expected = ExpectedMachines(self._overview.cache, layout)
        self.edits = EditLocks(coordinator, layout)

    # Reading

    def tasks(self, max_age_s: float = 0.0) -> list[TaskOverview]:
        self._overview.catch_up(max_age_s)
        return self._overview.tasks()

    def task(self, name: str, max_age_s: float = 0.0) -> TaskOverview:
        self._overview.catch_up(max_age_s)
        return self._overview.task(name)

    def history(self, name: str, limit: int) -> list[Entry]:
        self._registry.version(name)
        return self._history.read(name, limit)

    def machines(self, max_age_s: float = 0.0) -> list[MachineNode]:
        self._overview.catch_up(max_age_s)
        return self._overview.machines()

    def known_machines(self, max_age_s: float = 0.0) -> list[KnownMachine]:
        """Also those that are expected and not there."""
        online = all_online(self.machines(max_age_s), self._overview.agents())
        # Behind them: a Core that ends writes before its node goes, and one that starts after its node is there.
        stopped = self._stopped_agents.list() | self._stopped.list()
        return known(online, self._expected.list(), stopped, now_ms())

    def watch_reports(self) -> None:
        """See `Overview.watch_reports`."""
        self._overview.watch_reports()

    def check_cache(self) -> str:
        """See `TreeCache.check`. A fixed number of reads, whatever the number of tasks."""
        return self._overview.cache.check(CHECKED)

    def installation(self) -> str:
        """Raises CoordinationError E4009/E4010 where it can't be read."""
        return installation_id(self._coordinator, self._layout)

    # Configuration

    def create(
        self,
        config: TaskConfig,
        by: str,
        dry_run: bool = False,
        orders: TaskOrders | None = None,
        reason: str = "",
        visible: Callable[[Mapping[str, Any] | None], bool] = lambda config: True,
    ) -> None:
        """
        Args:
            orders: of tables that are left out from its beginning.
            visible: whether the login may see a task with this configuration. Any other task of the name is a name that
                is not available, whatever its state, and so is one that a Core has registered: its labels are not
                known, so that it is nobody's to take who is limited to some.

        Raises NodeExists E5004, ProcessError E5007 (a task of this name is being deleted), CoordinationError E4101 or
        E4102 (an address of the book that can't be used).
        """
        self._available(config.name, visible)
        with contextlib.suppress(NodeMissing):
            self._not_deleting(config.name)
        self._check_addresses(config, None)
        if dry_run:
            with contextlib.suppress(NodeMissing, CoordinationError):
                if self._registry.read(config.name).configured:
                    raise ProcessError("E5004", f"task '{config.name}' already exists")
            return
        try:
            self._registry.create(config.name, to_data(config), by, orders, reason, adopt=visible(None))
        except NodeExists:
            self._available(config.name, visible)  # it was created since
            raise
        self._note(config.name, "created", by, reason)

    def _available(self, name: str, visible: Callable[[Mapping[str, Any] | None], bool]) -> None:
        """Raises NodeExists E5004 for a name that a task has that is not visible."""
        try:
            config = self._registry.read(name).record.config
        except NodeMissing:
            return
        except CoordinationError as error:
            if error.transient:
                raise
            config = None
        if not visible(config):
            raise NodeExists("E5004", f"the name '{name}' is not available", fix="Use another name.")

    def replace(
        self,
        name: str,
        config: TaskConfig,
        by: str,
        version: int | None,
        dry_run: bool = False,
        reason: str = "",
        restores: int | None = None,
        edit_token: int | None = None,
    ) -> bool:
        """Writes a new configuration; False when it is the same already.

        Args:
            version: the caller's idea of the present version, or None to replace whatever is there. Either way nobody
                else's change in between is overwritten unseen.
            restores: number of the earlier version that `config` is, for a rollback.
            edit_token: of the lock to edit the task, under which alone it is written.

        Raises:
            VersionConflict: E4006.
            ConfigError: E1009 for what a task can't change.
            CoordinationError: E4101, E4102 for a new address of the book that can't be used; E4078, the lock is lost.
        """
        self._not_deleting(name)
        proof = self.edits.proof(name, edit_token) if edit_token is not None else ""
        present, old = self._present(name)
        if version is not None and version != present:
            raise _stale(name, present, version)
        if old is None and config.name != name:
            raise ConfigError(
                "E1009",
                "the name of a task can't be changed",
                found=repr(config.name),
                wanted=repr(name),
                fix=f"Set `name: {name}`, or create a task with the new name.",
            )
        if old is not None:
            check_change(old, config)
        if old == config:
            return False
        self._check_addresses(config, old)
        if not dry_run:
            ordered, told = orders_with(self.task(name), self._ordered(name), old, config, present + 1)
            self._configure(name, config, by, present, ordered, reason, restores, proof)
            rollback = "" if restores is None else f"rollback to version {restores}"
            self._note(name, "configured", by, ": ".join(part for part in (rollback, reason) if part))
            if told:
                self._note(name, "snapshot", by, told)
        return True

    def _configure(
        self,
        name: str,
        config: TaskConfig,
        by: str,
        present: int,
        ordered: Ordered | None,
        reason: str,
        restores: int | None,
        proof: str,
    ) -> None:
        try:
            self._registry.configure(
                name, to_data(config), by, present, ordered, reason=reason, restores=restores, proof=proof
            )
        except NodeMissing:
            if proof and self._coordinator.exists(proof) is None:
                raise lost(name, 0) from None
            raise

    def _check_addresses(self, config: TaskConfig, old: TaskConfig | None) -> None:
        """Those that the task has already are checked by its Core: a missing one must not prevent other changes."""
        known = set(references(to_data(old))) if old is not None else set()
        for section, name in references(to_data(config)):
            if (section, name) not in known:
                self._book.read(name).address  # noqa: B018 (raises)

    def _ordered(self, name: str) -> Ordered | None:
        """None for orders that nobody understands: they must not prevent a new configuration."""
        try:
            return self._orders.read(name)
        except CoordinationError as error:
            if error.transient:
                raise
            return None

    def _present(self, name: str) -> tuple[int, TaskConfig | None]:
        """The version, and the configuration unless there is none or nobody understands it."""
        try:
            node = self._registry.read(name)
        except NodeMissing:
            raise
        except CoordinationError as error:
            if error.transient:
                raise
            return self._registry.version(name), None
        try:
            return node.version, parse_task(node.record.config) if node.record.config is not None else None
        except ConfigError:
            return node.version, None

    # Tables in quarantine

    def orders(self, name: str) -> Ordered:
        """Raises CoordinationError E4009/E4010 where they can't be read."""
        self._not_deleting(name)
        return self._orders.read(name)

    def order(
        self,
        name: str,
        before: Ordered,
        orders: TaskOrders,
        by: str,
        what: str,
        kind: str = "quarantine",
        reason: str = "",
    ) -> None:
        """Writes orders, which the worker takes up at a transaction boundary. `kind`, `what`: of the history. Raises
        VersionConflict E4006 when they are not `before` any more."""
        self._orders.write(name, orders, before.version)
        self._note(name, kind, by, f"{what}: {reason}" if reason else what)

    # Steering

    def expect(self, name: str, version: int | None) -> None:
        """Raises VersionConflict E4006 unless `version` is that of the task's configuration; None: any."""
        present = self._registry.version(name)
        if version is not None and version != present:
            raise _stale(name, present, version)

    def pause(self, name: str, by: str, reason: str, dry_run: bool = False) -> None:
        self._desire(name, "paused", by, reason, dry_run)

    def resume(self, name: str, by: str, reason: str, dry_run: bool = False) -> None:
        self._desire(name, "running", by, reason, dry_run)

    def _desire(self, name: str, desired: str, by: str, reason: str, dry_run: bool) -> None:
        self._not_deleting(name)
        if not dry_run and (self._desired(name) != desired or self._in_cutover(name)):
            self._status.set(name, desired, by, reason)
            # the order, with who and why; the Core's own entry ("paused", "resumed") says when it came about
            self._note(name, "pause" if desired == "paused" else "resume", by, reason)

    def _in_cutover(self, name: str) -> bool:
        """Then an operator's order ends that."""
        try:
            return bool(self._status.read(name).cutover)
        except CoordinationError as error:
            if error.transient:
                raise
            return False

    def retry(
        self, name: str, by: str, take_over: bool = False, reason: str = "", dry_run: bool = False
    ) -> CommandRecord | None:
        """take_over: the sink's position, which is of a term that ZooKeeper does not know, is the task's own; dry_run:
        no command.

        Raises ProcessError E5007 unless the task is FAILED, and with `take_over` unless that is why.
        """
        self._not_deleting(name)
        view = self.task(name)
        if view.state != State.FAILED.value:
            raise ProcessError(
                "E5007",
                f"task '{name}' has not failed",
                found=view.state,
                wanted="failed",
                fix=f"None required: only a failed task is retried. `replicator task describe {name}` shows its state.",
            )
        codes = [problem.get("code", "") for problem in view.problems]
        if take_over and "E3111" not in codes:
            found = ", ".join(code for code in codes if code) or "nothing"
            raise ProcessError(
                "E5007",
                f"task '{name}' has no position to take over",
                found=found,
                wanted="E3111",
                fix=f"Omit --take-over: `replicator task retry {name}`.",
            )
        if dry_run:
            return None
        arguments = {"take_over": "true" if take_over else "", "reason": reason}
        return self._commands.submit(name, "retry", {key: value for key, value in arguments.items() if value}, by)

    def restart(self, name: str, by: str, reason: str = "", dry_run: bool = False) -> CommandRecord | None:
        """Lets the RUNNING instance end its worker at a transaction boundary and start another one; dry_run: no
        command. Raises ProcessError E5007 unless the task runs or is about to."""
        self._not_deleting(name)
        view = self.task(name)
        running = (State.RUNNING.value, State.STARTING.value, State.DRAINING.value)
        if view.desired != "running" or view.state not in running:
            failed = view.state == State.FAILED.value
            command = f"`replicator task retry {name}`" if failed else f"`replicator task resume {name}`"
            raise ProcessError(
                "E5007",
                f"task '{name}' has no worker to restart",
                found=f"{view.state}, and {view.desired} is wanted",
                wanted="running",
                fix=f"{command} starts it; `replicator task describe {name}` shows its state.",
            )
        if dry_run:
            return None
        return self._commands.submit(name, "restart", {"reason": reason} if reason else {}, by)

    def maintenance(self, name: str, on: bool, by: str, reason: str) -> None:
        """RUNNING stays and nobody is promoted, for one task or, with "", for all; or that is over."""
        if name:
            self._not_deleting(name)
        changed = self._maintenance.begin(name, by, reason) if on else self._maintenance.end(name)
        for task in [name] if name else self._registry.names():
            if changed:
                self._note(task, "maintenance", by, f"{'on' if on else 'off'}{': ' + reason if reason else ''}")

    def switchover(
        self, name: str, to: str, by: str, dry_run: bool = False, reason: str = ""
    ) -> tuple[CommandRecord | None, str]:
        """Asks the RUNNING instance to give way. Returns the command and the host that will take over.

        Args:
            to: host of a standby, or "" for the next in line.
            dry_run: only say who would take over; no command.

        Raises:
            ProcessError: E5007 when the task is not running, or nobody healthy could take over.
        """
        self._not_deleting(name)
        view = self.task(name)
        if view.desired != "running" or view.state != State.RUNNING.value:
            found = f"{view.state}, and {view.desired} is wanted"
            raise ProcessError("E5007", f"task '{name}' is not running", found=found, wanted="running")
        if view.maintenance:
            found = f"maintenance of the {view.maintenance}"
            whose = "--all" if view.maintenance == "cluster" else name
            fix = f"`replicator task resume --maintenance {whose}` first."
            raise ProcessError("E5007", f"no standby of '{name}' may be promoted", found=found, fix=fix)
        target = _target(view, to)
        if dry_run:
            return None, target.host
        arguments = {"to": target.guid if to else "", "host": to, **({"reason": reason} if reason else {})}
        record = self._commands.submit(name, "switchover", arguments, by)
        return record, target.host

    # Verification

    def verified(self, name: str, report: VerificationReport, by: str) -> None:
        """Raises ProcessError E5040, the report is not of the present task; E5007; VersionConflict E4006."""
        self._not_deleting(name)
        self._verifications.add(name, report, by)

    # Deletion

    def delete(
        self, name: str, by: str, wait: float, reason: str = "", *, purge: bool = False, version: int | None = None
    ) -> bool:
        """Lets the Cores withdraw, then removes the task. False when some still stand after `wait` seconds: the master
        goes on by itself (`sweep`). `purge`: a later task of the name ignores the position that it leaves at its
        sink. `version`: of the configuration that is deleted, None for any. Raises VersionConflict E4006."""
        self._status.set(name, "deleted", by, reason, purge=purge, version=version)
        _log.info("deletion ordered", task=name, by=by, reason=reason, purge=purge)  # the history goes with the task
        deadline = time.monotonic() + wait
        while not self._removed(name):
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL)
        return True

    def _removed(self, name: str) -> bool:
        """Also when somebody else removed it: a task of the name that is there now was created since."""
        try:
            self._registry.remove(name)
        except ProcessError:
            return False
        return True

    def sweep(self) -> None:
        """Finishes deletions whose Server went away or gave up waiting. Done by the master; harmless twice."""
        for name in self._overview.names():
            with contextlib.suppress(CoordinationError):
                if self._overview.deleted(name):
                    self._removed(name)

    def end_source_locks(self) -> list[str]:
        """Of sources that were locked for a time, which is over. Done by the master; harmless twice."""
        return SourceLocks(self._coordinator, self._layout).expire(now_ms())

    def _not_deleting(self, name: str) -> None:
        self._registry.version(name)
        if self._desired(name) == "deleted":
            raise ProcessError("E5007", f"task '{name}' is being deleted", fix="Wait until the deletion has finished.")

    def _desired(self, name: str) -> str:
        """ "" for a status that nobody understands: whatever is wanted next replaces it."""
        try:
            return self._status.read(name).desired
        except CoordinationError as error:
            if error.transient:
                raise
            return ""

    def _note(self, name: str, kind: str, by: str, reason: str = "", **more: Any) -> None:
        """The deed is done: an entry that can't be written must not make it look undone."""
        with contextlib.suppress(CoordinationError):
            self._history.append(name, HistoryRecord(kind=kind, time_ms=now_ms(), by=by, reason=reason, **more))


def _stale(name: str, present: int, version: int) -> VersionConflict:
    what = f"task '{name}' was changed by another process"
    return VersionConflict("E4006", what, found=f"version {present}", wanted=f"{version}")


def _target(view: TaskOverview, to: str) -> InstanceOverview:
    """The standby that will take over. Raises ProcessError E5007 with the reason."""
    healthy = [one for one in view.standbys if one.machine and one.state == State.STANDBY.value]
    hosts = ", ".join(one.host for one in healthy) or "none"
    if to and to == view.host:
        raise ProcessError(
            "E5007", f"task '{view.name}' already runs on '{to}'", found=f"standbys: {hosts}", fix="None required."
        )
    for one in healthy:
        if to in ("", one.host):
            return one
    if to:
        raise ProcessError(
            "E5007",
            f"'{to}' is not a healthy standby of '{view.name}'",
            found=f"healthy standbys: {hosts}",
            fix=f"Choose one of them: `replicator task switchover {view.name} --to HOST`.",
        )
    raise ProcessError(
        "E5007",
        f"task '{view.name}' has no healthy standby",
        found=f"healthy standbys: {hosts}",
        wanted="at least one",
        fix="Start another Core: replicator core --zookeeper ...",
    )
