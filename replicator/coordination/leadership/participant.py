"""One Core's participation in one task: reads the view, decides and acts until no action is left.

No threads, no clock of its own, no kazoo: the agent drives it with real workers and a real ZooKeeper, the Hypothesis
state machine with simulated ones. All calls come from one thread.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from replicator.coordination.groups.candidacy import Candidacy
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.actions import Action, Hold, OpenTerm, Stand, WatchPredecessor, Win
from replicator.coordination.leadership.contender import Identity, Leading, Workers
from replicator.coordination.leadership.decision import decide
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.epochs import sink_epoch
from replicator.coordination.leadership.facts import DRAIN_LIMIT, STOP_LIMIT, Facts, Failure, Fenced, Stuck
from replicator.coordination.leadership.grace import remember
from replicator.coordination.leadership.host_faults import due, told
from replicator.coordination.leadership.moving import leaves, stands
from replicator.coordination.leadership.progress_lease import side_of
from replicator.coordination.leadership.state import LEADING, Event, State, step
from replicator.coordination.leadership.steps import Steps
from replicator.coordination.leadership.view import Problem, TaskView, Tried, Validate, ViewReader
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import InstanceRecord
from replicator.coordination.watches import Watches
from replicator.errors import CoordinationError, NodeMissing, NotConnected, VersionConflict
from replicator.model.checkpoint import Checkpoint

MAX_STEPS = 20
"""Of one turn. More would mean that two decisions undo each other; the next turn is then a second away."""
BACK_OFF = (0.2, 30.0)
"""Seconds before a worker that died is started again: the first and the longest; doubled each time."""
_STARTS_SECONDS = 1.0
DEATHS = 3
"""Deaths of workers between which nothing is acknowledged, after which the host counts as unable to run the task."""


class Participant:
    """Args:
    task: name of the task.
    workers: runs this task's worker.
    clock: monotonic seconds.
    validate: checks configurations.
    wake: called from any thread when a watch says that a turn is due; must not block.
    """

    def __init__(
        self,
        coordinator: Coordinator,
        layout: Layout,
        task: str,
        identity: Identity,
        workers: Workers,
        clock: Callable[[], float],
        validate: Validate,
        wake: Callable[[], None] = lambda: None,
        new_guid: Callable[[], str] = lambda: uuid.uuid4().hex,
        kept: Coordinator | None = None,
    ) -> None:
        self.task = task
        self.identity = identity
        self.facts = Facts(guid=new_guid())
        self.view: TaskView | None = None
        self.since = 0.0
        """Monotonic time at which the state was entered."""
        self.hold_until = 0.0
        """Monotonic time of the next turn that a decision asked for; 0.0 for none."""
        self.coordinator = coordinator
        self.layout = layout
        self.workers = workers
        self.clock = clock
        self._new_guid = new_guid
        self._election = Election(coordinator, layout)
        self._reader = ViewReader(coordinator, layout, task, validate, kept)
        self._caches = kept is not None
        self._steps = Steps(self)
        self._wake = wake
        self._watches = Watches(wake)
        self._ends = Watches(self._on_end)
        self._expects_deed = False
        self._deaths = 0
        self._deaths_in_vain = 0
        self._looked_around = 0.0
        self._tried: tuple[Tried, ...] = ()
        self._described: tuple[str, State] | None = None

    # Turns

    @property
    def state(self) -> State:
        return self.facts.state

    @property
    def leads(self) -> bool:
        return self.facts.state in LEADING

    @property
    def calm(self) -> bool:
        """Whether nothing is to be decided until a watch fires, the worker says something, or an order comes."""
        facts = self.facts
        troubled = facts.stuck or facts.failure or facts.restart_at or facts.fenced or self.hold_until
        streams = facts.worker is not None and facts.worker.streaming
        elsewhere = self.gone and self.view is not None and not stands(facts, self.view)
        waits = facts.state in (State.STANDBY, State.PAUSED) or (facts.state is State.RUNNING and streams)
        return not (troubled or self.leaves) and (waits or elsewhere)

    def turn(self) -> None:
        """Reads, decides and acts until there is nothing left to do now.

        Raises NotConnected: what was not done is decided anew by the next turn.
        """
        self.hold_until = 0.0
        for _ in range(MAX_STEPS):
            actions = self._decided()
            if all(self._rests(action) for action in actions):
                break
            self._perform(actions)
        else:
            self.hold_until = self.clock() + 1.0
        self._describe()
        self._steps.write_notes()

    def _decided(self) -> list[Action]:
        """A view from the cache decides only that there is nothing to do: a watch that is late must not let a task be
        handed over in a maintenance, or a worker start that was paused. To be first in line writes nothing: what
        follows from it is decided on the same view."""
        failing = self.leads and due(self.facts, self._looked_around, self.clock())
        exact, self._expects_deed = not self._caches or self._expects_deed, False
        actions = decide(self.facts, view := self._read(failing, exact=exact), self.clock())
        if not exact and not all(isinstance(action, Hold | WatchPredecessor) for action in actions):
            actions = decide(self.facts, view := self._read(failing, exact=True), self.clock())
        if actions == [Win()]:
            self._perform(actions)
            actions = decide(self.facts, view, self.clock())
        self._expects_deed = any(isinstance(action, Stand | OpenTerm) for action in actions)
        return actions

    def _rests(self, action: Action) -> bool:
        """True for actions after which nothing new is to be decided at once."""
        if isinstance(action, Hold):
            self.hold_until = action.until
            return True
        return self._steps.rests(action)

    def _perform(self, actions: list[Action]) -> None:
        for action in actions:
            try:
                self._steps.perform(action)
            except NotConnected:
                raise
            except VersionConflict:
                return  # another process wrote in between: read again and decide again
            except CoordinationError as error:
                self._steps.refused(action, error)
                return

    def _read(self, failing: bool, *, exact: bool) -> TaskView:
        facts = self.facts
        stuck = facts.stuck.side if facts.stuck and self.leads else ""
        moving = self.leads and facts.candidacy.may_move
        view = self._reader.read(
            facts.guid, self._watches, self.leads, not self.leads, stuck, failing, moving, exact=exact
        )
        now = self.clock()
        if view.uid and facts.memory.uid and view.uid != facts.memory.uid:
            facts = msgspec.structs.replace(facts, good=None, checkpoint=None, failure=None)
            self._steps.forget_notes()
        self.facts = msgspec.structs.replace(
            facts, memory=remember(facts.memory, view, now, facts.candidacy.ended), good=view.config or facts.good
        )
        self.view = view
        if failing:
            self._looked_around, self._tried = now, view.tried
        if view.own is not None:
            self.watch_node(self.layout.contender(self.task, view.own.name))
        return view

    def watch_node(self, path: str) -> bool:
        """Watches for the end of an ephemeral node. False when it is gone already.

        It has no children, so this watch fires at nothing else: one of its data would wake us, and whoever stands
        behind us, each time that we describe our state in it.
        """
        with contextlib.suppress(NodeMissing), self._ends.on("children", path) as watcher:
            if watcher is not None:
                self.coordinator.children(path, watcher)
            return True
        return False

    def _on_end(self) -> None:
        """From any thread. Something follows from it, so the next view is an exact one at once."""
        self._expects_deed = True
        self._wake()

    def _describe(self) -> None:
        """Our state, for people, in our own node; that a worker starts only where it takes its time."""
        view = self.view
        if self.state is State.STARTING and self.clock() - self.since < _STARTS_SECONDS:
            return
        if view is None or view.own is None or self._described == (view.own.name, self.state):
            return
        if view.own.record is None or view.own.record.state != self.state.value:
            self._election.describe(self.task, view.own.name, self.instance_record())
        self._described = (view.own.name, self.state)

    def leading(self, name: str) -> Leading:
        """Our term, under the node of that name."""
        facts, uid = self.facts, self.view.incarnation if self.view else ""
        epoch = sink_epoch(facts.czxid, facts.above)
        return Leading(name, facts.czxid, uid, epoch, facts.previous or None, facts.above)

    def instance_record(self, state: State | None = None) -> InstanceRecord:
        own = self.view.own if self.view else None
        since = own.record.since_ms if own and own.record else self._steps.now_ms()
        return InstanceRecord(
            host=self.identity.host,
            pid=self.identity.pid,
            process=self.identity.process,
            since_ms=since,
            state=(state or self.state).value,
            timeout_s=self.coordinator.session_timeout,
            group=self.facts.candidacy.group,
        )

    def move(self, event: Event, **changes: Any) -> None:
        """One transition, together with the facts that change with it."""
        state = step(self.facts.state, event)
        if state is not self.facts.state:
            self.since = self.clock()
        self.facts = msgspec.structs.replace(self.facts, state=state, **changes)

    # What the worker and the session tell

    def on_streaming(self, position: str) -> None:
        worker = self.facts.worker
        if worker is None:
            return
        first, stuck = self.facts.state is State.STARTING, self.facts.stuck
        # A host that has no room, or no schema registry, reaches its source each time, and delivers nothing.
        lacking = stuck if stuck is not None and stuck.until_progress else None
        self.move(Event.STREAMING, worker=msgspec.structs.replace(worker, streaming=True), stuck=lacking)
        self._deaths = 0
        if first:
            self._steps.note_running(position)

    def on_waiting(self, error: Problem) -> None:
        """The worker tries again and again. Only what another host may reach, or have, makes it stuck."""
        code = error.get("code", "")
        side = side_of(code)
        if side is None or self.facts.worker is None:
            return
        known = self.facts.stuck
        if known is None or known.side != side:
            self.facts = msgspec.structs.replace(self.facts, stuck=Stuck(side, self.clock(), code))

    def on_progress(self, checkpoint: Checkpoint) -> None:
        known = self.facts.checkpoint or (self.view.commit.checkpoint if self.view else None)
        self._steps.note_quarantine(known.quarantined if known else (), checkpoint.quarantined)
        self._steps.note_snapshot(known.position if known else None, checkpoint.position)
        if known is None or known.position != checkpoint.position:
            self.on_acknowledged()
        self.facts = msgspec.structs.replace(self.facts, checkpoint=checkpoint)

    def on_acknowledged(self) -> None:
        """The sink acknowledges something: a worker that drains gets its time anew, and a host lacks nothing."""
        worker, stuck = self.facts.worker, self.facts.stuck
        self._deaths_in_vain = 0
        if stuck is not None and stuck.until_progress:
            self.facts = msgspec.structs.replace(self.facts, stuck=None)
        if worker is not None and worker.drain_reason:
            limit = STOP_LIMIT if worker.drain_reason == "stop" else DRAIN_LIMIT
            until = max(worker.drain_until, min(self.clock() + limit, worker.drain_most))
            self.facts = msgspec.structs.replace(self.facts, worker=msgspec.structs.replace(worker, drain_until=until))

    def on_drained(self, checkpoint: Checkpoint | None) -> None:
        if self.facts.worker is None:
            return
        if self.facts.state is not State.DRAINING:
            if self.facts.worker.config.until is None:
                self.on_died()
                return
            self.move(Event.DRAIN)  # it has reached the position that it was started for
        self.move(Event.DRAINED, worker=None, checkpoint=checkpoint or self.facts.checkpoint)

    def on_died(self) -> None:
        """The worker is gone without a word. In a drain that is an end like another: what it delivered is known."""
        if self.facts.worker is None:
            return
        wait = min(BACK_OFF[0] * 2**self._deaths, BACK_OFF[1])
        self._deaths += 1
        self._deaths_in_vain += 1
        if self._deaths_in_vain >= DEATHS:
            self.on_waiting({"code": "E5008"})
        self.move(Event.DIED, worker=None, restart_at=self.clock() + wait)

    def on_lease_over(self) -> None:
        """The worker stopped because its lease was over, and our node may stand all the same (the connection came
        back in time): the same term goes on when a lease is confirmed again."""
        if self.facts.worker is not None:
            self.move(Event.DIED, worker=None, restart_at=self.clock())

    def on_outdated(self) -> None:
        """A new address has passed the checks: the worker ends at a transaction boundary, and another one starts."""
        if self.facts.worker is not None:
            self.facts = msgspec.structs.replace(
                self.facts, worker=msgspec.structs.replace(self.facts.worker, outdated=True)
            )

    def on_address_refused(self) -> None:
        """A worker that was started on trial has ended: another one starts at the former address."""
        if self.facts.worker is not None:
            self.move(Event.DIED, worker=None, restart_at=self.clock())

    def note(self, kind: str, reason: str) -> None:
        """An entry of the history, written at the end of the turn."""
        self._steps.note(kind, reason=reason)

    def on_fenced(self, error: Problem, epoch: int = 0) -> None:
        """The sink knows of a term that is not ours; `epoch`: which, 0: it does not say. Our own node says what that
        means, and the next turn asks for it."""
        if self.facts.worker is not None:
            self.move(Event.DIED, worker=None, fenced=Fenced(error, epoch))

    def on_failed(self, error: Problem) -> None:
        if self.facts.worker is not None:
            self.fail(error)

    def fail(self, error: Problem, epoch: int = 0) -> None:
        seen = self.view
        config, orders = (seen.config_version, seen.orders_version) if seen else (-1, -1)
        failure = Failure(error, config, self.clock(), orders, epoch, seen.wanted_addresses if seen else ())
        if self.facts.worker is not None:
            self.workers.kill()
        if self.state is State.FAILED:
            self.facts = msgspec.structs.replace(self.facts, failure=failure)
            return
        self.move(Event.FAIL, worker=None, failure=failure)
        self._steps.note("failed", reason=f"{error['code']} {error['what']}")

    def on_session_lost(self) -> None:
        """All of our nodes are gone with the session. A new identity joins at the back."""
        self.workers.kill()
        self.reset()
        self._watches.clear()
        self._ends.clear()

    def place(self, candidacy: Candidacy) -> bool:
        """What the group says of the task. True when that has changed."""
        changed = candidacy != self.facts.candidacy
        self.facts = msgspec.structs.replace(self.facts, candidacy=candidacy)
        return changed

    @property
    def leaves(self) -> bool:
        """It leads, and is to hand over."""
        return self.view is not None and self.leads and leaves(self.facts, self.view)

    @property
    def moves(self) -> bool:
        """Its worker drains in order to hand over."""
        return self.facts.worker is not None and self.facts.worker.drain_reason == "move"

    def stop(self) -> None:
        """The process ends: turns from now on drain, release and withdraw."""
        self.facts = msgspec.structs.replace(self.facts, stopping=True)

    @property
    def problem(self) -> Problem | None:
        """Why the task is FAILED here, and on other hosts before."""
        failure = self.facts.failure
        return told(failure.error, self._tried, self.identity.process) if failure is not None else None

    @property
    def drains_until(self) -> float:
        """Monotonic time up to which the worker may drain; 0.0 when none does."""
        worker = self.facts.worker
        return worker.drain_until if worker is not None else 0.0

    @property
    def gone(self) -> bool:
        """None of our znodes exists any more."""
        return self.facts.state is State.ABSENT

    def reset(self) -> None:
        """Back to the start, with a new identity. The worker is dead."""
        self.move(Event.WITHDRAWN)
        self.facts = Facts(
            guid=self._new_guid(),
            good=self.facts.good,
            stopping=self.facts.stopping,
            candidacy=self.facts.candidacy,
            memory=self.facts.memory,
        )
        self.hold_until = 0.0
        self._deaths = self._deaths_in_vain = 0
