"""Several statements in one packet: one round trip, and the server stops at the first that fails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Final

import msgspec

from replicator.errors import ReplicatorError
from replicator.mysql import server_errors
from replicator.mysql.server_errors import CLIENT_ERRORS
from replicator.mysql.session import Session
from replicator.mysql.statement_text import Pieces, Text, loads_of

_SET_OPTION: Final = b"\x1b\x00\x00"
"""COM_SET_OPTION with MYSQL_OPTION_MULTI_STATEMENTS_ON."""
_QUERY: Final = b"\x03"
_FILE: Final = 0xFB
"""First byte of an answer that asks for the rows of a LOAD DATA LOCAL."""
_UNASKED: Final = "the server asks for a file that no statement has named"


class Outcome(msgspec.Struct):
    """Of a packet: the number of statements that were executed, and the error of the one behind them, if any."""

    done: int
    error: ReplicatorError | None = None

    @property
    def number(self) -> int:
        """Of the server's error; 0 without one."""
        return server_errors.number_of(self.error) if self.error is not None else 0


def enable(session: Session) -> None:
    """Raises the errors of its side."""
    try:
        session.packets.command(_SET_OPTION)
        if session.packets.receive()[0] == _FILE:
            raise ConnectionError(_UNASKED)
    except CLIENT_ERRORS as error:
        raise _lost(session, session.error(error)) from error


def execute(session: Session, text: Text, statements: int, timeout: float) -> Outcome:
    """Executes `text`, `statements` statements without a result set.

    Args:
        timeout: seconds that each answer may take.

    Raises the errors of the session's side where the connection is lost; the outcome is unknown then.
    """
    send(session, text, timeout)
    return receive(session, statements, timeout, loads_of(text))


def send(session: Session, text: Text, timeout: float) -> None:
    """Without waiting for the outcome: `receive` has to follow. Arguments and errors as those of `execute`."""
    packets = session.packets
    try:
        packets.sock.settimeout(timeout)
        if isinstance(text, bytes):
            packets.command(_QUERY + text)
        else:
            packets.long_command(len(_QUERY) + len(text), chain((_QUERY,), text.pieces()))
    except CLIENT_ERRORS as error:
        raise _lost(session, session.error(error)) from error
    except BaseException:
        session.abort()  # a part of it was sent
        raise


def receive(session: Session, statements: int, timeout: float, loads: Sequence[Pieces] = ()) -> Outcome:
    """The answers are counted: BINLOG's says that no other one follows, whatever follows. Errors as those of
    `execute`.

    Args:
        loads: rows of the LOAD DATA LOCAL among the statements. The server names a file when it asks for them; nothing
            but these rows is ever sent to it, and a server that asks once more loses the connection.
    """
    packets, waiting = session.packets, iter(loads)
    done = 0
    try:
        packets.sock.settimeout(timeout)
        while done < statements:
            if packets.receive()[0] == _FILE:
                rows = next(waiting, None)
                if rows is None:
                    raise ConnectionError(_UNASKED)
                packets.file(rows())
                continue
            done += 1
    except CLIENT_ERRORS as error:
        made = session.error(error)
        made.__cause__ = error
        number = server_errors.number_of(made)
        if not number or number in server_errors.UNAVAILABLE:
            raise _lost(session, made) from error
        return Outcome(done, made)
    except BaseException:
        session.abort()
        raise
    return Outcome(done)


def _lost(session: Session, error: ReplicatorError) -> ReplicatorError:
    session.abort()
    return error
