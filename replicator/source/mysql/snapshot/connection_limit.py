"""How many connections a snapshot opens, and what it says where the account may not open as many."""

from __future__ import annotations

from typing import Final

from replicator.config.task import MySQLSource as Config
from replicator.errors import ReplicatorError, SourceError, SourceUnavailable
from replicator.mysql import server_errors
from replicator.mysql.session import Session

_FULL: Final = frozenset({1040, 1203, 1226})
"""Too many connections: of all, of an account by the server's limit, of an account by its own."""
_OTHERS: Final = 2
"""The stream's, and one that asks a short question now and then."""


def needed(config: Config) -> int:
    """A pair for each that reads, and with several for the one that finds where ranges end; while consistent views are
    opened two more, one of them with the lock."""
    options = config.snapshots
    readers = options.connections + 1 if options.connections > 1 else 1
    return _OTHERS + 2 * readers + (2 if options.consistent else 0)


def check(session: Session, config: Config) -> None:
    """Raises SourceError E2227: the limit of the account is too low. Other uses of the account are not counted."""
    limit, most = int(session.value("SELECT @@SESSION.max_user_connections") or 0), needed(config)
    if limit and limit < most:
        raise SourceError(
            "E2227",
            _what(config),
            found=f"max_user_connections = {limit}, at {session.where}",
            wanted=f"at least {most}, {_uses(config)}",
            fix=_fix(session.user, config, most, limit),
        )


def explained(error: ReplicatorError, config: Config) -> ReplicatorError:
    """`error` of a login; where the server has no connection left, with what the snapshot needs. It is tried again."""
    if server_errors.number_of(error) not in _FULL:
        return error
    most = needed(config)
    return SourceUnavailable(
        "E2227",
        _what(config),
        found=f"{error.found or error.what}, at {config.host}:{config.port}",
        wanted=f"{most} connections, {_uses(config)}",
        fix=_fix(config.user, config, most, most - 1),
    )


def _what(config: Config) -> str:
    return (
        f"the account may not open as many connections as a snapshot with `connections: {config.snapshots.connections}`"
    )


def _uses(config: Config) -> str:
    lock = ", two for the consistent view" if config.snapshots.consistent else ""
    return f"2 for each reader, {_OTHERS} for the stream{lock}"


def _fix(user: str, config: Config, most: int, limit: int) -> str:
    account, options = server_errors.account_of(user), config.snapshots
    left = limit - _OTHERS - (2 if options.consistent else 0)
    fewer = min(options.connections - 1, max(1, left // 2 - 1))
    lower = f", or set `source.snapshot.connections: {fewer}`" if options.connections > 1 else ""
    limits = "The server has max_user_connections and max_connections, too."
    return f"ALTER USER {account} WITH MAX_USER_CONNECTIONS {most}{lower}. {limits}"
