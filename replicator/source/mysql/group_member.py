"""The servers of a replication group that may be read from.

Another one than that in use is taken only when it is writable and has executed everything that the task has delivered,
so that nothing is skipped and nothing of a lost branch is mixed with what replaced it.
"""

from __future__ import annotations

from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceError, SourceUnavailable
from replicator.mysql.hosts import Hosts
from replicator.mysql.server import Server


def hosts_of(config: Config) -> Hosts[Config]:
    """With `when_needed` nobody waits for a server that may still have what those have purged that can be read."""
    return Hosts(config, again=config.snapshots.mode == "when_needed")


def check_member(server: Server, config: Config) -> None:
    """Whether this one of several may be read from.

    Raises:
        SourceError: E2210, without GTIDs the positions of two servers can't be told apart.
        SourceUnavailable: E2001, it is a replica for now.
    """
    if len(config.hosts) < 2:
        return
    if not server.gtid:
        raise SourceError(
            "E2210",
            f"{config.host}:{config.port} has no GTIDs: a position in its files is not valid on another server",
            found=f"gtid_mode = {server.get('gtid_mode') or 'none'}",
            wanted="gtid_mode = ON on all of `source.hosts`",
            fix="Set gtid_mode = ON in steps (OFF_PERMISSIVE, ON_PERMISSIVE, ON), or set a single server with "
            "`source.host`.",
        )
    if server.get("read_only") == "ON":
        raise SourceUnavailable(
            "E2001",
            f"{config.host}:{config.port} is not the primary",
            found="read_only = ON",
            wanted="one of `source.hosts` that is writable",
            fix="None required during a fail-over: the task looks for a server that is writable. Else set read_only "
            "= OFF on the primary.",
        )
