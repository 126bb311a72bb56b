"""A bus whose task writes to a second database server; at the end both have the same rows."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.servers import Database, MariaDB, MySQL, ZooKeeper
from tests.failover.bus import Bus

_PASSWORD: Final = "applier"
_TABLES: Final = ("hot_item", "side", "changes")
_EVENTS: Final = {"INSERT": "NEW", "UPDATE": "NEW", "DELETE": "OLD"}


class TargetBus(Bus):
    """`changes`: a table without a key, which has a row for each change of the writer: one that is written twice is
    there twice.

    Args:
        target: the first server that the task writes to.
        more: further ones, in `hosts`.
    """

    def __init__(
        self,
        zookeeper: ZooKeeper,
        database: MySQL | MariaDB,
        target: Database,
        folder: Path,
        *,
        more: tuple[Database, ...] = (),
        **options: Any,
    ) -> None:
        self.target = target
        self._more = more
        os.environ["REPL_TARGET_PASSWORD"] = _PASSWORD
        super().__init__(zookeeper, database, None, folder, **options)  # type: ignore[arg-type]

    @property
    def task(self) -> dict[str, Any]:
        servers = (self.target, *self._more)
        hosts = [f"{server.host}:{server.port}" for server in servers]
        address = {"hosts": hosts} if self._more else {"host": self.target.host, "port": self.target.port}
        sink = {
            "type": "mariadb" if isinstance(self.target, MariaDB) else "mysql",
            **({} if "address" in self._sink else address),
            "user": "applier",
            "password": "env:REPL_TARGET_PASSWORD",
            "position_database": self.name + "_position",
            "lock_wait_timeout_s": 5,
            **self._sink,
        }
        return {**self._common, "sink": sink}

    @property
    def _common(self) -> dict[str, Any]:
        user, _ = self.database.replicator
        return {
            "name": self.name,
            "source": {
                "type": "mysql" if isinstance(self.database, MySQL) else "mariadb",
                "host": self.database.host,
                "port": self.database.port,
                "user": user,
                "password": "env:REPL_PASSWORD",
                "tables": [f"{self.name}.*"],
                "heartbeat_s": 1,
                **self._source,
            },
            "checkpoint_interval_ms": 300,
            **self._settings,
        }

    def prepare(self) -> None:
        """The same tables on both; triggers at the source alone."""
        target, source = self.target, self.database
        target.execute(f"CREATE USER IF NOT EXISTS applier@'%%' IDENTIFIED BY '{_PASSWORD}'")
        target.execute("GRANT ALL ON *.* TO applier@'%%'")
        self.writer.prepare()
        target.execute(f"CREATE DATABASE {self.name} CHARACTER SET utf8mb4")
        source.execute(f"CREATE TABLE {self.name}.changes (id BIGINT, counter INT, what VARCHAR(6))")
        for table in _TABLES:
            ((_, create),) = source.execute(f"SHOW CREATE TABLE {self.name}.{table}")
            connection = target.connect(database=self.name)
            connection.cursor().execute(create)
            connection.close()
        for event, row in _EVENTS.items():
            source.execute(
                f"CREATE TRIGGER {self.name}.after_{event} AFTER {event} ON {self.name}.hot_item FOR EACH ROW "
                f"INSERT INTO {self.name}.changes VALUES ({row}.id, {row}.counter, '{event}')"
            )

    def start(self, *hosts: str, how: Any = None, part: Sequence[str] = ()) -> TargetBus:
        super().start(*hosts, how=how, part=part)
        return self

    def wait_delivered(self, more: int, timeout: float = 40.0) -> None:
        """Until the target has `more` changes than now."""
        before = self._count()
        wait_for(lambda: self._count() >= before + more, lambda: f"{more} more changes; {self.logs()}", timeout)

    def _count(self) -> int:
        with contextlib.suppress(Exception):  # the server is away for a while
            return int(self.target.execute(f"SELECT COUNT(*) FROM {self.name}.changes")[0][0])
        return 0

    def differences(self, timeout: float = 40.0) -> list[str]:
        """Stops the writer, waits for the rest, and compares all rows."""
        self.writer.stop()
        wanted = self.rows(self.database, "changes")
        with contextlib.suppress(ServerFailed):
            wait_for(lambda: self.rows(self.target, "changes") == wanted, "everything to arrive", timeout, every=0.3)
        return [line for table in _TABLES for line in self._compared(table)]

    def rows(self, server: Database, table: str) -> Counter[tuple[Any, ...]]:
        return Counter(server.execute(f"SELECT * FROM {self.name}.{table}"))

    def _compared(self, table: str) -> list[str]:
        there, here = self.rows(self.database, table), self.rows(self.target, table)
        missing, extra = list((there - here).elements()), list((here - there).elements())
        found = [f"{table}: {len(missing)} rows are missing: {missing[:3]}"] if missing else []
        return found + ([f"{table}: {len(extra)} rows are too many: {extra[:3]}"] if extra else [])

    def position(self) -> tuple[int, int]:
        """Epoch and sequence in the task's row."""
        ((epoch, sequence),) = self.target.execute(
            f"SELECT epoch, sequence FROM {self.name}_position.replicator_position WHERE task = '{self.name}'"
        )
        return int(epoch), int(sequence)

    def divided(self) -> int:
        """Commits over several connections so far."""
        found = self.target.execute(
            f"SELECT sequence FROM {self.name}_position.replicator_position WHERE task = '{self.name}/0'"
        )
        return int(found[0][0]) if found else 0

    def close(self) -> None:
        super().close()
        for server in (self.target, *self._more):
            with contextlib.suppress(Exception):
                server.execute(f"DROP DATABASE IF EXISTS {self.name}")
                server.execute(f"DROP DATABASE IF EXISTS {self.name}_position")
