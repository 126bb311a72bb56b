"""A second database server, into which the demo replicates the tables of the source."""

from __future__ import annotations

import json
import os
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final

from dev.cluster import Cluster
from dev.servers import MariaDB, MySQL

TASK: Final = "copy_to_target"
_PASSWORD: Final = "REPL_TARGET_PASSWORD"


def set_password() -> None:
    """Before the Cores are started, which inherit it. The account root has none."""
    os.environ[_PASSWORD] = ""


def task(source: dict[str, Any], target: MySQL | MariaDB) -> dict[str, Any]:
    """`source`: of the other task. The tables are created at the target, and the one that has rows is copied."""
    sink = {
        "type": source["type"],
        "host": target.host,
        "port": target.port,
        "user": "root",
        "password": f"env:{_PASSWORD}",
        "create_tables": True,
    }
    return {"name": TASK, "source": source, "sink": sink}


class Verification:
    """`replicator verify`, while something else is done."""

    def __init__(self, cluster: Cluster) -> None:
        self._pool = ThreadPoolExecutor(1)
        self._answer: Future[str] = self._pool.submit(cluster.cli, "verify", TASK, "-o", "json", check=False)

    def result(self) -> tuple[str, int]:
        """`equal`, or what else it is, and the number of rows that were compared."""
        with self._pool:
            answer = self._answer.result()
        found: dict[str, Any] = json.loads(answer) if answer else {"result": "not verified", "tables": []}
        return str(found["result"]), sum(int(table["rows"]) for table in found["tables"])
