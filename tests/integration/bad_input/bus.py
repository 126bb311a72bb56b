"""Two tasks on one Core and a Server, with files as sinks, so that one can be spoilt and the other watched."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from dev import plain_http
from dev.cluster import Cluster, Process, wait_for
from dev.servers import MySQL, ZooKeeper
from replicator.coordination.layout import Layout
from tests.integration.bad_input.command import Ended, Replicator
from tests.integration.bad_input.local import Local

SESSION_SECONDS = 2.0


class Bus:
    """`tasks`: their names are those of their databases."""

    def __init__(self, zookeeper: ZooKeeper, mysql: MySQL, databases: list[str], folder: Path) -> None:
        self._zookeeper = zookeeper.address
        self.layout = Layout(f"/{databases[0]}")
        self.cluster = Cluster(zookeeper.address, folder, session_timeout=SESSION_SECONDS, root=self.layout.root)
        self.replicator = Replicator(folder, REPLICATOR_SERVER=self.cluster.server_url)
        self.tasks = [self._task(mysql, name, folder) for name in databases]

    def _task(self, mysql: MySQL, name: str, folder: Path) -> Local:
        sink = {"type": "file", "path": str(folder / f"{name}.jsonl"), "topic": "{table}"}
        task = Local(mysql, name, self.replicator, sink)
        task.output = Path(sink["path"])
        task.config["checkpoint_interval_ms"] = 200
        return task

    def start(self) -> None:
        self.cluster.start_server()
        self.replicator.environment["REPLICATOR_TOKEN"] = self.cluster.token
        self.cluster.core("host-a")

    def start_without_zookeeper(self) -> None:
        """Server, Core and Monitor; the Server's health is bad until there is a ZooKeeper."""
        listen = self.cluster.server_url.removeprefix("http://")
        token = self.cluster.folder / "server.token"
        where = ["--zookeeper", self._zookeeper, "--root", self.layout.root, "--listen", listen]
        server = Process("server", ["server", *where, "--token-file", str(token)], self.cluster.folder)
        self.cluster.server = server
        server.start()
        wait_for(lambda: "listening" in server.tail(), "the Server to listen", 30)
        self.replicator.environment["REPLICATOR_TOKEN"] = self.cluster.token
        self.cluster.core("host-a")
        self.cluster.start_monitor()

    def cli(self, *arguments: str) -> Ended:
        return self.replicator("task", *arguments)

    def apply(self, task: Local) -> Ended:
        path = self.cluster.folder / f"{task.name}.json"
        path.write_text(json.dumps(task.config))
        return self.cli("apply", "-f", str(path))

    def run_all(self) -> None:
        for task in self.tasks:
            self.apply(task).ok()
        for task in self.tasks:
            self.cli("wait", task.name, "--for", "running").ok()
            task.insert()
            task.wait_delivered()

    def get(self, path: str) -> Any:
        headers = {"authorization": f"Bearer {self.cluster.token}"}
        answer = plain_http.get(f"{self.cluster.server_url}/api/v1/{path}", headers=headers, timeout=10)
        return answer.json()

    def problem(self, task: str, code: str) -> dict[str, str]:
        """Waits until the Server tells a problem of that code; returns it."""

        def told() -> dict[str, str] | None:
            return next((p for p in self.get(f"tasks/{task}").get("problems", []) if p["code"] == code), None)

        found: dict[str, str] = wait_for(told, f"{code} of {task}: {self.core_log()}", 30, every=0.2)
        return found

    def core_log(self, host: str = "host-a") -> str:
        return self.cluster.cores[host].log_path.read_text(errors="replace")

    def close(self) -> None:
        self.replicator.close()
        self.cluster.close()
        for process in [*self.cluster.cores.values(), self.cluster.server, self.cluster.monitor]:
            if process is not None:
                said = process.log_path.read_text(errors="replace")
                assert "Traceback" not in said and "E5011" not in said, said
