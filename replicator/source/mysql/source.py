"""MySQL and MariaDB behind the Source port: see DESIGN.md."""

from __future__ import annotations

import hashlib

from replicator.config.task import MySQLSource as Config
from replicator.model.position import Position
from replicator.source.mysql import dump, positions, preflight, tables
from replicator.source.mysql.server import read_server
from replicator.source.mysql.session import Session
from replicator.source.mysql.stream import MySQLStream

_SCAN_SECONDS = 60.0  # MariaDB walks one binlog file, 1 GB by default, before it sends the first event after a GTID


def derived_server_id(task: str) -> int:
    """Our replica id when the configuration names none: in the upper half of the range, 2^31 to 2^32-1, where people
    rarely number servers, and the same for every instance of the task, so that a stream of an instance that is gone is
    ended by the server when the next one asks."""
    return (1 << 31) | int.from_bytes(hashlib.sha256(task.encode()).digest()[:4], "big")


class MySQLSource:
    """Streams the binlog of one server. Makes one connection per question and one per stream, and never reconnects by
    itself: a stream that ends raises SourceUnavailable, and the pipeline opens another one.

    Args:
        config: the `source` part of the task.
        task: the task's name; shown in SHOW REPLICAS.
        password: resolved.
        server_id: our replica id; default: the configured one, else derived from the task's name.
    """

    def __init__(self, config: Config, task: str, password: str, server_id: int | None = None) -> None:
        self._config = config
        self._task = task
        self._password = password
        self.server_id = server_id or config.server_id or derived_server_id(task)

    def start_position(self) -> Position:
        with Session(self._config, self._password) as session:
            server = read_server(session)
            preflight.check(server, self._config)
            tables.check_named(session, self._config)
            return positions.start_position(session, server, self._config)

    def end_position(self) -> Position:
        with Session(self._config, self._password) as session:
            return positions.end_position(session, read_server(session))

    def open(self, position: Position) -> MySQLStream:
        session = Session(self._config, self._password)
        try:
            server = read_server(session)
            preflight.check(server, self._config)
            positions.check(session, server, position)
            dump.start(session, server, self._config, self._task, self.server_id, position)
            scans = server.mariadb and positions.by_gtid(server, position)
            patience = max(self._config.connect_timeout_s, _SCAN_SECONDS if scans else 0)
            return MySQLStream(session, position, 2 * self._config.heartbeat_s, patience)
        except BaseException:
            session.close()
            raise
