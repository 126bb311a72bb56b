"""Reads event headers that SHOW BINLOG EVENTS does not show, from a short separate stream.

How long an event is: SHOW BINLOG EVENTS refuses those over max_allowed_packet, which may have been larger when they
were written; the dump thread knows no such limit. And when a file was created.
"""

from __future__ import annotations

import struct
import time
import uuid
from collections.abc import Callable
from typing import NamedTuple

from replicator.config.task import MySQLSource
from replicator.errors import SourceError, SourceUnavailable
from replicator.model.origin import Ended, Origin
from replicator.model.position import Position
from replicator.model.replica_id import derived
from replicator.mysql.server import Server, read_server
from replicator.mysql.session import Session
from replicator.source.binlog_layout import HEADER
from replicator.source.mysql import dump
from replicator.source.mysql.stream import MySQLStream

_PACKET = 4  # bytes of a packet's header: length (3), number (1)
_EVENT = struct.Struct("<IBIIIH")
_FORMAT_DESCRIPTION = 15
_WRAP = 1 << 32  # headers have 4 bytes for it
_OK = b"\0"
_WAIT = 1.0


class _Header(NamedTuple):
    """Of an event. `time`: s since the epoch; `length` in bytes; `end`: of the event in its file."""

    time: int
    type: int
    server_id: int
    length: int
    end: int
    flags: int


def event_length(config: MySQLSource, password: str, task: str, server: Server, at: Position) -> int:
    """Bytes of the event that begins at `at`. Raises SourceError, SourceUnavailable."""
    # The server first sends a ROTATE and a FORMAT_DESCRIPTION that stand elsewhere.
    return _first(config, password, task, server, at, lambda event: event.end - event.length == at.offset).length


def read_origin(
    config: MySQLSource, password: str, task: str, server: Server, at: Position, event: int | None
) -> Origin:
    """See `origin.OriginReader`."""
    created: list[int] = []

    def enough(header: _Header) -> bool:
        if header.type == _FORMAT_DESCRIPTION:
            created.append(header.time)
        return bool(created) and (event is None or header.end - header.length == event)

    begin = Position(at.file, HEADER if event is None else event)
    try:
        last = _first(config, password, task, server, begin, enough)
    except SourceError as error:
        if error.transient or event is None:
            raise
        return read_origin(config, password, task, server, at, None)  # no event begins there
    ended = Ended(event, last.time) if event is not None and last.end == at.offset % _WRAP else None
    return Origin(server.identity, created[0], ended)


def _first(
    config: MySQLSource, password: str, task: str, server: Server, at: Position, wanted: Callable[[_Header], bool]
) -> _Header:
    """The header of the first event that is wanted, in a stream from `at` on, of which no more is read; under a replica
    id of its own, so that it doesn't end the task's stream.

    Source: MySQL's protocol page COM_BINLOG_DUMP and "Binlog Event header".
    """
    session = Session(config, password)
    try:
        if read_server(session).identity != server.identity:
            raise SourceUnavailable("E2002", f"two connections to {session.where} reached different servers")
        replica_id = derived(f"{task}:scan:{uuid.uuid4().hex}")
        dump.start(session, server, config, task, replica_id, Position(at.file, at.offset))
        stream = MySQLStream(session, at, 2 * config.heartbeat_s, config.connect_timeout_s)
    except BaseException:
        session.close()
        raise
    try:
        return _read(stream, wanted, time.monotonic() + config.connect_timeout_s)
    finally:
        stream.close()


def _read(stream: MySQLStream, wanted: Callable[[_Header], bool], deadline: float) -> _Header:
    held = b""
    while time.monotonic() < deadline:
        held += stream.read(_WAIT)
        while len(held) >= _PACKET + 1 + _EVENT.size:
            if held[_PACKET : _PACKET + 1] != _OK:
                errno, message = int.from_bytes(held[5:7], "little"), held[13:].decode(errors="replace")
                raise stream.server_error(errno, "", message)
            header = _Header(*_EVENT.unpack_from(held, _PACKET + 1))
            if wanted(header):
                return header
            size = _PACKET + int.from_bytes(held[:3], "little")
            if len(held) < size:
                break
            held = held[size:]
    raise SourceUnavailable(
        "E2002", f"the event at {stream.position.file}:{stream.position.offset} was not received in time"
    )
