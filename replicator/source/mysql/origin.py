"""Checks whether the connected server is the one that a position was taken from.

A file and an offset mean nothing in another server's binlog, nor in one that was reset or restored since; a stream from
there begins somewhere, and nothing in it shows what it lacks. GTIDs name transactions, but MySQL gives the same ones
again after RESET, and MariaDB's are numbers that two servers may have given independently of each other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import msgspec

from replicator.errors import PositionGone, SourceError
from replicator.model.origin import BY_ID, Origin
from replicator.model.position import Position
from replicator.source.binlog_layout import HEADER
from replicator.source.mysql.logs import Log

OriginReader: TypeAlias = Callable[[Position, int | None], Origin]
"""(position, first byte of the event that should end there) -> what its file on the server says: when it was created,
and that event, None when no event begins there or it ends elsewhere. Raises SourceUnavailable, SourceError."""


def of_start(position: Position, read_origin: OriginReader) -> Position:
    """`position`, which the server itself has just given, with its origin. See `confirm`."""
    return msgspec.structs.replace(position, server=str(read_origin(position, None)))


def confirm(
    position: Position, server: str, logs: Sequence[Log], read_origin: OriginReader, *, by_gtid: bool
) -> Position:
    """`position` with its origin as far as it is known now; where it was not known, what answers is taken for it.

    Args:
        server: see `Origin.server`.
        logs: the server's binlog files, oldest first.
        read_origin: asked for files of `logs`.
        by_gtid: the stream is asked for by GTIDs: another server will do, which has to have executed them all.

    Raises:
        SourceError: E2218.
        PositionGone: E2218, a server with a UUID has deleted all of the binlog since. A server_id may be that of two
            servers.
    """
    known = Origin.parse(position.server)
    if by_gtid and not (known.server == server and known.created):
        return msgspec.structs.replace(position, server=str(Origin(server, 0)))
    if (known.server and known.server != server) or known.created == 0:
        raise _refused(position, "the position belongs to the binlog of another server", server, known.server)
    log = next((log for log in logs if log.file == position.file), None)
    if log is None:
        if known.created is None or _purged(position, logs):
            return msgspec.structs.replace(position, server=str(Origin(server, known.created)))
        raise _reset(position, server, logs, read_origin, f"the last file is {logs[-1].file}")
    now = read_origin(position, known.ended.at if known.ended else None)
    if known.created and known.created != now.created:
        found = f"{position.file} was created at {now.created} (s since the epoch)"
        raise _reset(position, server, logs, read_origin, found, f"one created at {known.created}")
    if known.created and position.offset > log.size:
        found = f"{position.file} ends at {log.size}"
        raise _refused(position, "the binlog was restored, or its end was lost", found)
    if known.ended is not None and known.ended != now.ended:
        found = f"no event with the time {known.ended.time} (s since the epoch) from byte {known.ended.at} to there"
        raise _refused(position, "the binlog before the position differs from the one that was read", found)
    return msgspec.structs.replace(position, server=str(now))


def _purged(position: Position, logs: Sequence[Log]) -> bool:
    """Whether the position's file is older than all that there are."""
    base = position.file.rpartition(".")[0]
    return position.order < Position(logs[0].file, 0).order and base == logs[0].file.rpartition(".")[0]


def _reset(
    position: Position, server: str, logs: Sequence[Log], read_origin: OriginReader, found: str, wanted: str = ""
) -> SourceError:
    """RESET deletes all files: one that is older than the position's shows that a backup was restored. It may have the
    UUID, and lacks what the task has delivered since it was made."""
    first = Position(logs[0].file, HEADER)
    begun, known = read_origin(first, None).created, Origin.parse(position.server).created
    if begun is None or known is None or begun < known:
        found += f"; {first.file}, which is older, is still there"
        return _refused(position, "the binlog was restored, or its end was lost", found, wanted)
    error = _refused(position, "the binlog was reset or restored", found, wanted)
    if server.startswith(BY_ID):
        return error
    fields = error.to_dict()
    again = " With `source.snapshot: when_needed` the task takes a new snapshot of its tables instead."
    return PositionGone(fields.pop("code"), fields.pop("what"), **{**fields, "fix": error.fix + again})


def _refused(position: Position, what: str, found: str, wanted: str = "") -> SourceError:
    return SourceError(
        "E2218",
        f"{what}: the binlog after {position} does not continue what this task has delivered",
        found=found,
        wanted=wanted or f"the server that wrote {position}",
        fix="Connect the task to that server again. To read from this server: `replicator task position set`, with "
        "--gtid or with --file and --offset of its binlog; transactions in between are repeated or lost, as the "
        "preview "
        "shows. (With `replicator run`: another --state, and `source.start`.)",
        position=str(position),
    )
