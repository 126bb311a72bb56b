"""Converts errors of the server and of its client library to errors for people.

Numbers are those of MySQL's and MariaDB's error references; 2xxx are PyMySQL's own.
"""

from __future__ import annotations

import re
import ssl
from typing import Final

import pymysql

from replicator.errors import ReplicatorError
from replicator.mysql.identifiers import quote_account
from replicator.mysql.sides import Side

CLIENT_ERRORS: Final = (pymysql.err.MySQLError, OSError)
"""What the client library and its socket raise."""

LOGIN = frozenset({1045, 1130, 1251, 1524, 1698, 1820, 1862, 3118, 3955, 4151})
"""Refused at login: wrong password, host not allowed, plugin, expired password, locked account."""

NO_PRIVILEGE = 1227
"""A privilege that is not of a table or database is missing."""

GRANT = frozenset({1044, 1142, 1143, NO_PRIVILEGE, 1370})

TLS = frozenset({2026, 3159})

UNAVAILABLE = frozenset(
    {
        *(1040, 1043, 1047, 1053, 1077, 1079, 1080, 1152, 1153, 1158, 1159, 1160, 1161, 1184, 1203, 1226, 1317, 1927),
        *(2002, 2003, 2006, 2012, 2013, 2055, 3032, 3168, 3169, 4031),
    }
)
"""The server is full, going down, or cut the connection: trying again makes sense."""

SHOWN: Final = 1000
"""Characters of a server's message; its own have a few hundred."""

_PRIVILEGES = re.compile(r"you need \(at least one of\) the (.+?) privilege")


def account_of(user: str, host: str = "%") -> str:
    return quote_account(f"{user}@{host}")


def missing_privilege(side: Side, account: str, privileges: str, found: str) -> ReplicatorError:
    """`account`: already quoted, as in the GRANT statement that mends it."""
    return side.refused(
        side.privilege,
        f"the account {account} may not {side.purpose}",
        found=found,
        wanted=privileges,
        fix=f"GRANT {privileges} ON *.* TO {account};",
    )


def connect_error(side: Side, error: Exception, where: str, user: str) -> ReplicatorError:
    """For an exception while connecting to `where` (host:port) as `user`."""
    cause = getattr(error, "original_exception", error)
    number, message = parts(error)
    if isinstance(cause, ssl.SSLError) or number in TLS:
        text = str(cause if isinstance(cause, ssl.SSLError) else message)
        what = f"no encrypted connection to {where} could be established"
        return side.refused(side.tls, what, found=text, fix=_tls_fix(side, number, text))
    if number in LOGIN or number in GRANT:
        return side.refused(side.login, f"{where} refuses the account '{user}'", found=message)
    if number in UNAVAILABLE or isinstance(cause, OSError):
        return side.away(side.unreachable, f"{where} does not answer", found=message)
    return side.refused(side.other, f"{where} refuses the connection", found=f"error {number}: {message}")


def query_error(side: Side, error: Exception, where: str, user: str) -> ReplicatorError:
    """For an exception of a statement or command on a connection that was logged in."""
    number, message = parts(error)
    if number in UNAVAILABLE or isinstance(error, OSError):
        return lost(side, where, message)
    if number in GRANT or number in LOGIN:
        return denied(side, message, user)
    return side.refused(side.other, f"{where} refuses a statement", found=f"error {number}: {message}")


def lost(side: Side, where: str, found: str) -> ReplicatorError:
    return side.away(side.lost, f"the connection to {where} was lost", found=found)


def denied(side: Side, message: str, user: str) -> ReplicatorError:
    """For a server's `message` of a missing privilege."""
    needed = _PRIVILEGES.search(message)
    return missing_privilege(
        side, account_of(user), _least_privilege(needed[1]) if needed else side.privileges, message
    )


def number_of(error: ReplicatorError) -> int:
    """The server's number of an error that `query_error` or `connect_error` made; 0 without one."""
    return parts(error.__cause__)[0] if isinstance(error.__cause__, Exception) else 0


def parts(error: Exception) -> tuple[int, str]:
    """Number and message; number 0 for what is not an error of the server or of the client library."""
    if isinstance(error, pymysql.err.MySQLError) and len(error.args) >= 2 and isinstance(error.args[0], int):
        return error.args[0], str(error.args[1])[:SHOWN]
    return 0, str(error)[:SHOWN] or type(error).__name__


def _least_privilege(privileges: str) -> str:
    """Any one of them would do; SUPER is never asked for where another is enough."""
    names = re.split(r", | or ", privileges)
    return next((name for name in reversed(names) if name != "SUPER"), privileges)


def _tls_fix(side: Side, number: int, text: str) -> str:
    if number == 3159:
        return f"Set `{side.section}.tls`: the server accepts only encrypted connections."
    if "CERTIFICATE_VERIFY_FAILED" in text:
        tls, host = f"{side.section}.tls.ca", f"{side.section}.host"
        return f"Set `{tls}` to the CA of the server's certificate, and `{host}` to a name in it."
    return ""
