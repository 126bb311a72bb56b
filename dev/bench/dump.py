"""The servers' own dump programs, into /dev/null: how fast a table can be read without doing anything with its rows."""

from __future__ import annotations

import subprocess
import time

from dev.bench.load import DATABASE, TABLE
from dev.fetch import databases
from dev.servers.database import Database

_SECONDS = 600
_PROGRAMS = {
    "mysql": ("usr/bin/mysqldump", ("--ssl-mode=DISABLED", "--set-gtid-purged=OFF", "--no-tablespaces")),
    "mariadb": ("usr/bin/mariadb-dump", ("--skip-ssl",)),
}


def dump_seconds(database: Database) -> float:
    """One consistent dump of the table, row by row, over TCP without TLS, as all that are compared read it.

    Raises RuntimeError with the program's words."""
    program, options = _PROGRAMS[database.release.flavour]
    command = [
        *databases.prefix(database.release).command(program),
        "--no-defaults",
        "--single-transaction",
        "--quick",
        f"--host={database.host}",
        f"--port={database.port}",
        "--protocol=tcp",
        "--user=root",
        *options,
        DATABASE,
        TABLE,
    ]
    began = time.monotonic()
    done = subprocess.run(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"{program}: {done.stderr.strip()}")
    return time.monotonic() - began
