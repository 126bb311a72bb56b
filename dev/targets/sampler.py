"""Looks at the target all the time, each time in one consistent view."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from typing import Any

import pymysql

from dev.servers.database import Database
from dev.targets.history import Sample
from dev.targets.schema import MARKS, TICKS, TargetTable
from dev.targets.writers import prints_of


class Sampler:
    """Attributes: samples: of which the verdict is made at the end, as a transaction may be seen before its writer has
    noted it."""

    def __init__(
        self, target: Database, database: str, tables: Sequence[TargetTable], *, seed: str, serial: bool
    ) -> None:
        self._target, self._database, self._tables, self._serial = target, database, tables, serial
        self._chance = random.Random(f"{seed}/sampler")
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self.samples: list[Sample] = []
        self.error: BaseException | None = None

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(60)
        if self.error is not None:
            raise self.error

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._chance.uniform(0, 0.2)):
                try:
                    with self._target.connect(database=self._database, read_timeout=30) as connection:
                        self.samples.append(sample(connection.cursor(), self._tables, serial=self._serial))
                except (pymysql.MySQLError, OSError):
                    time.sleep(0.1)  # the server is away
        except BaseException as error:
            self.error = error


def sample(cursor: Any, tables: Sequence[TargetTable], *, serial: bool) -> Sample:
    cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")
    cursor.execute(f"SELECT w, n FROM {MARKS}")
    marks = {int(writer): int(number) for writer, number in cursor.fetchall()}
    tick = None
    if serial:
        cursor.execute(f"SELECT n FROM {TICKS}")
        tick = int(cursor.fetchone()[0])
    prints = prints_of(cursor, tables, None)
    cursor.execute("COMMIT")
    return Sample(marks, prints, tick)
