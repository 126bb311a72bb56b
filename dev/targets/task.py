"""The task as a process of its own: `replicator run` with a database sink, killed and begun again."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import yaml

from dev.servers.database import Database, MariaDB

PASSWORD: Final = "REPL_TARGETS_PASSWORD"
"""Environment variable."""
ACCOUNT: Final = ("applier", "applier")
_END_S: Final = 120.0


def make_account(server: Database) -> None:
    """Makes the account that writes to the target."""
    user, password = ACCOUNT
    server.execute(f"CREATE USER IF NOT EXISTS {user}@'%%' IDENTIFIED BY '{password}'")
    server.execute(f"GRANT ALL PRIVILEGES ON *.* TO {user}@'%%'")


def configuration(source: Database, port: int, target: Database, target_port: int, database: str) -> dict[str, Any]:
    """`port`, `target_port`: of the ways to the servers."""
    kind = {True: "mariadb", False: "mysql"}
    user, _ = Database.replicator
    file, offset = source.end_of_log()
    return {
        "name": f"apply-{database}",
        "source": {
            "type": kind[isinstance(source, MariaDB)],
            "port": port,
            "user": user,
            "password": f"env:{PASSWORD}",
            "tables": [f"{database}.*"],
            "start": {"file": file, "position": offset},
            "heartbeat_s": 1,
            "connect_timeout_s": 3,
        },
        "sink": {
            "type": kind[isinstance(target, MariaDB)],
            "port": target_port,
            "user": ACCOUNT[0],
            "password": f"env:{PASSWORD}_TARGET",
            "connect_timeout_s": 3,
            "lock_wait_timeout_s": 5,
        },
    }


class Task:
    """One process after the other."""

    def __init__(self, config: dict[str, Any], folder: Path) -> None:
        self._file, self._state, self._log = folder / "task.yaml", folder / "state.sqlite", folder / "task.log"
        self._file.write_text(yaml.safe_dump(config))
        self._process: subprocess.Popen[bytes] | None = None
        self.starts = 0

    @property
    def log(self) -> str:
        return self._log.read_text() if self._log.exists() else ""

    def start(self) -> None:
        self._process = self._run()

    def ended(self) -> bool:
        """Of itself: the task has failed."""
        return self._process is not None and self._process.poll() is not None

    def kill(self) -> None:
        """SIGKILL, and another process."""
        self._end(kill=True)
        self.start()

    def restart(self) -> None:
        self._end(kill=False)
        self.start()

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    def stop(self) -> None:
        self._end(kill=True)

    def finish(self) -> int:
        """Delivers what the source has, and ends. Returns the exit status.

        Raises TimeoutError.
        """
        self._end(kill=True)
        process = self._run("--until-current")
        try:
            return process.wait(_END_S)
        except subprocess.TimeoutExpired as error:
            process.kill()
            process.wait()
            raise TimeoutError(f"no end in {_END_S:.0f} s") from error

    def _run(self, *options: str) -> subprocess.Popen[bytes]:
        command = [
            sys.executable,
            "-m",
            "dev.targets.eager",
            "run",
            "-f",
            str(self._file),
            "--state",
            str(self._state),
        ]
        secrets = {PASSWORD: Database.replicator[1], f"{PASSWORD}_TARGET": ACCOUNT[1]}
        self.starts += 1
        with self._log.open("ab") as log:
            return subprocess.Popen(
                [*command, *options], env={**os.environ, **secrets}, stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _end(self, *, kill: bool) -> None:
        process = self._process
        if process is None:
            return
        self._process = None
        if kill:
            process.kill()
        else:
            process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
