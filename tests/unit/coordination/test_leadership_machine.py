"""The leadership contract under arbitrary faults, in arbitrary order, on a fake clock.

Whatever happens: never two Cores that could emit at the same moment, no transaction skipped, epochs only rise, the
stored position never moves back, and in the end, when the faults stop, somebody leads.
"""

from __future__ import annotations

import contextlib

import msgspec
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from replicator.coordination.commands import Commands
from replicator.coordination.commits import Commits
from replicator.coordination.election import Election
from replicator.coordination.maintenance import Maintenance
from replicator.coordination.ports import Connection
from replicator.coordination.registry import Registry
from replicator.coordination.state import State
from replicator.coordination.status import Status
from replicator.errors import CoordinationError, NodeMissing
from tests.support.cores import TASK, SimCore, World, checkpoint_at

CORES = st.integers(0, 2)


class Leadership(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.world = World()
        for _ in range(3):
            self.world.core()
        self.epoch = 0
        self.position = (0, 0)
        self.maintained: int | None = None
        """Epoch of the last term when maintenance began; None: it is off."""

    def core(self, index: int) -> SimCore:
        return self.world.cores[index]

    @initialize()
    def begin(self) -> None:
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
        core = self.core(index)
        if core.workers.lease is not None and core.runs:
            core.workers.kill()
            core.participant.on_fenced()

    @rule(hold=st.booleans())
    def watches(self, hold: bool) -> None:
        if hold:
            self.world.ensemble.hold_watches()
        else:
            self.world.ensemble.release_watches()

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

    @rule(limit=st.integers(0, 3), bad=st.booleans())
    def configure(self, limit: int, bad: bool) -> None:
        registry = Registry(self.world.admin, self.world.layout)
        registry.configure(TASK, {"name": TASK, "limit": limit, "bad": bad}, "test", registry.version(TASK))

    @rule(on=st.booleans())
    def maintenance(self, on: bool) -> None:
        maintenance = Maintenance(self.world.admin, self.world.layout)
        if on and maintenance.begin(TASK, "test", ""):
            record = Commits(self.world.admin, self.world.layout).read(TASK).record
            self.maintained = record.epoch if record else 0
        if not on and maintenance.end(TASK):
            self.maintained = None

    @rule(back=st.integers(1, 5))
    def set_the_position_back(self, back: int) -> None:
        """Ordered by an operator; refused by whoever runs."""
        checkpoint = Commits(self.world.admin, self.world.layout).read(TASK).checkpoint
        if checkpoint is None:
            return
        position = checkpoint.position
        wanted = checkpoint_at(max(0, position.offset - back), position.reset + 1)
        arguments = {"checkpoint": msgspec.json.encode(wanted).decode(), "before": str(position)}
        Commands(self.world.admin, self.world.layout).submit(TASK, "position", arguments, "test")

    # What must hold

    @invariant()
    def nobody_is_promoted_during_maintenance(self) -> None:
        if self.maintained is not None:
            record = Commits(self.world.admin, self.world.layout).read(TASK).record
            assert (record.epoch if record else 0) == self.maintained

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
        """The faults stop: somebody leads, the others stand by, and nothing is left over."""
        world = self.world
        world.ensemble.release_watches()
        for core in world.cores:
            core.coordinator.lose_reply(0)
            core.thaw()
        Status(world.admin, world.layout).set(TASK, "running", "test")
        Maintenance(world.admin, world.layout).end(TASK)
        registry = Registry(world.admin, world.layout)
        registry.configure(TASK, {"name": TASK, "limit": 9}, "test", registry.version(TASK))
        try:
            world.settle(60.0)
        except CoordinationError as error:
            raise AssertionError(str(error)) from error
        states = sorted(core.participant.state.value for core in world.cores)
        assert states == [State.RUNNING.value, State.STANDBY.value, State.STANDBY.value], states
        assert len(Election(world.admin, world.layout).field(TASK).contenders) == 3
        assert len(world.effective()) == 1
        before = len(world.emitted)
        world.settle(2.0)
        assert len(world.emitted) > before


Leadership.TestCase.settings = settings(
    max_examples=80, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck)
)
TestLeadership = Leadership.TestCase
