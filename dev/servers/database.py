"""MySQL and MariaDB from their templates, with accounts `root` (no password) and `replicator`/`replicator`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Final

import pymysql

from dev.fetch import databases
from dev.fetch.releases import MARIADB, MYSQL, Release
from dev.servers.base import Server
from dev.servers.wall_clock import WallClock

_server_ids = itertools.count(1)

_SETTINGS: Final = {
    "log-bin": "binlog",
    "binlog-format": "ROW",
    "binlog-row-image": "FULL",
    "binlog-row-metadata": "FULL",
    "character-set-server": "utf8mb4",
    "default-time-zone": "+00:00",
    "innodb-buffer-pool-size": "64M",
    "innodb-flush-log-at-trx-commit": "1",
    "performance-schema": "OFF",
    "max-connections": "200",
}


class Database(Server):
    """What both have in common; see MySQL and MariaDB for the differences."""

    replicator: ClassVar[tuple[str, str]] = ("replicator", "replicator")
    newest: ClassVar[Release]

    def __init__(
        self,
        *,
        port: int | None = None,
        fast: bool = False,
        folder: Path | None = None,
        server_id: int | None = None,
        extra_args: Sequence[str] = (),
        release: Release | None = None,
        own_clock: bool = False,
    ) -> None:
        """`release`: None for the newest one. own_clock: its wall clock can be set."""
        super().__init__(port=port, fast=fast, folder=folder)
        self.own_clock = own_clock
        self.server_id = server_id or next(_server_ids)
        self.extra_args = list(extra_args)
        self.release = release or self.newest

    def connect(self, **options: Any) -> pymysql.connections.Connection[Any]:
        """A connection as root with autocommit; `options` go to pymysql.connect. Without TLS, which would read the
        system's certificates each time: 35 ms of CPU."""
        settings = {
            "user": "root",
            "password": "",
            "autocommit": True,
            "charset": "utf8mb4",
            "connect_timeout": 10,
            "ssl_disabled": True,
        }
        return pymysql.connect(host=self.host, port=self.port, **{**settings, **options})

    def execute(self, sql: str, args: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """One statement as root on a connection of its own; its rows."""
        connection = self.connect()
        try:
            with connection.cursor() as cursor:
                cursor.execute(sql, args or None)
                return list(cursor.fetchall())
        finally:
            connection.close()

    def end_of_log(self) -> tuple[str, int]:
        """File and offset."""
        modern = self.release.flavour == "mysql" and self.release.version >= (8, 2)
        file, offset = self.execute("SHOW BINARY LOG STATUS" if modern else "SHOW MASTER STATUS")[0][:2]
        return str(file), int(offset)

    @property
    def clock(self) -> WallClock:
        return WallClock(self.folder, self.name)

    @property
    def socket_path(self) -> Path:
        return self.folder / "s"

    def _prepare(self) -> None:
        databases.copy_template(databases.template(self.release), self.folder / "data")
        if self.own_clock:
            self.clock.prepare()

    def _command(self) -> list[str]:
        # A server deletes every #sql* file of its tmpdir when it starts, whoever it belongs to.
        scratch = self.folder / "tmp"
        scratch.mkdir(exist_ok=True)
        program = databases.command(self.release)
        return [
            *(self.clock.command(program) if self.own_clock else program),
            f"--datadir={self.folder / 'data'}",
            f"--tmpdir={scratch}",
            f"--socket={self.socket_path}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            f"--bind-address={self.host}",
            f"--server-id={self.server_id}",
            "--skip-name-resolve",
            *[f"--{name}={value}" for name, value in _SETTINGS.items() if name not in self.release.lacks],
            *self.release.settings,
            *self.extra_args,
        ]

    def _serves(self) -> bool:
        try:
            connection = self.connect(connect_timeout=2)
        except (pymysql.Error, OSError):
            return False
        connection.ping(reconnect=False)
        connection.close()
        return True


class MySQL(Database):
    name = "MySQL"
    newest = MYSQL


class MariaDB(Database):
    name = "MariaDB"
    newest = MARIADB
