"""How many bytes of a server's binlog come after a position, at little cost for the server."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Final

from replicator.errors import ReplicatorError
from replicator.model.behind import Behind, behind
from replicator.model.origin import Origin
from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.mysql.session import Session
from replicator.source.mysql.logs import logs

_SECONDS: Final = 60.0
"""The server opens each file for its list. A file that is complete does not grow."""


class LogSizes:
    """Keeps the sizes of files that were listed. For one thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._listed_at: float | None = None
        self._server = ""
        self._sizes: dict[str, int] = {}

    def behind(self, session: Session, server: Server, delivered: Position, end: Position) -> Behind:
        """Lists the files only where `delivered` is in another one than `end`, at most once a minute. An account that
        may not list them leaves the bytes unknown."""
        whose = Origin.parse(delivered.server).server
        same = not whose or whose == server.identity
        if same and delivered.file != end.file:
            self._list(session, server)
        return behind(delivered, end, self._sizes, same_server=same)

    def _list(self, session: Session, server: Server) -> None:
        now = self._clock()
        if self._server == server.identity and self._listed_at is not None and now - self._listed_at < _SECONDS:
            return
        self._server, self._listed_at, self._sizes = server.identity, now, {}
        with contextlib.suppress(ReplicatorError):
            self._sizes = {log.file: log.size for log in logs(session)}
