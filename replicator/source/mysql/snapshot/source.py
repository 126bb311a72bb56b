"""The SnapshotSource port for MySQL and MariaDB. See DESIGN.md."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from replicator.config.task import MySQLSource as Config
from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.model.origin import Origin
from replicator.source.mysql.hosts import candidates
from replicator.source.mysql.snapshot.connections import Connections
from replicator.source.mysql.snapshot.reader import MySQLSnapshotReader

_ALL: Final[Mapping[str, str]] = MappingProxyType({})


class MySQLSnapshotSource:
    """
    Args:
        config: the `source` part of the task.
        password: resolved.
        where: `database.table` -> SQL condition, from the operator's configuration: only rows for which it is true are
            read. It goes into the statement as it is.
    """

    def __init__(self, config: Config, password: str, where: Mapping[str, str] = _ALL) -> None:
        self._config, self._password, self._where = config, password, where

    def open(self, server: str) -> MySQLSnapshotReader:
        """The server of `source.hosts` that `server` names; the first that answers where it names none."""
        wanted = Origin.parse(server).server
        found: list[str] = []
        errors: list[ReplicatorError] = []
        for member in candidates(self._config):
            try:
                connections = Connections(member, self._password)
            except ReplicatorError as error:
                errors.append(error)
                found.append(f"{member.host}:{member.port}: {error.code} {error.what}")
                continue
            identity = connections.server.identity
            if wanted in ("", identity):
                return MySQLSnapshotReader(connections, self._config, self._where)
            connections.close()
            found.append(f"{member.host}:{member.port}: {identity}")
        if errors and len(found) == 1:
            raise errors[0]
        raise SourceUnavailable(
            "E2001", "no server of `source` is the one whose binlog is read", found="; ".join(found), wanted=wanted
        )
