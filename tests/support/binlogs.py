"""Making a real server forget its binlogs."""

from __future__ import annotations

import contextlib
import time

import pymysql

from dev.servers.database import Database


def purge_all_but_last(server: Database, timeout: float = 10.0) -> None:
    """Begins a new file and waits until the others are gone. A file that a dump still reads stays, a dump notices only
    at its next heartbeat that nobody listens, and MariaDB releases a file some time after its checkpoint event."""
    server.execute("FLUSH BINARY LOGS")
    deadline = time.monotonic() + timeout
    while len(files := server.execute("SHOW BINARY LOGS")) > 1:
        if time.monotonic() > deadline:
            raise AssertionError(f"still there: {files}")
        with contextlib.suppress(pymysql.Error):
            server.execute(f"PURGE BINARY LOGS TO '{files[-1][0]}'")
        time.sleep(0.05)
