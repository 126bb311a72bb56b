"""The two connections of a snapshot reader: one sends rows, the other answers questions meanwhile.

The rows of one SELECT take a connection until the last of them is read. What has to be known before that (the
definition that the SELECT holds, the end of the log) is asked on the other one.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

from replicator.config.task import MySQLSource as Config
from replicator.errors import ReplicatorError, SourceUnavailable
from replicator.mysql import reading
from replicator.mysql.server import read_server
from replicator.mysql.session import Session
from replicator.source.mysql.snapshot import connection_limit


class Connections:
    """Opens `control` at once, `rows` when it is first used and again after `drop_rows`.

    Args:
        config: with one host and port.
        one_view: all rows are read in one transaction, so `rows` is not opened again.

    Raises:
        SourceUnavailable, SourceError: as `Session`.
    """

    def __init__(self, config: Config, password: str, *, one_view: bool = False) -> None:
        self._config, self._password = config, password
        self._one_view, self._dropped = one_view, ""
        self._rows: Session | None = None
        self._using = threading.Lock()
        self.closed = threading.Event()
        self.control = self._session()
        try:
            self.server = read_server(self.control)
            reading.prepare(self.control, self.server)
        except BaseException:
            self.control.close()
            raise

    @property
    def rows(self) -> Session:
        """Its answers are as they are stored: no character set is converted."""
        if self._rows is None:
            self._check()
            if self._dropped:
                raise view_lost(self.control.where, self._dropped)
            session = self._session()
            try:
                reading.prepare(session, self.server)
                level = "REPEATABLE READ" if self.server.mariadb or self._one_view else "READ COMMITTED"
                session.rows("SET SESSION TRANSACTION ISOLATION LEVEL " + level)
                reading.as_stored(session)
            except BaseException:
                session.close()
                raise
            self._rows = session
            self._check()
        return self._rows

    def _session(self) -> Session:
        try:
            return Session(self._config, self._password)
        except ReplicatorError as error:
            raise connection_limit.explained(error, self._config) from error

    def drop_rows(self, why: str = "a statement was broken off") -> None:
        """Ends the statement that is still sending, and the transaction that it is in."""
        if self._rows is not None:
            self._dropped = why if self._one_view else ""
            _shut(self._rows)
            self._rows.close()
            self._rows = None

    @contextlib.contextmanager
    def used(self) -> Iterator[None]:
        """While a thread asks; `close` of another thread ends it. Raises SourceUnavailable: it is closed."""
        with self._using:
            try:
                self._check()
                yield
            finally:
                if self.closed.is_set():
                    self._release()

    def pause(self, seconds: float) -> None:
        """Raises SourceUnavailable when it was closed meanwhile."""
        self.closed.wait(seconds)
        self._check()

    def close(self) -> None:
        """May be called from any thread and more than once."""
        self.closed.set()
        for session in (self.control, self._rows):
            if session is not None:
                _shut(session)
        if self._using.acquire(blocking=False):
            try:
                self._release()
            finally:
                self._using.release()

    def _check(self) -> None:
        if self.closed.is_set():
            raise SourceUnavailable(
                "E2002", f"the snapshot of {self.control.where} ended", found="this process closed it"
            )

    def _release(self) -> None:
        self.drop_rows()
        self.control.close()


def view_lost(where: str, why: str, **fields: str) -> SourceUnavailable:
    """A consistent view can't be used any more."""
    return SourceUnavailable("E2225", f"the consistent view of {where} is lost", found=why, **fields)


def _shut(session: Session) -> None:
    with contextlib.suppress(OSError):
        # The plain socket's method: SSLSocket.shutdown would take the TLS state away from under a reader.
        socket.socket.shutdown(session.packets.sock, socket.SHUT_RDWR)
