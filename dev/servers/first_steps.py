"""The commands that `make up` prints: an SQL client, a first table, the bus, a first task.

They work as they are printed, in the folder of the clone; a test runs them. What they need is in build/up/env.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from dev.fetch import databases
from dev.paths import TREE
from dev.servers.database import Database
from dev.servers.ports import free_port

_TASK: Final = """\
name: copy_item
source:
  type: mysql
  host: 127.0.0.1
  port: {port}
  user: replicator
  password: env:REPL_PASSWORD
  tables: ["shop.*"]
  snapshot: initial
sink:
  type: kafka
  bootstrap_servers: ["{kafka}"]
"""


def write(folder: Path, addresses: Mapping[str, str], servers: list[Database]) -> None:
    """The files that the commands use. `addresses`: of every server, by its name."""
    programs = folder / "bin"
    programs.mkdir(parents=True, exist_ok=True)
    for server in servers:
        program = programs / server.name.lower()
        program.write_text(f'#!/bin/sh\nexec {shlex.join(_client(server))} "$@"\n')
        program.chmod(0o755)
    port = addresses["MySQL"].rpartition(":")[2]
    (folder / "item.yaml").write_text(_TASK.format(port=port, kafka=addresses["Kafka"]))
    listens = {name: f"127.0.0.1:{free_port()}" for name in ("server", "monitor")}
    settings = {
        "REPL_PASSWORD": "replicator",
        "REPLICATOR_ZOOKEEPER": addresses["ZooKeeper"],
        "REPLICATOR_SERVER": f"http://{listens['server']}",
        "REPLICATOR_TOKEN_FILE": str(folder / "token"),
        "UP_SERVER": listens["server"],
        "UP_MONITOR": listens["monitor"],
    }
    lines = [f"export {name}={shlex.quote(value)}" for name, value in settings.items()]
    (folder / "env").write_text("\n".join([*lines, f'export PATH={TREE}/.venv/bin:{programs}:"$PATH"']) + "\n")


def _client(server: Database) -> list[str]:
    """Runs the SQL client of its release as root."""
    program = databases.root(server.release) / "usr" / "bin" / server.release.flavour
    options = ["--no-defaults", f"--host={server.host}", f"--port={server.port}", "--user=root"]
    return [*databases.prefix(server.release).command(str(program)), *options]


def lines(folder: Path) -> list[tuple[str, str]]:
    """(what, command), in the order in which they are to be typed."""
    up = folder.relative_to(TREE) if folder.is_relative_to(TREE) else folder
    wait = "until replicator task get >/dev/null 2>&1; do sleep 0.5; done"
    processes = (
        ("core", "core"),
        ("server", "server --listen $UP_SERVER"),
        ("monitor", "monitor --listen $UP_MONITOR"),
    )
    begun = " ".join(f"replicator {command} >{up}/{name}.log 2>&1 &" for name, command in processes)
    return [
        ("addresses and commands", f". {up}/env"),
        ("SQL client (or mariadb)", 'mysql -e "SELECT VERSION()"'),
        (
            "a first table",
            'mysql -e "CREATE DATABASE shop; CREATE TABLE shop.item (id INT PRIMARY KEY, name VARCHAR(40)); '
            "INSERT INTO shop.item VALUES (1, 'price engine')\"",
        ),
        (
            "a first task, without a bus",
            f"replicator run -f {up}/item.yaml --sink stdout --state {up}/run.sqlite --until-current",
        ),
        ("the bus", f"{begun} {wait}"),
        ("a first task on the bus", f"replicator task apply -f {up}/item.yaml"),
        ("what it does", "replicator task get; echo dashboard: http://$UP_MONITOR"),
    ]
