"""Cores on a simulated bench: real participants over the memory ensemble, with a fake clock and workers that are plain
objects. Deterministic; nothing sleeps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.contender import Identity, Leading
from replicator.coordination.leadership.lease import Lease
from replicator.coordination.leadership.participant import Participant
from replicator.coordination.leadership.progress import TermProgress
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Connection
from replicator.coordination.records import MachineRecord, TaskFigures
from replicator.coordination.tasks.registry import Registry
from replicator.coordination.tree_cache import TreeCache
from replicator.errors import ConfigError, CoordinationError, LeadershipLost, NodeExists, NotConnected
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from tests.support.sim_kafka import Fenced, Sent, SimKafka

TASK = "copy"
FENCED = {"code": "E3104", "what": "a later term writes with our transactional id"}


class FakeClock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def validate(config: dict[str, Any]) -> dict[str, Any]:
    if config.get("bad"):
        raise ConfigError("E1003", "bad is not allowed")
    return {"name": TASK, **config}


def checkpoint_at(offset: int, reset: int = 0) -> Checkpoint:
    return Checkpoint(Position("binlog.000001", offset, reset=reset))


class World:
    """The servers, the source's log of numbered transactions, and what consumers saw. `kafka`: workers deliver exactly
    once to it; None: each transaction is seen as soon as it is emitted."""

    def __init__(self, timeout: float = 6.0, config: dict[str, Any] | None = None) -> None:
        self.clock = FakeClock()
        self.ensemble = MemoryEnsemble(self.clock)
        self.layout = Layout()
        self.timeout = timeout
        self.cores: list[SimCore] = []
        self.ended: list[SimCore] = []
        """Processes that are no more; nothing of theirs may emit."""
        self.emitted: list[tuple[int, int]] = []
        """(epoch, transaction) in the order consumers saw them."""
        self.kafka: SimKafka | None = None
        self._epoch = self._highest = 0
        self._numbers = itertools.count(1)
        self.admin = self.ensemble.session()
        Registry(self.admin, self.layout).create(TASK, {"name": TASK, **(config or {})}, "test")

    def core(self, host: str | None = None) -> SimCore:
        core = SimCore(self, host or f"host-{len(self.cores)}")
        self.cores.append(core)
        return core

    def guid(self) -> str:
        return f"{next(self._numbers):032x}"

    def effective(self) -> list[SimCore]:
        """Cores whose worker could emit at this moment."""
        return [core for core in self.cores + self.ended if core.workers.may_emit()]

    def replace(self, index: int) -> None:
        """A new process in the place of one that has ended."""
        old = self.cores[index]
        self.ended.append(old)
        self.cores[index] = SimCore(self, old.host)

    def emit(self, epoch: int, transaction: int) -> None:
        assert epoch >= self._epoch, "a stale epoch after a newer one"
        assert transaction <= self._highest + 1, f"transactions after {self._highest} were skipped"
        self._epoch, self._highest = epoch, max(self._highest, transaction)
        self.emitted.append((epoch, transaction))

    def settle(self, seconds: float = 30.0, step: float = 0.25) -> None:
        """Lets everybody who can do so do his part, for that long."""
        for _ in range(int(seconds / step)):
            self.step(step)

    def settle_until(self, what: Callable[[], bool], seconds: float, step: float = 0.25) -> bool:
        """As `settle`, no longer than needed. Whether it came to that."""
        for _ in range(int(seconds / step)):
            if what():
                return True
            self.step(step)
        return what()

    def step(self, seconds: float) -> None:
        self.clock.now += seconds
        self.ensemble.expire_overdue()
        for core in self.cores:
            core.live()


class SimWorkers:
    """One worker as an object: it emits transactions while its lease lasts. `reached`: its source and its sink are."""

    def __init__(self, core: SimCore) -> None:
        self.core = core
        self.lease: Lease | None = None
        self.progress: TermProgress | None = None
        self.position = self.reset = 0
        self.producer = self.committed = 0
        self.streaming = False
        self.draining = False
        self.starts: list[tuple[int, dict[str, Any]]] = []
        self.terms: list[Leading] = []

    def start(self, term: Leading, config: Any, checkpoint: Checkpoint | None) -> None:
        assert self.lease is None, "a second worker of the same core"
        core, world = self.core, self.core.world
        epoch, name, uid = term.czxid, term.name, term.uid
        path = world.layout.contender(TASK, name)
        lease = Lease(path, epoch, core.coordinator.session_id)
        sent = world.clock()
        if not lease.confirm(core.coordinator.confirm([path])[0], sent, core.coordinator.session_timeout):
            raise LeadershipLost("E4008", "the node is gone")
        self.lease = lease
        over = {"above": term.above, "previous": term.previous or 0}
        self.progress = TermProgress(core.coordinator, world.layout, TASK, name, epoch, uid, core.host, **over)
        self.terms.append(term)
        self.position = checkpoint.position.offset if checkpoint else 0
        self.reset = checkpoint.position.reset if checkpoint else 0
        self.committed = self.position
        self.streaming = self.draining = False
        self.starts.append((epoch, config.data))

    def open(self) -> None:
        """The sink, and the stream from where the sink stands, if it knows."""
        kafka = self.core.world.kafka
        if kafka is not None and self.lease is not None:
            self.producer, stands = kafka.init(self.lease.epoch)
            if stands is not None and stands[0] >= self.reset:
                self.reset, self.position = stands
        self.committed = self.position
        self.streaming = True

    def sent(self) -> Sent | None:
        """The commit of what is emitted and not committed; None when that is nothing."""
        if self.lease is None or not self.streaming or self.committed == self.position:
            return None
        return Sent(self.producer, self.lease.epoch, self.reset, self.committed + 1, self.position)

    def commit(self) -> None:
        """Everything emitted is delivered after it. Raises Fenced."""
        sent = self.sent()
        if sent is not None and self.core.world.kafka is not None:
            self.core.world.kafka.commit(sent)
        self.committed = self.position

    def drain(self) -> None:
        assert self.lease is not None
        self.draining = True

    def kill(self) -> None:
        if self.lease is not None:
            self.lease.end()
        self.lease = self.progress = None

    def may_emit(self) -> bool:
        return self.lease is not None and self.core.world.clock() < self.lease.deadline

    @property
    def delivered(self) -> int:
        return self.position if self.core.world.kafka is None else self.committed

    def emit(self) -> None:
        """One transaction, when allowed: the worker is a process of its own and does not ask its core."""
        if self.lease is not None and self.streaming and self.may_emit() and self.core.reaches_all:
            self.position += 1
            if self.core.world.kafka is None:
                self.core.world.emit(self.lease.epoch, self.position)


class SimCore:
    """A Core process. `frozen`: SIGSTOP; `dead`: SIGKILL."""

    def __init__(self, world: World, host: str) -> None:
        self.world = world
        self.host = host
        self.coordinator = world.ensemble.session(world.timeout)
        self.workers = SimWorkers(self)
        self.frozen = self.dead = False
        self.lost = False
        self.reach = {"source": True, "sink": True}
        self.coordinator.on_connection(lambda state: self._note(state.value))
        self.participant = Participant(
            self.coordinator,
            world.layout,
            TASK,
            Identity(host, 1, host),
            self.workers,
            world.clock,
            validate,
            new_guid=world.guid,
            kept=TreeCache(self.coordinator, "/"),
        )

    def _note(self, state: str) -> None:
        self.lost = self.lost or state == "lost"

    @property
    def runs(self) -> bool:
        return not (self.frozen or self.dead)

    @property
    def reaches_all(self) -> bool:
        return all(self.reach.values())

    def live(self) -> None:
        """What a running Core does in a moment: lease, machine node, worker's news, a turn."""
        if not self.runs:
            self.workers.emit()
            return
        self.renew()
        self.work()
        self.turn()

    def turn(self) -> None:
        if not self.runs:
            return
        try:
            if self.lost:
                self.lost = False
                self.participant.on_session_lost()
            Machines(self.coordinator, self.world.layout).publish(self.host, self._vitals())
            self.participant.turn()
        except NotConnected:
            return
        except NodeExists:
            return  # the name is of a dead process that is not reaped yet: nobody stands before he has it

    def _vitals(self) -> MachineRecord:
        state, guid = self.participant.state.value, self.participant.facts.guid
        tasks = {TASK: TaskFigures(state=state, guid=guid, reach=dict(self.reach))}
        return MachineRecord(host=self.host, pid=1, process=self.host, started_ms=0, time_ms=0, tasks=tasks)

    def renew(self) -> None:
        """The lease thread."""
        lease = self.workers.lease
        if not self.runs or lease is None:
            return
        sent = self.world.clock()
        try:
            stat = self.coordinator.confirm([lease.path])[0]
        except NotConnected:
            return
        lease.confirm(stat, sent, self.coordinator.session_timeout)

    def work(self) -> None:
        """The worker's news reach the participant."""
        workers, participant = self.workers, self.participant
        if not self.runs or workers.lease is None:
            return
        if not workers.may_emit():
            workers.kill()
            participant.on_lease_over()
        elif not self.reaches_all and not workers.draining:
            side = "source" if not self.reach["source"] else "sink"
            participant.on_waiting({"code": {"source": "E2001", "sink": "E3001"}[side], "what": "not reached"})
        elif workers.draining and not self.reaches_all and workers.sent() is not None:
            return  # what is open can't be committed: it is killed when its time is over
        else:
            self._flow()

    def _flow(self) -> None:
        """A worker that reaches everything and may work."""
        workers, participant = self.workers, self.participant
        try:
            if workers.draining:
                workers.commit()
                done = checkpoint_at(workers.position, workers.reset) if workers.position else None
                workers.kill()
                participant.on_drained(done)
            elif not workers.streaming:
                workers.open()
                participant.on_streaming(str(workers.position))
            else:
                if participant.facts.stuck is not None:
                    participant.on_streaming(str(workers.position))
                workers.emit()
                workers.commit()
                participant.on_progress(checkpoint_at(workers.position, workers.reset))
        except Fenced:
            workers.kill()
            participant.on_fenced(FENCED)

    def lose_commit(self, how: str) -> None:
        """A commit without an answer. how: "applied", "refused" (it never arrived) or "late" (it arrives when the
        worker, which gives up, is no more). The next worker reads back what became of it."""
        kafka, sent = self.world.kafka, self.workers.sent()
        if kafka is None or sent is None or not self.workers.may_emit():
            return
        if how != "refused":
            kafka.on_the_way.append(sent)
        if how == "applied":
            kafka.arrive()
        self.workers.kill()
        if not self.dead:
            self.participant.on_died()

    def save(self) -> None:
        """The checkpoint writer."""
        progress = self.workers.progress
        if not self.runs or progress is None or not self.workers.delivered:
            return
        try:
            progress.save(checkpoint_at(self.workers.delivered, self.workers.reset))
        except (NotConnected, LeadershipLost):
            return
        except CoordinationError as error:
            self.participant.on_failed(error.to_dict())

    def terminate(self) -> None:
        """SIGTERM: drains and releases as far as the servers let it, kills what is left, closes the session."""
        self.participant.stop()
        for _ in range(4):
            self.work()
            self.turn()
        self.workers.kill()
        self.dead = True
        self.coordinator.close()

    # Faults

    def freeze(self) -> None:
        self.frozen = True
        self.coordinator.silence()

    def thaw(self) -> None:
        self.frozen = False
        self.reconnect()

    def reconnect(self) -> None:
        if self.coordinator.connection is Connection.SUSPENDED:
            self.coordinator.resume()
        else:
            self.coordinator.hear()

    def die(self) -> None:
        """SIGKILL: the worker sees its pipe close."""
        self.dead = True
        self.workers.kill()
        self.coordinator.silence()
