"""The servers' own dump programs: into /dev/null, as fast as a table can be read at all, and into their client."""

from __future__ import annotations

import subprocess
import time

from dev.bench.load import DATABASE, TABLE
from dev.fetch import databases
from dev.servers.database import Database, MySQL

_SECONDS = 600
_PROGRAMS = {
    "mysql": ("usr/bin/mysqldump", ("--ssl-mode=DISABLED", "--set-gtid-purged=OFF", "--no-tablespaces")),
    "mariadb": ("usr/bin/mariadb-dump", ("--skip-ssl",)),
}


def dump_seconds(database: Database) -> float:
    """One consistent dump of the table, row by row, over TCP without TLS, as all that are compared read it.

    Raises RuntimeError with the program's words."""
    began = time.monotonic()
    done = subprocess.run(
        _dump(database), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=False, timeout=_SECONDS
    )
    if done.returncode:
        raise RuntimeError(f"the dump: {done.stderr.strip()}")
    return time.monotonic() - began


def dump_into_seconds(source: MySQL, target: MySQL) -> float:
    """The same, through a pipe into the `mysql` of the target: the table is created there with its rows, by INSERTs of
    many rows. Raises RuntimeError with the programs' words."""
    client = [*databases.prefix(target.release).command("usr/bin/mysql"), "--no-defaults", *_at(target)]
    began = time.monotonic()
    with subprocess.Popen(_dump(source), stdout=subprocess.PIPE) as dump:
        done = subprocess.run(
            [*client, "--ssl-mode=DISABLED", DATABASE],
            stdin=dump.stdout,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=_SECONDS,
        )
    if done.returncode or dump.returncode:
        raise RuntimeError(f"the dump into the client: {done.returncode}, {dump.returncode}: {done.stderr.strip()}")
    return time.monotonic() - began


def _dump(database: Database) -> list[str]:
    program, options = _PROGRAMS[database.release.flavour]
    command = databases.prefix(database.release).command(program)
    return [*command, "--no-defaults", "--single-transaction", "--quick", *_at(database), *options, DATABASE, TABLE]


def _at(database: Database) -> list[str]:
    return [f"--host={database.host}", f"--port={database.port}", "--protocol=tcp", "--user=root"]
