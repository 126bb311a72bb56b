"""`make up` and `make down`: servers that stay after the command ends, remembered under build/up/.

A pid is stopped only while its start time is the remembered one, so that a reused number is never hit.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from typing import Any

from dev.errors import DevError
from dev.paths import UP
from dev.progress import say
from dev.servers import first_steps
from dev.servers.base import Server
from dev.servers.database import Database, MariaDB, MySQL
from dev.servers.kafka import Kafka
from dev.servers.stack import start_all
from dev.servers.zookeeper import ZooKeeper

_STATE = UP / "state.json"


def up() -> int:
    known = _read()
    if known and all(_alive(each) for each in known):
        say("already up")
        _report(known)
        return 0
    down()
    servers: list[Server] = [kind(folder=UP / kind.name.lower()) for kind in (ZooKeeper, Kafka, MySQL, MariaDB)]
    try:
        start_all(servers)
        databases = [server for server in servers if isinstance(server, Database)]
        first_steps.write(UP, {server.name: server.address for server in servers}, databases)
    except BaseException:
        for server in servers:
            server.kill()
        raise
    finally:
        _write([_entry(server) for server in servers if server.running])
    _report(_read())
    return 0


def down() -> int:
    entries = _read()
    for entry in entries:
        if _alive(entry):
            say(f"stopping {entry['name']} (pid {entry['pid']})")
            _signal(entry, signal.SIGTERM)
    for entry in entries:
        _await_end(entry)
    if UP.exists():
        shutil.rmtree(UP)
    return 0


def _await_end(entry: dict[str, Any], timeout: float = 30.0) -> None:
    deadline = time.monotonic() + timeout
    while _alive(entry):
        if time.monotonic() > deadline:
            _signal(entry, signal.SIGKILL)
        time.sleep(0.05)


def _signal(entry: dict[str, Any], number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(entry["pid"], number)


def _entry(server: Server) -> dict[str, Any]:
    started = _start_time(server.pid)
    return {"name": server.name, "pid": server.pid, "started": started, "address": server.address}


def _start_time(pid: int) -> str | None:
    """Field 22 of /proc/PID/stat; None for a process that is gone or a zombie."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] == "Z" else fields[19]


def _alive(entry: dict[str, Any]) -> bool:
    return entry["started"] is not None and _start_time(entry["pid"]) == entry["started"]


def _read() -> list[dict[str, Any]]:
    return list(json.loads(_STATE.read_text())) if _STATE.exists() else []


def _write(entries: list[dict[str, Any]]) -> None:
    UP.mkdir(parents=True, exist_ok=True)
    _STATE.write_text(json.dumps(entries, indent=2))


def _report(entries: list[dict[str, Any]]) -> None:
    for entry in entries:
        print(f"{entry['name']:10} {entry['address']:22} pid {entry['pid']}")
    print("databases: root without a password, or replicator/replicator (for replication)")
    print(f"data and logs: {UP}; `make down` stops them and removes both")
    print("\nto begin, in this folder:")
    for what, command in first_steps.lines(UP):
        print(f"\n  # {what}\n  {command}")
    print("\nend the bus with `kill $(jobs -p)` before `make down`")


if __name__ == "__main__":
    try:
        sys.exit({"up": up, "down": down}[sys.argv[1]]())
    except DevError as error:
        say(str(error))
        sys.exit(1)
