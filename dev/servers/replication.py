"""MySQL servers that replicate from one another by GTID."""

from __future__ import annotations

import time

from dev.errors import ServerFailed
from dev.servers.database import MySQL


def follow(replica: MySQL, primary: MySQL, timeout: float = 30.0) -> None:
    """Makes `replica` a read-only replica; returns when it has everything."""
    user, password = primary.replicator
    replica.execute("SET GLOBAL super_read_only = ON")
    replica.execute(
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = %s, SOURCE_PORT = %s, SOURCE_USER = %s, SOURCE_PASSWORD = %s, "
        "SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1, SOURCE_CONNECT_RETRY = 1",
        (primary.host, primary.port, user, password),
    )
    replica.execute("START REPLICA")
    await_caught_up(replica, primary, timeout)


def await_caught_up(replica: MySQL, primary: MySQL, timeout: float = 30.0) -> None:
    """Until `replica` has executed everything that `primary` has now."""
    executed = primary.execute("SELECT @@GLOBAL.gtid_executed")[0][0]
    end = time.monotonic() + timeout
    while time.monotonic() < end:
        if replica.execute("SELECT GTID_SUBSET(%s, @@GLOBAL.gtid_executed)", (executed,))[0][0]:
            return
        time.sleep(0.1)
    status = replica.execute("SHOW REPLICA STATUS")
    raise ServerFailed("MySQL", f"the replica did not catch up in {timeout} s: {status}")


def promote(replica: MySQL) -> None:
    """Writable from now on, following nobody."""
    replica.execute("STOP REPLICA")
    replica.execute("RESET REPLICA ALL")
    replica.execute("SET GLOBAL super_read_only = OFF")
    replica.execute("SET GLOBAL read_only = OFF")
