"""The leadership contract under arbitrary faults, in arbitrary order, on a fake clock.

Whatever happens: never two Cores that could emit at the same moment, no transaction skipped, epochs only rise, the
stored position never moves back, exactly-once delivery commits each transaction once and in order, maintenance promotes
nobody and leaves RUNNING alone, and hand-overs because of a source or a sink are bounded per hour. In the end, when the
faults stop, somebody leads, and a released task goes to each contender in the order of the line, at once.

PROVE=5000 tries so many examples.
"""

from __future__ import annotations

import contextlib
import os
from typing import Final

import msgspec
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from replicator.coordination.leadership import fencing, steps, view
from replicator.coordination.leadership.election import Election
from replicator.coordination.leadership.progress_lease import MOST
from replicator.coordination.leadership.state import State
from replicator.coordination.leadership.view import HOUR_MS
from replicator.coordination.ports import Connection
from replicator.coordination.tasks.commands import Commands
from replicator.coordination.tasks.commits import Commits
from replicator.coordination.tasks.history import History
from replicator.coordination.tasks.maintenance import Maintenance
from replicator.coordination.tasks.position_changes import stood
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tasks.status import Status
from replicator.errors import CoordinationError, NodeMissing
from tests.support.cores import FENCED, TASK, SimCore, World, checkpoint_at
from tests.support.sim_kafka import SimKafka

EXAMPLES: Final = int(os.environ.get("PROVE", "80"))
pytestmark = pytest.mark.timeout(max(180, EXAMPLES))
CORES = st.integers(0, 2)
SIDES = st.sampled_from(["source", "sink"])
PATIENCE: Final = {"hand_over_after_s": 1}
AT_ONCE: Final = 8
"""Moments in which everybody does his part once: so many at most from a release to the next one that runs."""


class Leadership(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World(config=PATIENCE)
        self.clocks = pytest.MonkeyPatch()
        for module in (steps, view):
            self.clocks.setattr(module, "now_ms", lambda: int(self.world.clock() * 1000))
        self.clocks.setattr(steps.Steps, "now_ms", staticmethod(lambda: int(self.world.clock() * 1000)))
        for _ in range(3):
            self.world.core()
        self.epoch = 0
        self.position = (0, 0)
        self.maintained: set[str] = set()
        """Of what maintenance is on: the task, "" for all."""
        self.led: set[int] = set()
        """Epochs under which somebody led when it began."""
        self.given_up: dict[int, int] = {}
        """By the number of its entry in the history, when: ms."""

    def core(self, index: int) -> SimCore:
        return self.world.cores[index]

    @initialize(exactly_once=st.booleans())
    def begin(self, exactly_once: bool) -> None:
        if exactly_once:
            self.world.kafka = SimKafka(self.world.emit)
        for core in self.world.cores:
            core.turn()

    @rule(seconds=st.sampled_from([0.1, 0.5, 1.0, 2.0, 3.9, 4.1, 6.0]))
    def time_passes(self, seconds: float) -> None:
        self.world.clock.now += seconds
        self.world.ensemble.expire_overdue()

    @rule(index=CORES)
    def turn(self, index: int) -> None:
        self.core(index).turn()

    @rule(index=CORES)
    def renew(self, index: int) -> None:
        self.core(index).renew()

    @rule(index=CORES, times=st.integers(1, 3))
    def work(self, index: int, times: int) -> None:
        for _ in range(times):
            self.core(index).work()

    @rule(index=CORES)
    def emit(self, index: int) -> None:
        self.core(index).workers.emit()

    @rule(index=CORES)
    def save(self, index: int) -> None:
        self.core(index).save()

    @rule(seconds=st.sampled_from([0.5, 2.0, 5.0]))
    def everybody_lives(self, seconds: float) -> None:
        self.world.settle(seconds)

    # Faults

    @rule(index=CORES)
    def freeze(self, index: int) -> None:
        self.core(index).freeze()

    @rule(index=CORES)
    def thaw(self, index: int) -> None:
        if self.core(index).frozen:
            self.core(index).thaw()

    @rule(index=CORES)
    def killed_and_started_again(self, index: int) -> None:
        self.core(index).die()
        self.world.replace(index)

    @rule(index=CORES)
    def terminated_and_started_again(self, index: int) -> None:
        if self.core(index).runs:
            self.core(index).terminate()
            self.world.replace(index)

    @rule(index=CORES)
    def connection_breaks(self, index: int) -> None:
        if self.core(index).coordinator.connection is Connection.CONNECTED and self.core(index).runs:
            self.core(index).coordinator.suspend()

    @rule(index=CORES)
    def connection_returns(self, index: int) -> None:
        if self.core(index).coordinator.connection is Connection.SUSPENDED and self.core(index).runs:
            self.core(index).coordinator.resume()

    @rule(index=CORES)
    def half_open(self, index: int) -> None:
        """The client believes to be connected and the servers hear nothing."""
        if self.core(index).runs:
            self.core(index).coordinator.silence()

    @rule(index=CORES)
    def heard_again(self, index: int) -> None:
        if self.core(index).runs and self.core(index).coordinator.connection is Connection.CONNECTED:
            self.core(index).coordinator.hear()

    @rule(index=CORES)
    def lose_reply(self, index: int) -> None:
        self.core(index).coordinator.lose_reply()

    @rule(index=CORES)
    def worker_dies(self, index: int) -> None:
        core = self.core(index)
        if core.workers.lease is not None and core.runs:
            core.workers.kill()
            core.participant.on_died()

    @rule(index=CORES)
    def sink_fences(self, index: int) -> None:
        """By nobody of this election; not as often that the task fails."""
        core = self.core(index)
        if core.workers.lease is not None and core.runs and len(core.participant.facts.fencings) < fencing.MOST - 1:
            core.workers.kill()
            core.participant.on_fenced(FENCED)

    @rule(index=CORES, code=st.sampled_from(["E1006", "E2101", "E2303"]))
    def fails(self, index: int, code: str) -> None:
        """By a fault of its host, perhaps of its host, or of the task."""
        core = self.core(index)
        if core.workers.lease is not None and core.runs:
            core.participant.on_failed({"code": code, "what": "made up"})

    @rule(index=CORES, count=st.integers(1, 3))
    def hold_write(self, index: int, count: int) -> None:
        """A client that queues: what is asked while the connection is down is done when it is back."""
        self.core(index).coordinator.hold_write(count)

    @rule(index=CORES, how=st.sampled_from(["applied", "refused", "late"]), meanwhile=st.sampled_from([0.0, 2.0]))
    def lose_commit(self, index: int, how: str, meanwhile: float) -> None:
        self.core(index).workers.emit()
        self.core(index).lose_commit(how)
        if meanwhile:
            self.world.settle(meanwhile)
            self.late_commits_arrive()

    @rule()
    def late_commits_arrive(self) -> None:
        if self.world.kafka is not None:
            self.world.kafka.arrive()

    @rule(index=CORES, side=SIDES, reached=st.booleans())
    def reach(self, index: int, side: str, reached: bool) -> None:
        self.core(index).reach[side] = reached

    @rule(side=SIDES, times=st.integers(1, 5))
    def whoever_leads_does_not_reach(self, side: str, times: int) -> None:
        """And the others do, again and again."""
        for _ in range(times):
            for core in self.world.cores:
                core.reach = {"source": True, "sink": True}
                if core.participant.leads:
                    core.reach[side] = False
            self.world.settle(10.0, 0.5)

    @rule()
    def half_an_hour_passes(self) -> None:
        self.world.clock.now += 1800.0
        self.world.ensemble.expire_overdue()

    @rule(hold=st.booleans(), twice=st.integers(1, 5))
    def watches(self, hold: bool, twice: int) -> None:
        if hold:
            self.world.ensemble.hold_watches()
        else:
            self.world.ensemble.release_watches(twice)

    @rule(which=st.integers(0, 2))
    def node_deleted_by_hand(self, which: int) -> None:
        contenders = Election(self.world.admin, self.world.layout).field(TASK).contenders
        if which < len(contenders):
            self.world.admin.delete(self.world.layout.contender(TASK, contenders[which].name))

    @rule(which=st.integers(0, 2), machine_first=st.booleans())
    def both_nodes_deleted_by_hand(self, which: int, machine_first: bool) -> None:
        """All that shows of a session, as if it had ended."""
        contenders = Election(self.world.admin, self.world.layout).field(TASK).contenders
        if which >= len(contenders):
            return
        node = self.world.layout.contender(TASK, contenders[which].name)
        machine = self.world.layout.machine(contenders[which].host)
        for path in (machine, node) if machine_first else (node, machine):
            with contextlib.suppress(NodeMissing):
                self.world.admin.delete(path)

    @rule()
    def parent_deleted_by_hand(self) -> None:
        path = self.world.layout.election(TASK)
        try:
            for name in self.world.admin.children(path):
                self.world.admin.delete(f"{path}/{name}")
            self.world.admin.delete(path)
        except NodeMissing:
            return

    # Operators

    @rule(desired=st.sampled_from(["running", "paused"]))
    def desire(self, desired: str) -> None:
        Status(self.world.admin, self.world.layout).set(TASK, desired, "test")

    @rule(to=st.one_of(st.none(), CORES))
    def switchover(self, to: int | None) -> None:
        host = "" if to is None else self.core(to).host
        Commands(self.world.admin, self.world.layout).submit(TASK, "switchover", {"host": host}, "test")

    @rule()
    def restart(self) -> None:
        Commands(self.world.admin, self.world.layout).submit(TASK, "restart", {}, "test")

    @rule(limit=st.integers(0, 3), bad=st.booleans())
    def configure(self, limit: int, bad: bool) -> None:
        registry = Registry(self.world.admin, self.world.layout)
        registry.configure(TASK, {"name": TASK, "limit": limit, "bad": bad, **PATIENCE}, "test", registry.version(TASK))

    @rule(on=st.booleans(), whose=st.sampled_from([TASK, ""]))
    def maintenance(self, on: bool, whose: str) -> None:
        if on:
            self.begin_maintenance(whose)
            return
        Maintenance(self.world.admin, self.world.layout).end(whose)
        self.maintained.discard(whose)

    def begin_maintenance(self, whose: str) -> None:
        if Maintenance(self.world.admin, self.world.layout).begin(whose, "test", ""):
            if not self.maintained:
                self.led = self.leading()
            self.maintained.add(whose)

    @rule(whose=st.sampled_from([TASK, ""]), against=st.sampled_from(["", "source", "sink", "switchover"]))
    def running_stays_in_maintenance(self, whose: str, against: str) -> None:
        """Whatever was ordered, and whatever it does not reach while the others do: nothing breaks meanwhile."""
        self.begin_maintenance(whose)
        leaders = [core for core in self.world.cores if self.is_sound_leader(core)]
        if not leaders:
            return
        leader, epoch = leaders[0], leaders[0].participant.facts.czxid
        if against == "switchover":
            Commands(self.world.admin, self.world.layout).submit(TASK, "switchover", {}, "test")
        elif against:
            leader.reach[against] = False
        self.world.settle(4.0)
        assert leader.participant.leads and leader.participant.facts.czxid == epoch, leader.participant.state

    def is_sound_leader(self, core: SimCore) -> bool:
        """It leads by right, with nothing against it."""
        facts, coordinator = core.participant.facts, core.coordinator
        first = Election(self.world.admin, self.world.layout).field(TASK).contenders[:1]
        stands = any(entry.czxid == facts.czxid and entry.owner == coordinator.session_id for entry in first)
        connected = coordinator.connection is Connection.CONNECTED and coordinator.silent_since is None
        return core.participant.leads and facts.opened and not facts.fenced and core.runs and stands and connected

    def leading(self) -> set[int]:
        """Epochs of the terms that somebody holds, by right or not yet knowing better."""
        everybody = self.world.cores + self.world.ended
        leads = {core.participant.facts.czxid for core in everybody if core.participant.facts.opened}
        return leads | {core.workers.lease.epoch for core in everybody if core.workers.lease is not None}

    @rule(back=st.integers(1, 5))
    def set_the_position_back(self, back: int) -> None:
        """Ordered by an operator; refused by whoever runs."""
        checkpoint = Commits(self.world.admin, self.world.layout).read(TASK).checkpoint
        if checkpoint is None:
            return
        position = checkpoint.position
        wanted = checkpoint_at(max(0, position.offset - back), position.reset + 1)
        arguments = {"checkpoint": msgspec.json.encode(wanted).decode(), "stood": stood(checkpoint).decode()}
        Commands(self.world.admin, self.world.layout).submit(TASK, "position", arguments, "test")

    # What must hold

    @invariant()
    def nobody_is_promoted_during_maintenance(self) -> None:
        assert not self.maintained or self.leading() <= self.led

    @invariant()
    def hand_overs_because_of_source_or_sink_are_bounded(self) -> None:
        for entry in History(self.world.admin, self.world.layout).read(TASK, 10):
            if entry.record.kind == "gave up":
                self.given_up[entry.number] = entry.record.time_ms
        times = sorted(self.given_up.values())
        assert all(later - first >= HOUR_MS for first, later in zip(times, times[MOST:], strict=False))

    @invariant()
    def at_most_one_could_emit(self) -> None:
        effective = self.world.effective()
        assert len(effective) <= 1, f"{[core.host for core in effective]} could emit at the same moment"

    @invariant()
    def the_stored_progress_only_rises(self) -> None:
        commit = Commits(self.world.admin, self.world.layout).read(TASK)
        if commit.record is None:
            return
        assert commit.record.epoch >= self.epoch
        self.epoch = commit.record.epoch
        position = commit.checkpoint.position if commit.checkpoint else None
        reached = (position.reset, position.offset) if position else (0, 0)
        assert reached >= self.position
        self.position = reached

    def teardown(self) -> None:
        try:
            self.faults_stop()
            self.somebody_leads_and_nothing_is_left_over()
            self.each_is_reached_in_the_order_of_the_line()
        finally:
            self.clocks.undo()

    def faults_stop(self) -> None:
        world = self.world
        world.ensemble.release_watches()
        for core in world.cores:
            core.coordinator.lose_reply(0)
            core.coordinator.hold_write(0)
            core.reach = {"source": True, "sink": True}
            core.thaw()
        self.late_commits_arrive()
        Status(world.admin, world.layout).set(TASK, "running", "test")
        for whose in (TASK, ""):
            Maintenance(world.admin, world.layout).end(whose)
        self.maintained.clear()
        registry = Registry(world.admin, world.layout)
        registry.configure(TASK, {"name": TASK, "limit": 9, **PATIENCE}, "test", registry.version(TASK))

    def somebody_leads_and_nothing_is_left_over(self) -> None:
        world = self.world
        try:
            world.settle(2.0)  # whoever has been away learns it
            world.settle_until(self.is_settled, 60.0)
        except CoordinationError as error:
            raise AssertionError(str(error)) from error
        states = sorted(core.participant.state.value for core in world.cores)
        assert states == [State.RUNNING.value, State.STANDBY.value, State.STANDBY.value], states
        assert len(self.line()) == 3
        assert len(world.effective()) == 1
        self.the_stored_progress_only_rises()
        before = len(world.emitted)
        world.settle(2.0)
        assert len(world.emitted) > before

    def is_settled(self) -> bool:
        states = sorted(core.participant.state.value for core in self.world.cores)
        pending = Commands(self.world.admin, self.world.layout).pending(TASK)
        running = states == ["running", "standby", "standby"] and len(self.world.effective()) == 1
        return running and len(self.line()) == 3 and not pending

    def line(self) -> list[str]:
        return [entry.host for entry in Election(self.world.admin, self.world.layout).field(TASK).contenders]

    def each_is_reached_in_the_order_of_the_line(self) -> None:
        """Three planned switchovers give the task to each in turn, and then the process that has it ends."""
        first, second, third = self.line()
        for host in (second, third, first):
            Commands(self.world.admin, self.world.layout).submit(TASK, "switchover", {}, "test")
            self.is_taken_at_once(host)
        [leader] = [index for index, core in enumerate(self.world.cores) if core.host == first]
        self.core(leader).terminate()
        self.world.replace(leader)
        self.is_taken_at_once(second)

    def is_taken_at_once(self, host: str) -> None:
        [core] = [core for core in self.world.cores if core.host == host]
        taken = self.world.settle_until(lambda: core.participant.state is State.RUNNING, AT_ONCE * 0.25)
        assert taken, f"{host} is {core.participant.state.value}, in the line {self.line()}"
        self.at_most_one_could_emit()
        self.the_stored_progress_only_rises()


Leadership.TestCase.settings = settings(
    max_examples=EXAMPLES, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLeadership = Leadership.TestCase
