"""A Core whose workers are objects that deliver nothing: everything of a Core but the data path.

python -m dev.fleet.core --zookeeper ADDRESS --root ROOT --host NAME --session-timeout S TASK...
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import threading

from core.agent import Agent
from core.process import validate
from core.protocol import Drain, Drained, Progress, Status, Streaming, ToWorker, WorkerSpec
from dev.fleet.local_worker import LocalWorker
from replicator.coordination.layout import Layout
from replicator.model.checkpoint import Checkpoint
from replicator.model.lag import LagFacts
from replicator.model.position import Position
from replicator.telemetry import log
from replicator.zookeeper.client import for_process

STATUS_SECONDS = 2.0
"""As often does a real worker report that nothing waits."""


class QuietWorker(LocalWorker):
    """Streams at once from the position of its checkpoint, and drains at once."""

    def __init__(self, spec: WorkerSpec) -> None:
        super().__init__()
        self.pid = os.getpid()
        self._checkpoint = spec.checkpoint or Checkpoint(Position("binlog.000001", 4), epoch=spec.epoch)
        self.say(Progress(1, self._checkpoint, urgent=True))
        self.say(Streaming(str(self._checkpoint.position)))
        self.rest()

    def rest(self) -> None:
        self.say(Status(LagFacts(), flowing=True))

    def extend(self, deadline: float, wall_deadline: float = math.inf) -> None:
        """It emits nothing."""

    def send(self, message: ToWorker) -> None:
        if isinstance(message, Drain):
            self.say(Drained(self._checkpoint))


class QuietLauncher:
    def __init__(self) -> None:
        self._workers: list[QuietWorker] = []
        self._ended = threading.Event()
        threading.Thread(target=self._rest, daemon=True).start()

    def _rest(self) -> None:
        while not self._ended.wait(STATUS_SECONDS):
            for worker in list(self._workers):
                try:
                    worker.rest()
                except (OSError, ValueError):
                    self._workers.remove(worker)

    def start(self, spec: WorkerSpec, deadline: float) -> QuietWorker:
        self._workers.append(QuietWorker(spec))
        return self._workers[-1]

    def close(self) -> None:
        self._ended.set()


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m dev.fleet.core")
    for option in ("--zookeeper", "--root", "--host"):
        parser.add_argument(option, required=True)
    parser.add_argument("--session-timeout", type=float, default=10.0)
    parser.add_argument("tasks", nargs="*")
    options = parser.parse_args()
    log.setup("json")
    layout = Layout(options.root)
    coordinator = for_process(options.zookeeper, options.session_timeout, layout, "core")
    agent = Agent(coordinator, layout, options.host, options.tasks, QuietLauncher(), validate)
    signal.signal(signal.SIGTERM, lambda *_: agent.stop())
    agent.run(lambda host: print(f"core {host}: up", flush=True))


if __name__ == "__main__":
    main()
