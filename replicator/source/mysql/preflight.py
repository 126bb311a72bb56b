"""Checks server settings without which rows would be lost or unreadable, before every dump and on its connection.

The same settings can be changed in a session at any time afterwards; the decoder recognises what that does.
"""

from __future__ import annotations

from typing import Final

from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.mysql.remedies import set_global
from replicator.mysql.server import Server

OLDEST: Final = {"mysql": (5, 5), "mariadb": (10, 2)}
"""The oldest releases that are known; older ones write what nobody has looked at."""

_SETTINGS: Final = (
    ("binlog_format", "ROW", "E2202", "the server does not log rows"),
    ("binlog_row_image", "FULL", "E2203", "the server does not log whole rows"),
)


def set_for_sessions(server: Server, name: str, value: str) -> str:
    """The same for a variable that each session copies when it connects."""
    return f"{set_global(server, name, value)} Then reconnect the sessions of the applications."


def check_flavour(server: Server, config: MySQLSource) -> None:
    if server.flavour != config.type:
        raise SourceError(
            "E2212",
            f"the server is not of the configured type: source.type is {config.type}",
            found=f"{server.get('version')} ({server.get('version_comment')})",
            wanted=config.type,
            fix=f"Set `source.type: {server.flavour}`.",
        )


def check_log_bin(server: Server) -> None:
    if server.get("log_bin") != "ON":
        raise SourceError("E2201", "the server writes no binlog", found="log_bin = OFF", wanted="log_bin = ON")


def check_release(server: Server) -> None:
    oldest = OLDEST[server.flavour]
    if server.version < oldest:
        wanted = f"{server.flavour} {'.'.join(map(str, oldest))} or later"
        raise SourceError(
            "E2204",
            "the release of the server is not supported",
            found=f"{server.get('version')} ({server.get('version_comment')})",
            wanted=wanted,
            fix=f"Upgrade the server to {wanted}.",
        )


def accepted(config: MySQLSource, name: str, found: str) -> bool:
    """Whether the task takes the server's variable although it is not as we like it. Names that are not logged come
    from the schema history. A server without binlog_row_image always logs whole rows (MySQL 5.5)."""
    if name == "binlog_row_image":
        return not found or config.row_image == "accept_partial"
    return name == "binlog_row_metadata"


def check_settings(server: Server, config: MySQLSource) -> None:
    """Raises the first of E2201-E2203 that applies."""
    check_log_bin(server)
    for name, wanted, code, what in _SETTINGS:
        found = server.get(name)
        if found.upper() != wanted and not accepted(config, name, found):
            shown = f"{name} = {found}" if found else f"{server.get('version')} has no {name}"
            fix = set_for_sessions(server, name, f"'{wanted}'")
            raise SourceError(code, what, found=shown, wanted=f"{name} = {wanted}", fix=fix)


def check(server: Server, config: MySQLSource) -> None:
    check_flavour(server, config)
    check_release(server)
    check_settings(server, config)
