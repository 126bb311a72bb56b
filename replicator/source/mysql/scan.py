"""How long an event of a binlog is, where SHOW BINLOG EVENTS can't say: it refuses those over max_allowed_packet, which
may have been larger when they were written. The server's dump thread knows no such limit."""

from __future__ import annotations

import struct
import time
import uuid

from replicator.config.task import MySQLSource
from replicator.errors import SourceUnavailable
from replicator.model.position import Position
from replicator.model.replica_id import derived
from replicator.source.mysql import dump
from replicator.source.mysql.server import Server
from replicator.source.mysql.session import Session
from replicator.source.mysql.stream import MySQLStream

_PACKET = 4  # bytes of a packet's header: length (3), number (1)
_EVENT = struct.Struct("<IBIIIH")  # time, type, server id, length, end of the event in its file, flags
_OK = b"\0"
_WAIT = 1.0


def event_length(config: MySQLSource, password: str, task: str, server: Server, at: Position) -> int:
    """Bytes of the event that begins at `at`. Opens a stream there and reads no more than the event's header; under a
    replica id of its own, so that it doesn't end the task's stream.

    Source: MySQL's protocol page COM_BINLOG_DUMP and "Binlog Event header". Raises SourceError, SourceUnavailable.
    """
    session = Session(config, password)
    try:
        dump.start(
            session, server, config, task, derived(f"{task}:scan:{uuid.uuid4().hex}"), Position(at.file, at.offset)
        )
        stream = MySQLStream(session, at, 2 * config.heartbeat_s, config.connect_timeout_s)
    except BaseException:
        session.close()
        raise
    try:
        return _length(stream, at.offset, time.monotonic() + config.connect_timeout_s)
    finally:
        stream.close()


def _length(stream: MySQLStream, offset: int, deadline: float) -> int:
    """The server first sends a ROTATE and a FORMAT_DESCRIPTION that stand elsewhere, and are small."""
    held = b""
    while time.monotonic() < deadline:
        held += stream.read(_WAIT)
        while len(held) >= _PACKET + 1 + _EVENT.size:
            if held[_PACKET : _PACKET + 1] != _OK:
                errno, message = int.from_bytes(held[5:7], "little"), held[13:].decode(errors="replace")
                raise stream.server_error(errno, "", message)
            _, _, _, length, end, _ = _EVENT.unpack_from(held, _PACKET + 1)
            if end - length == offset:
                return int(length)
            size = _PACKET + int.from_bytes(held[:3], "little")
            if len(held) < size:
                break
            held = held[size:]
    raise SourceUnavailable("E2002", f"the event at {stream.position.file}:{offset} was not sent in time")
