"""Performs the actions that `decide` asks for."""

from __future__ import annotations

import contextlib
from collections import deque

import msgspec

from replicator.coordination.clock import now_ms
from replicator.coordination.leadership import fencing
from replicator.coordination.leadership.actions import (
    Action,
    AdoptConfig,
    Complete,
    ConfirmFencing,
    DrainWorker,
    Fail,
    KillWorker,
    Lose,
    OpenTerm,
    OrderCheck,
    Pause,
    Release,
    RemoveTask,
    Retry,
    Save,
    SetPosition,
    Stand,
    StartWorker,
    Stood,
    Sweep,
    Unconfigure,
    WatchPredecessor,
    Win,
    Withdraw,
)
from replicator.coordination.leadership.contender import Contender
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.epochs import opened, taken_over
from replicator.coordination.leadership.facts import (
    DRAIN_LIMIT,
    DRAIN_MOST,
    STOP_LIMIT,
    STOP_MOST,
    CheckOrder,
    WorkerFacts,
)
from replicator.coordination.leadership.state import Event, State
from replicator.coordination.leadership.view import TaskView
from replicator.coordination.ports import Delete
from replicator.coordination.records import CommitRecord, HistoryRecord
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commits, behind
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.registry import Registry
from replicator.errors import CoordinationError, LeadershipLost, NodeMissing, NotConnected, ProcessError
from replicator.model.checkpoint import Checkpoint, with_unseen
from replicator.model.finding import listed
from replicator.model.position import Position
from replicator.model.quarantine import Quarantined

MAX_NOTES = 100
"""Kept while they can't be written."""


class Steps:
    """Performs actions for a contender, which keeps the facts."""

    def __init__(self, owner: Contender) -> None:
        self._owner = owner
        coordinator, layout = owner.coordinator, owner.layout
        self._election = Election(coordinator, layout)
        self._commits = Commits(coordinator, layout)
        self._commands = Commands(coordinator, layout)
        self._history = History(coordinator, layout)
        self._registry = Registry(coordinator, layout)
        self._notes: deque[HistoryRecord] = deque(maxlen=MAX_NOTES)
        self._missed_at = self._drained_from = 0.0

    now_ms = staticmethod(now_ms)

    def rests(self, action: Action) -> bool:
        """A standby rests when the node it waits for is there to be watched."""
        if not isinstance(action, WatchPredecessor):
            return False
        owner = self._owner
        return owner.watch_node(owner.layout.contender(owner.task, action.name))

    def perform(self, action: Action) -> None:
        """Raises NotConnected, VersionConflict and what the coordinator refuses; the next view tells what was done."""
        match action:
            case Stand():
                record = self._owner.instance_record(State.STANDBY)
                self._election.stand(self._owner.task, self._owner.facts.guid, record)
            case Sweep(names):
                for name in names:
                    self._election.delete(self._owner.task, name)
            case Stood():
                own = self._view.own
                assert own is not None  # noqa: S101 - decided on it
                self._owner.move(Event.STOOD, czxid=own.czxid)
            case Win():
                self._missed_at = self._owner.clock()
                self._owner.move(Event.WON)
            case OpenTerm():
                self._open_term()
            case WatchPredecessor():
                pass  # gone already: the next view shows who is first
            case Withdraw() | Release() | Lose():
                self._end(action)
            case RemoveTask():
                with contextlib.suppress(ProcessError):
                    self._remove_task()
            case _:
                self._perform_leading(action)

    def _remove_task(self) -> None:
        """Under ACLs the Server alone may."""
        try:
            self._registry.remove(self._owner.task)
        except CoordinationError as error:
            if error.code != "E4007":
                raise

    def _perform_leading(self, action: Action) -> None:
        owner = self._owner
        match action:
            case StartWorker():
                self._start(action)
            case DrainWorker():
                self._drain(action)
            case KillWorker(reason):
                owner.workers.kill()
                self.note("failed", reason=f"worker killed: {reason}")
                owner.on_died()
            case Save(checkpoint):
                self._save(checkpoint)
            case AdoptConfig(config):
                assert owner.facts.worker is not None  # noqa: S101 - decided on it
                worker = msgspec.structs.replace(owner.facts.worker, config=config)
                owner.facts = msgspec.structs.replace(owner.facts, worker=worker)
            case Pause():
                owner.move(Event.PAUSE)
                held = self._view.held
                self.note("paused", reason=f"the source {held} is locked" if held else "")
            case Unconfigure():
                owner.move(Event.UNCONFIGURE)
            case Retry(kind, by, take_over, reason):
                if take_over:
                    self._take_over()
                event = Event.RETRY if owner.facts.opened else Event.REOPEN
                owner.move(event, failure=None, restart_at=0.0, fencings=())
                if kind != "configured":
                    taken = "take over" if take_over else ""
                    self.note(kind, by=by, reason=": ".join(part for part in (taken, reason) if part))
            case ConfirmFencing():
                self._confirm_fencing()
            case Fail(error):
                owner.fail(error)
            case SetPosition():
                self._set_position(action)
            case OrderCheck(path, order, by):
                owner.facts = msgspec.structs.replace(owner.facts, check=CheckOrder(order, by))
                self._commands.complete(path)
            case Complete(path, kind, reason, by):
                self._commands.complete(path)
                if kind != "retry":
                    self.note(kind, reason=reason, by=by)
            case _:
                raise ProcessError("E5011", f"no step implements {type(action).__name__}")

    def refused(self, action: Action, error: CoordinationError) -> None:
        """The coordinator said no, for a reason other than the connection. Most of it mends itself by reading again
        (a node came or went); what does not (no permission) must not spin."""
        if isinstance(error, LeadershipLost | NodeMissing) or error.code in ("E4005",):
            return
        if self._owner.leads or self._owner.state is State.WAITING:
            self._owner.fail(error.to_dict())
            return
        raise error

    # A term

    @property
    def _view(self) -> TaskView:
        assert self._owner.view is not None  # noqa: S101 - decisions follow a view
        return self._owner.view

    @property
    def _own(self) -> str:
        own = self._view.own
        assert own is not None  # noqa: S101 - decided on it
        return own.name

    def _record(self, checkpoint: Checkpoint | None, **more: object) -> CommitRecord:
        record = CommitRecord(
            epoch=self._owner.facts.czxid,
            checkpoint=checkpoint,
            session=self._view.session,
            timeout_s=self._view.timeout,
            uid=self._view.incarnation,
            host=self._owner.identity.host,
            above=self._owner.facts.above,
            previous=self._owner.facts.previous,
        )
        return msgspec.structs.replace(record, **more) if more else record

    def _open_term(self) -> None:
        before = self._view.commit
        above, previous = opened(before.record, self._owner.facts.czxid)
        record = self._record(before.checkpoint, above=above, previous=previous)
        commit = self._commits.write(self._owner.task, self._own, before, record)
        last = before.record
        if last is not None and last.epoch and not last.released and last.epoch != record.epoch:
            why = "its session ended" if self._owner.facts.memory.ended == last.epoch else "its znode is gone"
            self.note("lost", host=last.host, epoch=last.epoch, reason=f"{why}; {self._owner.identity.host} takes over")
        self._owner.move(
            Event.OPENED, opened=True, opened_zxid=commit.mzxid, checkpoint=None, above=above, previous=previous
        )

    def _take_over(self) -> None:
        """Durably, before anybody writes under the new epoch."""
        facts = self._owner.facts
        assert facts.failure is not None  # noqa: S101 - decided on it
        above = taken_over(facts.failure.epoch, facts.czxid, facts.above)
        known = self._view.commit.checkpoint
        record = self._record(with_unseen(known) if known else None, above=above, previous=above)
        self._commits.write(self._owner.task, self._own, self._view.commit, record)
        self._owner.facts = msgspec.structs.replace(facts, above=above, previous=above)

    def _confirm_fencing(self) -> None:
        """Raises LeadershipLost where our node is gone: then it was a later term of this election."""
        owner = self._owner
        facts, path = owner.facts, owner.layout.contender(owner.task, self._own)
        stat = owner.coordinator.confirm([path])[0]
        if stat is None or stat.czxid != facts.czxid:
            raise LeadershipLost("E4008", f"the election znode of this process for '{owner.task}' is gone")
        assert facts.fenced is not None  # noqa: S101 - decided on it
        error, epoch = facts.fenced.error, facts.fenced.epoch
        times = fencing.counted(facts.fencings, owner.clock())
        owner.facts = msgspec.structs.replace(facts, fenced=None, fencings=times)
        wait = fencing.pause(times)
        if epoch:
            owner.fail(error, epoch)
        elif wait is None:
            owner.fail(fencing.fenced_for_ever(owner.task, error))
        else:
            owner.facts = msgspec.structs.replace(owner.facts, restart_at=owner.clock() + wait)
            self.note("fenced", reason=f"{error.get('code', '')} {error.get('what', '')}")

    def _start(self, action: StartWorker) -> None:
        owner = self._owner
        self._drained_from = 0.0
        try:
            owner.workers.start(owner.leading(self._own), action.config, action.checkpoint)
        except ProcessError as error:
            if error.code == "E2207":
                owner.fail(error.to_dict())  # another task has the id: that does not mend itself
                return
            owner.move(Event.START, worker=WorkerFacts(action.config))
            owner.on_waiting(error.to_dict())  # another host may be able to
            owner.on_died()  # tried again, later and later
            return
        owner.move(Event.START, worker=WorkerFacts(action.config), failure=None)

    def _drain(self, action: DrainWorker) -> None:
        owner = self._owner
        worker = owner.facts.worker
        if worker is None:  # waiting to be started again: nothing to finish
            owner.move(Event.DRAIN)
            owner.move(Event.DRAINED)
            return
        now = owner.clock()
        limit, most = (STOP_LIMIT, STOP_MOST) if action.reason == "stop" else (DRAIN_LIMIT, DRAIN_MOST)
        until = worker.drain_until or now + limit
        last = min(worker.drain_most or now + most, now + most)
        draining = msgspec.structs.replace(worker, drain_reason=action.reason, drain_until=until, drain_most=last)
        if owner.state is State.DRAINING:
            owner.facts = msgspec.structs.replace(owner.facts, worker=draining)
            return
        self._drained_from = owner.clock()
        owner.workers.drain()
        owner.move(Event.DRAIN, worker=draining)

    def _save(self, checkpoint: Checkpoint) -> None:
        self._commits.write(self._owner.task, self._own, self._view.commit, self._record(checkpoint))

    def _set_position(self, action: SetPosition) -> None:
        checkpoint = msgspec.structs.replace(action.checkpoint, time_ms=now_ms())
        record = self._record(checkpoint)
        self._commits.write(self._owner.task, self._own, self._view.commit, record, (Delete(action.path),))
        self._owner.on_progress(checkpoint)
        self.note("position", reason=action.reason, by=action.by, position=str(checkpoint.position))

    def _end(self, action: Withdraw | Release | Lose) -> None:
        owner = self._owner
        owner.workers.kill()
        match action:
            case Release():
                self._release(action)
            case Withdraw(reason):
                self._election.withdraw(owner.task, owner.facts.guid)
            case Lose(reason) if owner.leads:
                self.note("lost", reason=reason)
        owner.reset()

    def _release(self, action: Release) -> None:
        record = self._record(self._last_checkpoint(), released=True, successor=action.successor)
        done = (action.command,) if action.command else ()
        self._commits.release(self._owner.task, self._own, self._view.commit, record, done)
        seconds = round(self._owner.clock() - self._drained_from, 3) if self._drained_from else 0.0
        if action.moved:
            self.note("switchover", reason=f"to {action.host}: {action.reason}", seconds=seconds)
        elif action.successor and not action.command:
            self.note("gave up", reason=f"{action.reason}; to {action.host}", seconds=seconds)
        elif action.command:
            why = f": {action.why}" if action.why else ""
            self.note("switchover", reason=f"to {action.host}{why}", by=action.by, seconds=seconds)
        else:
            self.note("released", reason=action.reason, seconds=seconds)

    def _last_checkpoint(self) -> Checkpoint | None:
        """The further of what the worker reported and what stands there."""
        known, stored = self._owner.facts.checkpoint, self._view.commit.checkpoint
        if known is None or (stored is not None and behind(known.position, stored.position)):
            return stored
        return known

    # History

    def note_running(self, position: str) -> None:
        """`seconds`: since we were first in line."""
        seconds = round(self._owner.clock() - self._missed_at, 3) if self._missed_at else 0.0
        self._missed_at = 0.0
        self.note("running", position=position, seconds=seconds)

    def note_quarantine(self, before: tuple[Quarantined, ...], now: tuple[Quarantined, ...]) -> None:
        """Tables that have stopped, and those that go on."""
        if now is before or now == before:
            return
        known = {(mark.table, mark.time_ms): mark for mark in before}
        for mark in now:
            old = known.get((mark.table, mark.time_ms))
            if old is None and mark.until is None:
                why = f": {mark.error.get('code', '')} {mark.error.get('what', '')}" if mark.error else ""
                self.note("quarantined", reason=f"{mark.table}{why}", position=str(mark.since))
            elif old is not None and old.until is None and mark.until is not None:
                self.note("flows again", reason=mark.table, position=str(mark.until))

    def note_snapshot(self, before: Position | None, now: Position) -> None:
        """One that was taken because the position was purged; and each consistent view, with the time of its lock."""
        taken, known = now.snapshot, before.snapshot if before is not None else None
        if taken is not None and taken.cut_open and (known is None or known.cut_ms != taken.cut_ms):
            again = f"; begun again, {taken.again} rows are delivered again" if taken.cuts > 1 else ""
            reason = f"{taken.id}: consistent view, writers locked for {taken.lock_ms:g} ms{again}"
            self.note("snapshot", reason=reason, position=taken.view)
        if taken is not None and taken.absent and (known is None or known.absent != taken.absent):
            reason = f"{taken.id}: no such table: {listed(taken.absent)}"
            self.note("snapshot", reason=reason, position=str(now))
        if taken is None or not taken.reason or (known is not None and known.begun_ms == taken.begun_ms):
            return
        self.note("snapshot", reason=f"{taken.id}: {taken.reason}", position=str(now))

    def note(
        self,
        kind: str,
        *,
        reason: str = "",
        by: str = "",
        host: str = "",
        epoch: int = 0,
        position: str = "",
        seconds: float = 0.0,
    ) -> None:
        """Remembers what happened; written at the end of the turn, so that nothing waits for it."""
        facts = self._owner.facts
        checkpoint = facts.checkpoint or (self._owner.view.commit.checkpoint if self._owner.view else None)
        self._notes.append(
            HistoryRecord(
                kind=kind,
                time_ms=now_ms(),
                host=host or self._owner.identity.host,
                instance=facts.guid,
                epoch=epoch or facts.czxid,
                position=position or (str(checkpoint.position) if checkpoint else ""),
                by=by,
                reason=reason,
                seconds=seconds,
                process=self._owner.identity.process,
            )
        )

    def forget_notes(self) -> None:
        """They are of an incarnation of the task that was deleted."""
        self._notes.clear()

    def write_notes(self) -> None:
        """What can't be written now is written by a later turn; a task that is gone has no history."""
        while self._notes:
            if self._owner.view is not None and not self._owner.view.exists:
                self._notes.clear()
                return
            try:
                self._history.append(self._owner.task, self._notes[0])
            except NotConnected:
                return
            except NodeMissing:
                self._notes.clear()  # deleted since the view was read
                return
            self._notes.popleft()
