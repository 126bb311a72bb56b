"""Converts errors by which a server refuses or ends a binlog stream to errors for people.

Where one number stands for several faults (1236) the message decides; the texts are the same since MySQL 5.6 and
MariaDB 10.0.
"""

from __future__ import annotations

from replicator.errors import PositionGone, ReplicatorError, SourceError, SourceUnavailable
from replicator.mysql import server_errors
from replicator.mysql.server_errors import GRANT, LOGIN, SHOWN, UNAVAILABLE
from replicator.mysql.sides import SOURCE

_BEHIND = "the server lacks transactions that this task has already delivered"

PURGED_FIX = (
    "Restore the binlog files; or set `source.snapshot: when_needed` and `replicator task retry NAME`: the task then "
    "takes a new snapshot of its tables. Its topics lack the changes in between."
)

_BINLOG_TEXTS: tuple[tuple[str, str, str], ...] = (
    ("same server_uuid/server_id", "E2207", "another replica uses the same server id"),
    ("same server_id", "E2207", "another replica uses the same server id"),
    ("purged", "E2206", "the server has purged binlog files that this task still needs"),
    ("Could not find first log file", "E2206", "the binlog file of the position does not exist"),
    ("Could not find GTID state", "E2206", "the server has purged binlog files that this task still needs"),
    ("missing the GTID", "E2209", _BEHIND),
    (
        "which is not in the master's binlog",
        "E2209",
        _BEHIND,
    ),
    ("GTIDs than the", "E2209", _BEHIND),
    ("GTID_MODE", "E2210", "the gtid_mode of the server does not match the position"),
    ("impossible position", "E2209", "the position is after the end of the server's binlog"),
    ("bogus data", "E2209", "the position is not the start of an event"),
)


def command_error(error: Exception, where: str, user: str) -> ReplicatorError:
    """For an exception of a replication command on a connection that was logged in."""
    number, message = server_errors.parts(error)
    if number in UNAVAILABLE or isinstance(error, OSError):
        return server_errors.lost(SOURCE, where, message)
    return stream_error(number, message, where, user)


def stream_error(number: int, message: str, where: str, user: str, position: str = "") -> ReplicatorError:
    """For an ERR packet. 0: the server ended the stream without a reason, as it does when it is told to stop."""
    message = message[:SHOWN]
    if number == 0 or number in UNAVAILABLE:
        found = f"error {number}: {message}" if number else "end of stream"
        return SourceUnavailable("E2002", f"{where} ended the stream", found=found, position=position)
    if number == 4052:
        return _replica_id_taken(message, position)
    if number in GRANT or number in LOGIN:
        return server_errors.denied(SOURCE, message, user)
    if number == 1236:
        return _binlog_error(message, where, position)
    return SourceError("E2211", f"{where} ended the stream", found=f"error {number}: {message}", position=position)


def _binlog_error(message: str, where: str, position: str) -> SourceError:
    for text, code, what in _BINLOG_TEXTS:
        if text.lower() in message.lower():
            if code == "E2207":
                return _replica_id_taken(message, position)
            if code == "E2206":
                return PositionGone(code, what, found=message, fix=PURGED_FIX, position=position)
            return SourceError(code, what, found=message, position=position)
    return SourceError("E2211", f"{where} can't send the binlog", found=f"error 1236: {message}", position=position)


def _replica_id_taken(message: str, position: str) -> SourceError:
    return SourceError("E2207", "another replica uses the same server id", found=message, position=position)
