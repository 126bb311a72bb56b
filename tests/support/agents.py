"""Core agents in this process, with workers that are plain objects behind real pipes."""

from __future__ import annotations

import math
import threading
from typing import Any

from core.agent import Agent
from core.protocol import Drain, Drained, Failed, Progress, Saved, Status, Streaming, ToWorker, WorkerSpec
from dev.fleet.local_worker import LocalWorker
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.errors import ConfigError
from replicator.model import lease_clock
from replicator.model.checkpoint import Checkpoint
from replicator.model.lag import LagFacts
from replicator.model.position import Position
from tests.support.waiting import eventually


def validate(config: dict[str, Any]) -> dict[str, Any]:
    if "bad" in config:
        raise ConfigError("E1002", "unknown key 'bad'")
    return config


class FakeWorker(LocalWorker):
    """Streams at once, and drains at once."""

    def __init__(self, spec: WorkerSpec, deadline: float, number: int) -> None:
        super().__init__()
        self.spec = spec
        self.pid = 100_000 + number
        self.deadline = deadline
        self.offset = spec.checkpoint.position.offset if spec.checkpoint else 0
        self.numbers = 0
        self.saved = 0
        self.killed = self.drained = False
        self.told: list[ToWorker] = []
        self.say(Streaming(str(self.offset)))
        self.say(Status(LagFacts(), flowing=True))

    def checkpoint(self) -> Checkpoint:
        return Checkpoint(Position("binlog.000001", self.offset), epoch=self.spec.epoch, rows=self.offset)

    def deliver(self, count: int = 1, urgent: bool = True) -> None:
        self.offset += count
        self.numbers += 1
        self.say(Progress(self.numbers, self.checkpoint(), urgent, rows=count))
        if self.spec.until is not None and self.offset >= self.spec.until.offset:
            self.say(Drained(self.checkpoint()))

    def fail(self, code: str, fenced: bool = False) -> None:
        self.say(Failed({"code": code, "what": "made up"}, fenced))

    def die(self) -> None:
        self._far.close()

    # As the agent sees it

    def extend(self, deadline: float, wall_deadline: float = math.inf) -> None:
        self.deadline = deadline

    @property
    def may_emit(self) -> bool:
        return not self.killed and lease_clock.now() < self.deadline

    def send(self, message: ToWorker) -> None:
        self.told.append(message)
        if isinstance(message, Saved):
            self.saved = message.number
        elif isinstance(message, Drain) and not self.drained:
            self.drained = True
            self.say(Drained(self.checkpoint() if self.offset else None))

    def kill(self) -> None:
        self.killed = True
        self.deadline = 0.0
        super().kill()


class FakeLauncher:
    def __init__(self) -> None:
        self.workers: list[FakeWorker] = []
        self.refuse = False

    def start(self, spec: WorkerSpec, deadline: float) -> FakeWorker:
        if self.refuse:
            raise OSError("no more processes")
        worker = FakeWorker(spec, deadline, len(self.workers))
        self.workers.append(worker)
        return worker

    def close(self) -> None:
        for worker in self.workers:
            if not worker.killed:
                worker.kill()

    def of(self, task: str) -> FakeWorker | None:
        """The living worker of a task."""
        alive = [worker for worker in self.workers if worker.spec.task == task and not worker.killed]
        assert len(alive) <= 1
        return alive[0] if alive else None


class RunningAgent:
    """An agent in a thread of its own."""

    def __init__(
        self, coordinator: Coordinator, layout: Layout, host: str, tasks: tuple[str, ...] = (), **part: Any
    ) -> None:
        self.coordinator = coordinator
        self.host = host
        self.launcher = FakeLauncher()
        self.agent = Agent(coordinator, layout, host, tasks, self.launcher, validate, **part)
        self.names: list[str] = []
        self.thread = threading.Thread(target=self.agent.run, args=(self.names.append,), name=f"agent {host}")
        self.thread.start()

    def up(self) -> RunningAgent:
        eventually(lambda: self.names)
        return self

    def stop(self) -> None:
        self.agent.stop()
        self.thread.join(timeout=20)
        assert not self.thread.is_alive()
