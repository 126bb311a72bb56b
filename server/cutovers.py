"""Cut-overs: orders of operators, and the thread that carries them out."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.cutovers.cutover_records import OVER, CutoverRecord, Party
from replicator.coordination.cutovers.decision import Seen, decide, source_of
from replicator.coordination.cutovers.store import CutoverNode, Cutovers
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.state import State
from replicator.coordination.overview import TaskOverview
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.locks import Locks
from replicator.coordination.sources.source_locks import sources_of
from replicator.coordination.tasks.status import Status
from replicator.errors import CoordinationError, NodeMissing, NotConnected, ProcessError, VersionConflict
from replicator.model.principal import Principal
from replicator.model.snapshot_orders import is_open
from replicator.telemetry.log import get_logger
from server import task_scope
from server.task_operations import TaskOperations

MOST_SECONDS: Final = 86_400
_IDLE, _ACTIVE = 1.0, 0.1
_TRIES: Final = 3
_log = get_logger("server")


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """An order. timeout_s: within which all tasks have to have stopped; resume, keep: see `CutoverRecord`."""

    tasks: tuple[str, ...]
    timeout_s: float
    resume: bool
    keep: bool
    reason: str


def obstacle(view: TaskOverview) -> str:
    """Why a task can't take part in a cut-over, "" where it can. Pure."""
    if view.desired != "running":
        return f"it is to be {view.desired}" + (f", by {view.desired_by}" if view.desired_by else "")
    if view.state != State.RUNNING.value:
        return _error(view) or f"it is {view.state}"
    if view.checkpoint is None or view.checkpoint.position.begin is not None:
        return "it has no position yet"
    if is_open(view.checkpoint.position.snapshot):
        return "its snapshot is not complete"
    if view.checkpoint.position.catch_up is not None:
        return "it delivers rows that a quarantine has left out"
    if ((view.config or {}).get("source") or {}).get("until") is not None:
        return "it has an end (source.until)"
    return ""


class CutoverOperations:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout, tasks: TaskOperations) -> None:
        self._coordinator, self._layout, self._tasks = coordinator, layout, tasks
        self._store, self._status = Cutovers(coordinator, layout), Status(coordinator, layout)
        self.begun = threading.Event()
        """Set when there is something to do for the driver."""

    def begin(self, wanted: Wanted, by: str, login: Principal, *, dry_run: bool) -> CutoverNode:
        """Orders all tasks to stop, in one transaction. With `dry_run` the answer has the problem of each task, and
        the id "".

        Raises NodeMissing E5003; ProcessError E5150, tasks can't take part; VersionConflict E4006.
        """
        for _ in range(_TRIES):
            views = {view.name: view for view in self._tasks.tasks() if task_scope.includes(login, view.config)}
            missing = [name for name in wanted.tasks if name not in views]
            if missing:
                raise NodeMissing("E5003", f"there is no task '{missing[0]}'")
            chosen = [views[name] for name in dict.fromkeys(wanted.tasks)]
            record = _record(wanted, chosen, by)
            if dry_run:
                return CutoverNode("", record, -1)
            refused = [f"{party.task}: {party.problem}" for party in record.parties if party.problem]
            if refused:
                raise ProcessError("E5150", "the tasks can't be stopped together", found="; ".join(refused)[:1000])
            try:
                id_ = self._store.begin(record, {view.name: self._expected(view) for view in chosen})
            except (VersionConflict, NodeMissing):
                continue  # a task was changed in between: looked at again
            self.begun.set()
            return self.read(id_, login)
        raise VersionConflict("E4006", "the tasks were changed by others during each attempt")

    def _expected(self, view: TaskOverview) -> int:
        """Version of its status, which is the one that was looked at. Raises VersionConflict, NodeMissing."""
        stat = self._coordinator.exists(self._layout.status(view.name))
        if stat is None:
            raise NodeMissing("E5003", f"there is no task '{view.name}'")
        record = self._status.read(view.name)
        if (record.desired, record.time_ms) != ("running", view.desired_ms):
            raise VersionConflict("E4006", f"the status of '{view.name}' was changed by another process")
        return stat.version

    def list(self, login: Principal) -> Sequence[CutoverNode]:
        """The newest first; of a login with a selector those whose tasks it sees."""
        found = []
        for name in reversed(self._store.names()):
            node = self._read(name)
            if node is not None and self._visible(node, login):
                found.append(node)
        return found

    def read(self, id_: str, login: Principal) -> CutoverNode:
        """Raises NodeMissing E5153."""
        node = self._read(id_)
        if node is None or not self._visible(node, login):
            raise NodeMissing("E5153", f"there is no cut-over '{id_[:60]}'")
        return node

    def cancel(self, id_: str, by: str, login: Principal) -> CutoverNode:
        """Raises NodeMissing E5153; ProcessError E5154, it is over."""
        for _ in range(_TRIES):
            node = self.read(id_, login)
            if node.record.phase in OVER:
                raise ProcessError("E5154", f"the cut-over '{id_}' is over", found=node.record.phase)
            try:
                self._store.cancel(node, by)
            except VersionConflict:
                continue
            self.begun.set()
            return self.read(id_, login)
        raise VersionConflict("E4006", f"the cut-over '{id_}' was changed during each attempt")

    def _read(self, id_: str) -> CutoverNode | None:
        try:
            return self._store.find(id_)
        except CoordinationError as error:
            if error.transient:
                raise
            return None

    def _visible(self, node: CutoverNode, login: Principal) -> bool:
        if not login.selector:
            return True
        views = {view.name: view for view in self._tasks.tasks(1.0)}
        names = [party.task for party in node.record.parties]
        return all(name in views and task_scope.includes(login, views[name].config) for name in names)


def _record(wanted: Wanted, views: Sequence[TaskOverview], by: str) -> CutoverRecord:
    now = now_ms()
    return CutoverRecord(
        by=by,
        reason=wanted.reason,
        began_ms=now,
        deadline_ms=now + int(wanted.timeout_s * 1000),
        resume=wanted.resume,
        keep=wanted.keep,
        parties=tuple(
            Party(
                task=view.name,
                uid=view.uid,
                state=view.state,
                source=source_of(view.name, _seen_before(view)),
                problem=obstacle(view),
            )
            for view in views
        ),
    )


def _seen_before(view: TaskOverview) -> Seen:
    position = view.checkpoint.position if view.checkpoint is not None else None
    return Seen(ours=False, uid=view.uid, position=position, source=_source(view))


def _source(view: TaskOverview) -> str:
    kind = ((view.config or {}).get("source") or {}).get("type")
    return f"{kind} {', '.join(sorted(sources_of(view.config)))}" if kind in ("mysql", "mariadb") else ""


def _error(view: TaskOverview) -> str:
    problem = view.problems[0] if view.state == State.FAILED.value and view.problems else {}
    return f"{problem.get('code', '')} {problem.get('what', '')}".strip()


class CutoverDriver:
    """A separate thread between `start` and `stop`. Each Server has one; a lock per cut-over decides which of them
    carries it out, and each step is written under it, so that another one continues where a Server has ended."""

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        tasks: TaskOperations,
        owner: Owner,
        begun: threading.Event | None = None,
        now: Callable[[], int] = now_ms,
    ) -> None:
        self._layout, self._tasks, self._now = layout, tasks, now
        self._store = Cutovers(coordinator, layout)
        self._locks = Locks(coordinator, layout, owner)
        self._held: dict[str, Hold] = {}
        self._over: set[str] = set()
        self._begun = begun or threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="cutovers", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopping.set()
        self._begun.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stopping.is_set():
            active = False
            try:
                active = self.turn()
            except NotConnected:
                pass  # the next turn continues
            except CoordinationError as error:
                _log.warning("a cut-over can't be continued", code=error.code, error=str(error))
            self._begun.wait(_ACTIVE if active else _IDLE)
            self._begun.clear()
        self._locks.close()

    def turn(self) -> bool:
        """One look at all that are not over. False: there is none for this Server. Raises NotConnected."""
        names = self._store.names()
        self._over &= set(names)
        for name in names:
            if name not in self._over:
                self._continue(name)
        self._locks.keep()
        return bool(self._held)

    def _continue(self, name: str) -> None:
        node = self._store.find(name)
        if node is None or node.record.phase in OVER:
            self._end(name)
            return
        hold = self._held.get(name) or self._acquire(name)
        if hold is None:
            return
        if not hold.valid():
            self._locks.release(self._held.pop(name))
            return
        step = decide(node.record, self._seen(node), self._now())
        if step is not None and self._store.advance(node, step, hold.paths[0]):
            record = step.record
            _log.info("cut-over", id=name, phase=record.phase, found=record.found, tasks=len(record.parties))
            if record.phase in OVER:
                self._end(name)
                self._store.trim()

    def _acquire(self, name: str) -> Hold | None:
        base = self._layout.lock(f"cutover/{name}")
        try:
            hold = self._locks.acquire_at(base, f"the cut-over '{name}'", "exclusive", 0)
        except CoordinationError as error:
            if error.code != "E4070":
                raise
            return None
        self._held[name] = hold
        return hold

    def _end(self, name: str) -> None:
        self._over.add(name)
        hold = self._held.pop(name, None)
        if hold is not None:
            self._locks.release(hold)

    def _seen(self, node: CutoverNode) -> dict[str, Seen]:
        views = {view.name: view for view in self._tasks.tasks()}
        found = [views[party.task] for party in node.record.parties if party.task in views]
        told = [(view.name, view.uid, view.state, _error(view), _source(view)) for view in found]
        return self._store.seen(node.id, told)
