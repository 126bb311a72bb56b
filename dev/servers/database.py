"""MySQL and MariaDB from their templates, with accounts `root` (no password) and `replicator`/`replicator`."""

from __future__ import annotations

import abc
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pymysql

from dev.fetch import databases
from dev.servers.base import Server

_server_ids = itertools.count(1)


class Database(Server):
    """What both have in common; see MySQL and MariaDB for the differences."""

    replicator: ClassVar[tuple[str, str]] = ("replicator", "replicator")

    def __init__(
        self,
        *,
        port: int | None = None,
        fast: bool = False,
        folder: Path | None = None,
        server_id: int | None = None,
        extra_args: Sequence[str] = (),
    ) -> None:
        super().__init__(port=port, fast=fast, folder=folder)
        self.server_id = server_id or next(_server_ids)
        self.extra_args = list(extra_args)

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

    @property
    def socket_path(self) -> Path:
        return self.folder / "s"

    @abc.abstractmethod
    def _program(self) -> list[str]: ...

    @abc.abstractmethod
    def _own_settings(self) -> list[str]: ...

    def _command(self) -> list[str]:
        # A server deletes every #sql* file of its tmpdir when it starts, whoever it belongs to.
        scratch = self.folder / "tmp"
        scratch.mkdir(exist_ok=True)
        return [
            *self._program(),
            f"--datadir={self.folder / 'data'}",
            f"--tmpdir={scratch}",
            f"--socket={self.socket_path}",
            f"--pid-file={self.folder / 'pid'}",
            f"--port={self.port}",
            f"--bind-address={self.host}",
            f"--server-id={self.server_id}",
            "--skip-name-resolve",
            "--log-bin=binlog",
            "--binlog-format=ROW",
            "--binlog-row-image=FULL",
            "--binlog-row-metadata=FULL",
            "--character-set-server=utf8mb4",
            "--default-time-zone=+00:00",
            "--innodb-buffer-pool-size=64M",
            "--innodb-flush-log-at-trx-commit=1",
            "--performance-schema=OFF",
            "--max-connections=200",
            *self._own_settings(),
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

    def _prepare(self) -> None:
        databases.copy_template(databases.mysql_template(), self.folder / "data")

    def _program(self) -> list[str]:
        return databases.mysqld()

    def _own_settings(self) -> list[str]:
        return [
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--innodb-redo-log-capacity=32M",
            "--log-error-verbosity=1",
        ]


class MariaDB(Database):
    name = "MariaDB"

    def _prepare(self) -> None:
        databases.copy_template(databases.mariadb_template(), self.folder / "data")

    def _program(self) -> list[str]:
        return databases.mariadbd()

    def _own_settings(self) -> list[str]:
        return ["--gtid-strict-mode=ON", "--innodb-log-file-size=16M", "--log-warnings=1"]
