"""Workers as a Core starts them, forked from its template, and as much of an agent as they need."""

from __future__ import annotations

import os
import threading
import time
from multiprocessing.connection import wait
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from core.launcher import Launcher, Worker
from core.protocol import (
    AppendSchemaHistory,
    Failed,
    LoadSchemaHistory,
    Progress,
    Saved,
    SchemaHistoryAnswer,
    Waiting,
    WorkerSpec,
)


class Crew:
    """Starts workers and answers them. Nothing is stored: a checkpoint counts as saved when it comes."""

    def __init__(self, password: str) -> None:
        os.environ["REPL_BENCH_PASSWORD"] = password
        self._launcher = Launcher("json")
        self._launcher.warm()
        self._workers: list[Worker] = []
        self._lock = threading.Lock()
        self._ended = False
        self._epoch = int(time.time())
        self._errors: list[object] = []
        self._thread = threading.Thread(target=self._answer, name="crew", daemon=True)
        self._thread.start()

    def start(self, config: dict[str, Any]) -> Worker:
        self._epoch += 1
        name = config["name"]
        spec = WorkerSpec(task=name, uid="bench", epoch=self._epoch, host="bench", config=config)
        worker = self._launcher.start(spec, time.monotonic() + 3600)
        with self._lock:
            self._workers.append(worker)
        return worker

    def stop(self, worker: Worker) -> None:
        with self._lock:
            self._workers.remove(worker)
        worker.kill()

    def check(self) -> None:
        """Raises RuntimeError when a worker has failed or had to try again."""
        if self._errors:
            raise RuntimeError(f"a worker: {self._errors[0]}")

    def _answer(self) -> None:
        while not self._ended:
            with self._lock:
                ways = {worker.fileno(): worker for worker in self._workers}
            try:
                ready = wait(list(ways), 0.1) if ways else []
            except (OSError, ValueError):
                continue  # one was stopped meanwhile
            if not ways:
                time.sleep(0.02)
            for way in ready:
                assert isinstance(way, int)  # as it was given
                for message in ways[way].receive() or []:
                    self._reply(ways[way], message)

    def _reply(self, worker: Worker, message: object) -> None:
        if isinstance(message, Progress):
            worker.send(Saved(message.number))
        elif isinstance(message, LoadSchemaHistory | AppendSchemaHistory):
            worker.send(SchemaHistoryAnswer(message.number))
        elif isinstance(message, Failed | Waiting):
            self._errors.append(message)

    def close(self) -> None:
        self._ended = True
        self._thread.join()
        self._launcher.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def pss_mb(pid: int) -> tuple[float, float]:
    """(proportional set size, of which private): shared pages count for as much as they are shared."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        key, value, *_ = line.split()
        found[key] = int(value) * 1024 / 1e6
    return found["Pss:"], found["Private_Clean:"] + found["Private_Dirty:"]
