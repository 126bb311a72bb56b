"""Faults of a run in this process: at the sink, at the source, on the way to it, and of the task itself."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Literal

import pymysql

from dev.faults.proxy import Proxy
from dev.servers.database import Database
from dev.snapshots.writers import Place
from replicator.sink.memory_sink import MemorySink

Call = Literal["open", "write", "commit"]
_PROCESSES: Final = "SELECT ID, USER FROM information_schema.PROCESSLIST"
"""Not SHOW, whose texts of statements may end inside a character."""
_CALLS: Final[tuple[Call, ...]] = ("write", "commit", "commit", "open")


class Crash(Exception):
    """Ends a pipeline as a SIGKILL does: nothing is committed or saved any more."""


class Faults:
    """A thread that does one after the other.

    Args:
        sink: of the pipeline of now; None between two.
        restart: ends the pipeline in an orderly way; another one begins with other options.
        every: mean time between two, seconds.
    """

    def __init__(
        self,
        place: Place,
        proxy: Proxy,
        sink: Callable[[], MemorySink | None],
        restart: Callable[[], None],
        pause: Callable[[], None],
        *,
        seed: str,
        every: float,
    ) -> None:
        self._place, self._proxy, self._sink = place, proxy, sink
        self._restart, self._pause, self._every = restart, pause, every
        self._chance = random.Random(f"{seed}/faults")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="faults", daemon=True)
        self.error: BaseException | None = None
        self.done: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Everything works again. Raises what has ended the thread."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(60)
        self._proxy.pass_()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        kinds: list[tuple[int, Callable[[], None]]] = [
            (5, self.fail_sink),
            (5, self.crash),
            (5, self.kill_some),
            (2, self.kill_all),
            (2, self.reset),
            (3, self.cut),
            (2, self.hold),
            (2, self.flush_logs),
            (4, self.restart),
            (2, self.pause),
        ]
        try:
            while not self._stop.wait(self._chance.expovariate(1 / self._every)):
                act = self._chance.choices([act for _, act in kinds], [weight for weight, _ in kinds])[0]
                act()
                self.done.append(act.__name__)
        except BaseException as error:
            self.error = error

    def fail_sink(self) -> None:
        sink = self._sink()
        if sink is not None:
            sink.fail(self._chance.choice(_CALLS), applied=self._chance.random() < 0.5)

    def crash(self) -> None:
        sink = self._sink()
        if sink is not None:
            call = self._chance.choice(("write", "commit", "commit"))
            sink.fail(call, Crash(), applied=self._chance.random() < 0.5)  # type: ignore[arg-type]

    def kill_some(self) -> None:
        connections = self._connections()
        if connections:
            self._kill([self._chance.choice(connections)])

    def kill_all(self) -> None:
        self._kill(self._connections())

    def reset(self) -> None:
        self._proxy.reset()

    def cut(self) -> None:
        self._proxy.cut_after(self._chance.choice((10, 1000, 20_000, 200_000)), "down")

    def hold(self) -> None:
        self._proxy.black_hole(self._chance.choice(("both", "up", "down")))
        time.sleep(self._chance.uniform(0, 0.5))
        self._proxy.pass_()

    def flush_logs(self) -> None:
        self._ask("FLUSH BINARY LOGS")

    def restart(self) -> None:
        self._restart()

    def pause(self) -> None:
        self._pause()

    def _connections(self) -> list[int]:
        user = Database.replicator[0]
        return [int(row[0]) for row in self._ask(_PROCESSES) if row[1] == user]

    def _kill(self, connections: list[int]) -> None:
        for connection in connections:
            self._ask(f"KILL {connection}")

    def _ask(self, sql: str) -> list[tuple[Any, ...]]:
        try:
            return list(self._place.server.execute(sql))
        except (pymysql.Error, OSError):  # the thread is gone, or the server
            return []
