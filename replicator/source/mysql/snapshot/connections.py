"""The two connections of a snapshot reader: one sends rows, the other answers questions meanwhile.

The rows of one SELECT take a connection until the last of them is read. What has to be known before that (the
definition that the SELECT holds, the end of the log) is asked on the other one.
"""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final

from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceUnavailable
from replicator.source.mysql.server import Server, read_server
from replicator.source.mysql.session import Session

_PATIENCE_S: Final = 86_400
"""How long the server waits for us: a pipeline that pauses leaves rows in the socket."""
_COMMON: Final = (
    "time_zone = '+00:00'",
    "sql_mode = ''",
    "sql_quote_show_create = 1",
    "sql_big_selects = 1",
    "sql_select_limit = DEFAULT",
    f"net_write_timeout = {_PATIENCE_S}",
    f"wait_timeout = {_PATIENCE_S}",
)


class Connections:
    """Opens `control` at once, `rows` when it is first used and again after `drop_rows`.

    Args:
        config: with one host and port.

    Raises:
        SourceUnavailable, SourceError: as `Session`.
    """

    def __init__(self, config: Config, password: str) -> None:
        self._config, self._password = config, password
        self._rows: Session | None = None
        self._using = threading.Lock()
        self.closed = threading.Event()
        self.control = Session(config, password)
        try:
            self.server = read_server(self.control)
            _set(self.control, self.server)
        except BaseException:
            self.control.close()
            raise

    @property
    def rows(self) -> Session:
        """Its answers are as they are stored: no character set is converted."""
        if self._rows is None:
            self._check()
            session = Session(self._config, self._password)
            try:
                _set(session, self.server)
                level = "REPEATABLE READ" if self.server.mariadb else "READ COMMITTED"
                session.rows("SET SESSION TRANSACTION ISOLATION LEVEL " + level)
                session.rows("SET SESSION character_set_results = NULL")
            except BaseException:
                session.close()
                raise
            self._rows = session
            self._check()
        return self._rows

    def drop_rows(self) -> None:
        """Ends the statement that is still sending, and the transaction that it is in."""
        if self._rows is not None:
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
            raise SourceUnavailable("E2002", f"the snapshot of {self.control.where} ended", found="it was closed by us")

    def _release(self) -> None:
        self.drop_rows()
        self.control.close()


def _set(session: Session, server: Server) -> None:
    settings = [*_COMMON]
    if server.mariadb:
        settings.append("max_statement_time = 0")
    elif server.version >= (5, 7, 8):
        settings.append("max_execution_time = 0")
    if not server.mariadb and server.version >= (8, 0, 30):
        settings.append("show_gipk_in_create_table_and_information_schema = ON")
    session.rows("SET SESSION " + ", ".join(settings))


def _shut(session: Session) -> None:
    with contextlib.suppress(OSError):
        # The plain socket's method: SSLSocket.shutdown would take the TLS state away from under a reader.
        socket.socket.shutdown(session.packets.sock, socket.SHUT_RDWR)
