"""Converts errors of the server and of its client library to errors for people.

Numbers are those of MySQL's and MariaDB's error references; 2xxx are PyMySQL's own. Where one number stands for several
faults (1236) the message decides; the texts are the same since MySQL 5.6 and MariaDB 10.0.
"""

from __future__ import annotations

import re
import ssl

import pymysql

from replicator.errors import SourceError, SourceUnavailable
from replicator.source.mysql.identifiers import quote_account

LOGIN = frozenset({1045, 1130, 1251, 1524, 1698, 1820, 1862, 3118, 3955, 4151})
"""Refused at login: wrong password, host not allowed, plugin, expired password, locked account."""

GRANT = frozenset({1044, 1142, 1143, 1227, 1370})

TLS = frozenset({2026, 3159})

UNAVAILABLE = frozenset(
    {
        *(1040, 1043, 1047, 1053, 1077, 1079, 1080, 1152, 1153, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1317, 1927),
        *(2002, 2003, 2006, 2012, 2013, 2055, 3032, 3168, 3169, 4031),
    }
)
"""The server is full, going down, or cut the connection: trying again makes sense."""

_SHOWN = 1000
"""Characters of a server's message; its own have a few hundred."""

_PRIVILEGES = re.compile(r"you need \(at least one of\) the (.+?) privilege")

_BEHIND = "the server lacks transactions that this task has already delivered"

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


def account_of(user: str, host: str = "%") -> str:
    return quote_account(f"{user}@{host}")


def missing_privilege(account: str, privileges: str, found: str) -> SourceError:
    """`account`: already quoted, as in the GRANT statement that mends it."""
    return SourceError(
        "E2104",
        f"the account {account} may not read the binlog",
        found=found,
        wanted=privileges,
        fix=f"GRANT {privileges} ON *.* TO {account};",
    )


def connect_error(error: Exception, where: str, user: str) -> SourceError:
    """For an exception while connecting to `where` (host:port) as `user`."""
    cause = getattr(error, "original_exception", error)
    number, message = _parts(error)
    if isinstance(cause, ssl.SSLError) or number in TLS:
        text = str(cause if isinstance(cause, ssl.SSLError) else message)
        return SourceError(
            "E2102", f"no encrypted connection to {where} could be established", found=text, fix=_tls_fix(number, text)
        )
    if number in LOGIN or number in GRANT:
        return SourceError("E2101", f"{where} refuses the account '{user}'", found=message)
    if number in UNAVAILABLE or isinstance(cause, OSError):
        return SourceUnavailable("E2001", f"{where} does not answer", found=message)
    return SourceError("E2211", f"{where} refuses the connection", found=f"error {number}: {message}")


def query_error(error: Exception, where: str, user: str) -> SourceError:
    """For an exception of a statement or command on a connection that was logged in."""
    number, message = _parts(error)
    if number in UNAVAILABLE or isinstance(error, OSError):
        return SourceUnavailable("E2002", f"the connection to {where} was lost", found=message)
    return stream_error(number, message, where, user)


def number_of(error: SourceError) -> int:
    """The server's number of an error that `query_error` or `connect_error` made; 0 without one."""
    return _parts(error.__cause__)[0] if isinstance(error.__cause__, Exception) else 0


def stream_error(number: int, message: str, where: str, user: str, position: str = "") -> SourceError:
    """For an ERR packet. 0: the server ended the stream without a reason, as it does when it is told to stop."""
    message = message[:_SHOWN]
    if number == 0 or number in UNAVAILABLE:
        found = f"error {number}: {message}" if number else "end of stream"
        return SourceUnavailable("E2002", f"{where} ended the stream", found=found, position=position)
    if number == 4052:
        return _replica_id_taken(message, position)
    if number in GRANT or number in LOGIN:
        needed = _PRIVILEGES.search(message)
        wanted = _least_privilege(needed[1]) if needed else "REPLICATION SLAVE, REPLICATION CLIENT"
        return missing_privilege(account_of(user), wanted, message)
    if number == 1236:
        return _binlog_error(message, where, position)
    return SourceError("E2211", f"{where} ended the stream", found=f"error {number}: {message}", position=position)


def _least_privilege(privileges: str) -> str:
    """Any one of them would do; SUPER is never asked for where another is enough."""
    names = re.split(r", | or ", privileges)
    return next((name for name in reversed(names) if name != "SUPER"), privileges)


def _binlog_error(message: str, where: str, position: str) -> SourceError:
    for text, code, what in _BINLOG_TEXTS:
        if text.lower() in message.lower():
            if code == "E2207":
                return _replica_id_taken(message, position)
            return SourceError(code, what, found=message, position=position)
    return SourceError("E2211", f"{where} can't send the binlog", found=f"error 1236: {message}", position=position)


def _replica_id_taken(message: str, position: str) -> SourceError:
    return SourceError("E2207", "another replica uses the same server id", found=message, position=position)


def _tls_fix(number: int, text: str) -> str:
    if number == 3159:
        return "Set `source.tls`: the server accepts only encrypted connections."
    if "CERTIFICATE_VERIFY_FAILED" in text:
        return "Set `source.tls.ca` to the CA of the server's certificate, and `source.host` to a name in it."
    return ""


def _parts(error: Exception) -> tuple[int, str]:
    if isinstance(error, pymysql.err.MySQLError) and len(error.args) >= 2 and isinstance(error.args[0], int):
        return error.args[0], str(error.args[1])[:_SHOWN]
    return 0, str(error)[:_SHOWN] or type(error).__name__
