"""Servers of one kind that replicate from one another by GTID."""

from __future__ import annotations

import time

from dev.errors import ServerFailed
from dev.servers.database import Database, MariaDB

_FOLLOW = (
    "CHANGE REPLICATION SOURCE TO SOURCE_HOST = %s, SOURCE_PORT = %s, SOURCE_USER = %s, SOURCE_PASSWORD = %s, "
    "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1"
)
_MARIADB_FOLLOW = (
    "CHANGE MASTER TO MASTER_HOST = %s, MASTER_PORT = %s, MASTER_USER = %s, MASTER_PASSWORD = %s, "
    "MASTER_USE_GTID = slave_pos, MASTER_CONNECT_RETRY = 1"
)


def follow(replica: Database, primary: Database, timeout: float = 30.0) -> None:
    """Makes `replica` a read-only replica; returns when it has everything."""
    mariadb = isinstance(replica, MariaDB)
    user, password = primary.replicator
    make_read_only(replica)
    replica.execute(_MARIADB_FOLLOW if mariadb else _FOLLOW, (primary.host, primary.port, user, password))
    replica.execute("START SLAVE" if mariadb else "START REPLICA")
    await_caught_up(replica, primary, timeout)


def make_read_only(server: Database) -> None:
    """Nobody but its own replication writes to it; on MariaDB, which has no such mode, root may."""
    server.execute(f"SET GLOBAL {'read_only' if isinstance(server, MariaDB) else 'super_read_only'} = ON")


def await_caught_up(replica: Database, primary: Database, timeout: float = 30.0) -> None:
    """Until `replica` has executed everything that `primary` has now."""
    mariadb = isinstance(replica, MariaDB)
    executed = primary.execute("SELECT @@GLOBAL.gtid_binlog_pos" if mariadb else "SELECT @@GLOBAL.gtid_executed")[0][0]
    has = "SELECT MASTER_GTID_WAIT(%s, 0) = 0" if mariadb else "SELECT GTID_SUBSET(%s, @@GLOBAL.gtid_executed)"
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if replica.execute(has, (executed,))[0][0]:
            return
        time.sleep(0.05)
    status = replica.execute("SHOW SLAVE STATUS" if mariadb else "SHOW REPLICA STATUS")
    raise ServerFailed(replica.name, f"the replica did not catch up in {timeout} s: {status}")


def promote(replica: Database) -> None:
    """Writable from now on, following nobody."""
    if isinstance(replica, MariaDB):
        replica.execute("STOP SLAVE")
        replica.execute("RESET SLAVE ALL")
    else:
        replica.execute("STOP REPLICA")
        replica.execute("RESET REPLICA ALL")
        replica.execute("SET GLOBAL super_read_only = OFF")
    replica.execute("SET GLOBAL read_only = OFF")
