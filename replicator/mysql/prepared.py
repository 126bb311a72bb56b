"""Prepared statements: the answers of a snapshot in the binary protocol.

Integers, floating point numbers and times come as in the server's memory, so nothing is lost (a FLOAT as text has six
digits), and most values are copied into the row image. PyMySQL has no prepared statements; the packets go over its
connection's socket. Source: the protocol pages COM_STMT_PREPARE, COM_STMT_EXECUTE and "Binary Protocol Resultset".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from replicator.errors import ReplicatorError
from replicator.mysql.packets import error_of
from replicator.mysql.session import Session

_PREPARE, _EXECUTE, _CLOSE = b"\x16", b"\x17", b"\x19"
_SILENCE_S: Final = 600.0
"""For the first row, and between two: a row condition may skip millions."""
_EOF: Final = 0xFE
_EOF_BYTES: Final = 8
"""At most; a row that begins with this byte is longer."""


class Answer:
    """One question and its rows, which come as they are taken; the next question has to wait for the last of them.

    Attributes:
        types: of the columns, as the binary protocol sends them (`model.types`).
    """

    def __init__(self, session: Session, sql: str) -> None:
        """Raises SourceUnavailable, SourceError: as `Session.rows`."""
        self._session, self._packets = session, session.packets
        try:
            self._packets.sock.settimeout(_SILENCE_S)
            self._packets.command(_PREPARE + sql.encode())
            self._statement, columns, parameters = struct.unpack_from("<IHH", self._packets.receive(), 1)
            self._definitions(parameters)
            self._definitions(columns)
            self._packets.command(_EXECUTE + struct.pack("<IBI", self._statement, 0, 1))
            self._packets.receive()  # the number of columns
            self.types = self._definitions(columns)
        except Exception as error:
            raise self._error(error) from error

    def rows(self) -> Iterator[bytes]:
        """The packets of the rows, instead of `receive_into`. Raises SourceUnavailable, SourceError."""
        try:
            while (row := self._packets.receive_long())[0] != _EOF or len(row) > _EOF_BYTES:
                yield row
            self._close()
        except Exception as error:
            raise self._error(error) from error

    def receive_into(self, view: memoryview) -> int:
        """See `PacketSocket.receive_into`. Raises SourceUnavailable, SourceError."""
        try:
            return self._packets.receive_into(view)
        except Exception as error:
            raise self._error(error) from error

    def close(self) -> None:
        """Behind the last row. Raises SourceUnavailable."""
        try:
            self._close()
        except Exception as error:
            raise self._error(error) from error

    def failed(self, payload: bytes) -> ReplicatorError:
        """For the payload of an ERR packet."""
        cause = error_of(payload)
        error = self._error(cause)
        error.__cause__ = cause
        return error

    def _close(self) -> None:
        self._packets.command(_CLOSE + struct.pack("<I", self._statement))

    def _error(self, error: Exception) -> ReplicatorError:
        return self._session.error(error)

    def _definitions(self, count: int) -> list[int]:
        """The types in `count` column definitions and the EOF packet behind them; none where there are no columns.

        Of a definition the last 13 bytes are fixed: 0x0C, character set, length, type, flags, decimals, two bytes 0.
        """
        kinds = [self._packets.receive()[-6] for _ in range(count)]
        if count:
            self._packets.receive()
        return kinds
