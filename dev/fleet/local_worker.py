"""The pipe of a worker that is an object in the Core's own process."""

from __future__ import annotations

import time
from collections.abc import Callable

from core.channel import AgentEnd, WorkerEnd, pair
from core.protocol import FromWorker


class LocalWorker:
    """What an agent uses of any worker. `say`: a message of the worker."""

    def __init__(self) -> None:
        ours, far = pair()
        self._way, self._far = AgentEnd(ours), WorkerEnd(far)

    def say(self, message: FromWorker) -> None:
        self._far.send(message)

    @property
    def beat(self) -> float:
        return time.monotonic()

    def receive(self) -> list[FromWorker] | None:
        return self._way.receive()

    def fileno(self) -> int:
        return self._way.fileno()

    @property
    def waits(self) -> bool:
        return self._way.waits

    def flush(self) -> None:
        self._way.flush()

    def when_stalled(self, call: Callable[[], None]) -> None:
        self._way.stalled = call

    def kill(self) -> None:
        self._way.close()
        self._far.close()
