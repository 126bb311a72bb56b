"""A logged-in connection for queries: every statement that sources send is in these few methods."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self

from pymysql.connections import Connection
from pymysql.constants import CLIENT

from replicator.config.addresses import addresses
from replicator.config.database_server import DatabaseServer
from replicator.errors import ReplicatorError
from replicator.mysql import authentication, server_errors
from replicator.mysql.packets import PacketSocket
from replicator.mysql.server_errors import CLIENT_ERRORS
from replicator.mysql.sides import side_of
from replicator.net import tls

_REMINDER = tls.Reminder()


class Session:
    """One connection, to `host` and `port`; a configuration with `hosts` is refused: one of its `candidates` is wanted.
    Raises the errors of its side: `sides`.

    `timeout`: seconds that one answer may take; it does not hold for the dump that follows. `certificate_days`: until
    the server's certificate ends, None without one that was verified. `packets`: the socket below, for what is not a
    statement.
    """

    def __init__(
        self, config: DatabaseServer, password: str, *, found_rows: bool = False, sends_rows: bool = False
    ) -> None:
        """
        Args:
            found_rows: ROW_COUNT() counts rows that a statement has met, also where it has not changed them.
            sends_rows: LOAD DATA LOCAL may be executed, by `multi_statements`; PyMySQL is never allowed to send a file.
        """
        if config.host is None or config.port is None:
            raise ValueError("a session is with one server: see `hosts.candidates`")
        if config.hosts and (config.host, config.port) not in addresses(config.hosts):
            raise ValueError(f"{config.host}:{config.port} is not in `{config.section}.hosts`")
        self.where = f"{config.host}:{config.port}"
        self.user = config.user
        self.side = side_of(config.section)
        context, timeout = _context(config), max(1, config.connect_timeout_s)
        self.packets = PacketSocket(context)
        plugins = authentication.auth_plugins(config, self.where, self.packets)
        try:
            self.connection: Connection[Any] = Connection(
                host=config.host,
                port=config.port,
                user=config.user,
                password=authentication.password(config, password, self.where),
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=timeout,
                read_timeout=timeout,
                write_timeout=timeout,
                program_name="mysql-replicator",
                ssl=context,
                ssl_disabled=context is None,
                local_infile=False,
                client_flag=CLIENT.FOUND_ROWS * found_rows | CLIENT.LOCAL_FILES * sends_rows,
                auth_plugin_map=plugins,
                defer_connect=True,
            )
            self.connection.connect(self.packets.open(config.host, config.port, timeout))
        except CLIENT_ERRORS as error:
            raise server_errors.connect_error(self.side, error, self.where, config.user) from error
        except authentication.PROTOCOL_ERRORS as error:
            raise authentication.protocol_error(self.side, error, self.where) from error
        self.certificate_days = tls.days_left(self.packets.sock)
        _REMINDER.look(self.where, self.certificate_days)

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql, tuple(values) or None)
                return list(cursor.fetchall())
        except CLIENT_ERRORS as error:
            raise self.error(error) from error
        except authentication.PROTOCOL_ERRORS as error:
            raise self._broken(error) from error

    def value(self, sql: str, values: Sequence[object] = ()) -> Any:
        """The first column of the first row; None without rows."""
        rows = self.rows(sql, values)
        return rows[0][0] if rows else None

    def refusal(self, sql: str) -> int:
        """The number of the error that the server answers with; 0 when it answers at all."""
        try:
            with self.connection.cursor() as cursor:
                cursor.execute(sql)
        except CLIENT_ERRORS as error:
            number = error.args[0] if error.args else None
            if not isinstance(number, int) or number in server_errors.UNAVAILABLE:
                raise self.error(error) from error
            return number
        except authentication.PROTOCOL_ERRORS as error:
            raise self._broken(error) from error
        return 0

    def _broken(self, error: Exception) -> ReplicatorError:
        """For an answer that is none: also a request for a file, which PyMySQL does not send."""
        self.abort()
        return authentication.protocol_error(self.side, error, self.where)

    def error(self, error: Exception) -> ReplicatorError:
        """For an exception of a statement or command on this connection."""
        return server_errors.query_error(self.side, error, self.where, self.user)

    def abort(self) -> None:
        """Closes without a word: what is half sent is never completed by the bytes of a farewell."""
        with contextlib.suppress(OSError):
            self.packets.sock.shutdown(socket.SHUT_RDWR)
        self.close()

    def close(self) -> None:
        if self.connection.open:
            self.connection.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _context(config: DatabaseServer) -> ssl.SSLContext | None:
    """None where the task has no `tls`: then nothing is encrypted."""
    try:
        return tls.context(config.tls) if config.tls is not None else None
    except tls.FilesUnusable as error:
        side = side_of(config.section)
        what = f"the files of `{config.section}.tls` can't be used"
        raise side.refused(side.tls, what, found=str(error), wanted="readable PEM files") from error
