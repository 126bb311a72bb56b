"""Faults of a round: of the task, of the target, of the source's connection, and of the ways between."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pymysql

from dev.faults.proxy import Proxy
from dev.servers.database import Database
from dev.targets.task import ACCOUNT, Task


class Faults:
    """A thread that does one after the other.

    Args:
        ways: to the source and to the target.
        every: mean time between two, seconds.
        hard: also kill the target's server.
    """

    def __init__(
        self,
        task: Task,
        source: Database,
        target: Database,
        ways: tuple[Proxy, Proxy],
        *,
        seed: str,
        every: float,
        hard: bool,
    ) -> None:
        self._task, self._source, self._target, self._ways = task, source, target, ways
        self._chance, self._every, self._hard = random.Random(f"{seed}/faults"), every, hard
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
            self._thread.join(90)
        for way in self._ways:
            way.pass_()
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        kinds: list[tuple[int, Callable[[], None]]] = [
            (4, self.kill_task),
            (1, self.restart_task),
            (3, self.freeze_task),
            (5, self.kill_connections),
            (2, self.kill_reader),
            (4, self.cut),
            (2, self.hold),
            (3, self.reset),
            (2, self.lock_rows),
        ]
        if self._hard:
            kinds += [(1, self.kill_target), (1, self.freeze_target)]
        try:
            while not self._stop.wait(self._chance.expovariate(1 / self._every)):
                act = self._chance.choices([act for _, act in kinds], [weight for weight, _ in kinds])[0]
                act()
                self.done.append(act.__name__)
        except BaseException as error:
            self.error = error

    def kill_task(self) -> None:
        self._task.kill()

    def restart_task(self) -> None:
        self._task.restart()

    def freeze_task(self) -> None:
        pid = self._task.pid
        if pid is not None:
            os.kill(pid, signal.SIGSTOP)
            time.sleep(self._chance.uniform(0.05, 0.5))
            os.kill(pid, signal.SIGCONT)

    def kill_connections(self) -> None:
        self._kill(self._target, ACCOUNT[0])

    def kill_reader(self) -> None:
        self._kill(self._source, Database.replicator[0])

    def cut(self) -> None:
        """In the middle of a packet, either way."""
        way = self._chance.choice(self._ways)
        way.cut_after(self._chance.choice((1, 10, 100, 1000, 20_000, 200_000)), self._chance.choice(("up", "down")))

    def hold(self) -> None:
        way = self._chance.choice(self._ways)
        way.black_hole(self._chance.choice(("both", "up", "down")))
        time.sleep(self._chance.uniform(0, 1.0))
        way.pass_()

    def reset(self) -> None:
        self._chance.choice(self._ways).reset()

    def lock_rows(self) -> None:
        """Another session of the target holds rows for a moment."""
        try:
            with self._target.connect(autocommit=False) as connection, connection.cursor() as cursor:
                cursor.execute("SELECT task FROM replicator.replicator_position LIMIT 1 FOR UPDATE")
                time.sleep(self._chance.uniform(0, 1.0))
                connection.rollback()
        except (pymysql.MySQLError, OSError):  # the table is not there yet, or the server is away
            pass

    def kill_target(self) -> None:
        self._target.kill()
        self._target.restart()

    def freeze_target(self) -> None:
        self._target.pause()
        time.sleep(self._chance.uniform(0.1, 1.5))
        self._target.resume()

    def _kill(self, server: Database, user: str) -> None:
        for row in self._ask(server, "SHOW PROCESSLIST"):
            if row[1] == user and self._chance.random() < 0.7:
                self._ask(server, f"KILL {row[0]}")

    def _ask(self, server: Database, sql: str) -> list[tuple[Any, ...]]:
        try:
            return list(server.execute(sql))
        except (pymysql.MySQLError, OSError):  # the connection is gone, or the server
            return []
