"""The SnapshotSource port for MySQL and MariaDB. See DESIGN.md."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from replicator.config.task import MySQLSource as Config
from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.model.origin import Origin
from replicator.mysql.hosts import candidates
from replicator.mysql.session import Session
from replicator.pipeline.ports import ConsistentViews
from replicator.source.mysql.snapshot import connection_limit
from replicator.source.mysql.snapshot.connections import Connections
from replicator.source.mysql.snapshot.consistent_views import FixedView, open_views
from replicator.source.mysql.snapshot.reader import MySQLSnapshotReader, RowTests, no_tests

_ALL: Final[Mapping[str, str]] = MappingProxyType({})


class MySQLSnapshotSource:
    """
    Args:
        config: the `source` part of the task.
        password: resolved.
        where: `database.table` -> SQL condition, from the operator's configuration: only rows for which it is true are
            read. It goes into the statement as it is.
        tests: database, table -> tests that rows have to pass; those that fail one may be left out.
        logged_only: see `MySQLSnapshotReader`.
    """

    def __init__(
        self,
        config: Config,
        password: str,
        where: Mapping[str, str] = _ALL,
        tests: RowTests = no_tests,
        *,
        logged_only: bool = False,
    ) -> None:
        self._logged_only = logged_only
        self._config, self._password, self._where, self._tests = config, password, where, tests

    def open(self, server: str) -> MySQLSnapshotReader:
        """The server of `source.hosts` that `server` names; the first that answers where it names none."""
        connections = self._connect(server)[1]
        try:
            connection_limit.check(connections.control, self._config)
        except BaseException:
            connections.close()
            raise
        return self._reader(connections)

    def open_views(self, server: str, count: int, tables: Sequence[str]) -> ConsistentViews:
        member, first = self._connect(server, one_view=True)
        with contextlib.ExitStack() as opened:
            opened.callback(first.close)
            connections = [first]
            for _ in range(count - 1):
                connections.append(Connections(member, self._password, one_view=True))
                opened.callback(connections[-1].close)
            with Session(member, self._password) as locking:
                found = open_views(connections, locking, first.server, tables)
            opened.pop_all()
        pairs = zip(connections, found.views, strict=True)
        return ConsistentViews([self._reader(each, view) for each, view in pairs], found.place, found.lock_s)

    def _reader(self, connections: Connections, view: FixedView | None = None) -> MySQLSnapshotReader:
        return MySQLSnapshotReader(
            connections, self._config, self._where, self._tests, view, logged_only=self._logged_only
        )

    def _connect(self, server: str, *, one_view: bool = False) -> tuple[Config, Connections]:
        """The host, and the first connections to it."""
        wanted = Origin.parse(server).server
        found: list[str] = []
        errors: list[ReplicatorError] = []
        for member in candidates(self._config):
            try:
                connections = Connections(member, self._password, one_view=one_view)
            except ReplicatorError as error:
                errors.append(error)
                found.append(f"{member.host}:{member.port}: {error.code} {error.what}")
                continue
            identity = connections.server.identity
            if wanted in ("", identity):
                return member, connections
            connections.close()
            found.append(f"{member.host}:{member.port}: {identity}")
        if errors and len(found) == 1:
            raise errors[0]
        raise SourceUnavailable(
            "E2001",
            "no server of `source` has the binlog that the task reads",
            found="; ".join(found),
            wanted=wanted,
            fix="Make the server that the task streams from reachable; the task retries.",
        )
