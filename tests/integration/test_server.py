"""The Server as a process, on a real ZooKeeper, through the command line that a user has."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from dev import plain_http
from dev.servers import ZooKeeper
from dev.servers.ports import free_port
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import TaskRecord, load
from replicator.errors import NodeMissing
from replicator.zookeeper.client import connect
from tests.support.api import TASK

NAME = "copy_hot_item"
REPLICATOR = [sys.executable, "-m", "replicator.cli.main"]


class Running:
    """A `replicator server` process and its user."""

    def __init__(self, process: subprocess.Popen[str], url: str, token_file: Path, root: str) -> None:
        self.process = process
        self.url = url
        self.token_file = token_file
        self.root = root

    def cli(self, *arguments: str, status: int = 0) -> str:
        command = [*REPLICATOR, "task", *arguments, "--server", self.url, "--token-file", str(self.token_file)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert done.returncode == status, done.stderr
        return done.stdout if status == 0 else done.stderr

    def http(self) -> httpx.Client:
        headers = {"authorization": f"Bearer {self.token_file.read_text().strip()}"}
        return plain_http.client(f"{self.url}/api/v1", headers=headers)


@contextmanager
def started(hosts: str, folder: Path, root: str, *more: str) -> Iterator[Running]:
    token_file = folder / "server.token"
    arguments = [
        "--zookeeper",
        hosts,
        "--listen",
        "127.0.0.1:0",
        "--root",
        root,
        "--token-file",
        str(token_file),
        *more,
    ]
    with (folder / "server.log").open("w") as log:
        process = subprocess.Popen([*REPLICATOR, "server", *arguments], stdout=subprocess.PIPE, stderr=log, text=True)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        assert url.startswith(("http://127.0.0.1:", "https://127.0.0.1:")), (folder / "server.log").read_text()
        yield Running(process, url, token_file, root)
    finally:
        process.terminate()
        status = process.wait(20)
        assert process.stdout is not None
        process.stdout.close()
    assert status == 0, "SIGTERM ends it cleanly"


@pytest.fixture
def root() -> str:
    return f"/test-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def server(zookeeper: ZooKeeper, tmp_path: Path, root: str) -> Iterator[Running]:
    with started(zookeeper.hosts, tmp_path, root) as running:
        yield running


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "task.yaml"
    path.write_text(TASK)
    return path


def test_the_life_of_a_task(server: Running, zookeeper: ZooKeeper, file: Path, tmp_path: Path) -> None:
    assert stat.S_IMODE(server.token_file.stat().st_mode) == 0o600
    log = (tmp_path / "server.log").read_text()
    assert str(server.token_file) in log and server.token_file.read_text().strip() not in log

    assert server.cli("apply", "-f", str(file)) == f"{NAME} created\n"
    coordinator = connect(zookeeper.hosts)
    try:
        node = coordinator.get(Layout(server.root).task(NAME))
        assert load(TaskRecord, node.data).config == json.loads(server.cli("get", NAME, "-o", "json"))["config"]
        assert b"env:REPL_PASSWORD" in node.data
        file.write_text(TASK.replace("3306", "3307"))
        assert server.cli("apply", "-f", str(file)) == f"{NAME} configured\n"
        assert coordinator.get(Layout(server.root).task(NAME)).stat.version == 1
    finally:
        coordinator.close()
    assert server.cli("apply", "-f", str(file)) == f"{NAME} unchanged\n"
    server.cli("pause", NAME)
    assert "pause" in server.cli("history", NAME)
    assert server.cli("delete", NAME, "-y") == f"{NAME} deleted\n"
    assert "E5003" in server.cli("get", NAME, status=3)
    assert server.cli("apply", "-f", str(file)) == f"{NAME} created\n"


def test_of_two_writers_at_once_one_wins(server: Running) -> None:
    with server.http() as http:
        assert http.post("/tasks", content=TASK).status_code == 201
        for round_ in range(5):
            answers: list[httpx.Response] = []

            def write(port: int, version: int = round_, answers: list[httpx.Response] = answers) -> None:
                text = TASK.replace("3306", str(port))
                with server.http() as mine:
                    answers.append(mine.put(f"/tasks/{NAME}", content=text, headers={"if-match": f'"{version}"'}))

            threads = [threading.Thread(target=write, args=(4000 + 10 * round_ + n,)) for n in range(2)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert sorted(answer.status_code for answer in answers) == [200, 412]
            winner, loser = sorted(answers, key=lambda answer: answer.status_code)
            assert loser.json()["error"]["code"] == "E4006"
            task = http.get(f"/tasks/{NAME}").json()
            assert (task["version"], task["config"]) == (round_ + 1, winner.json()["config"])


def registered(coordinator: Coordinator, root: str) -> list[str]:
    """A Server answers before it has registered, so that it can say that ZooKeeper is away."""
    try:
        return coordinator.children(Layout(root).servers)
    except NodeMissing:
        return []


def test_two_servers_one_master(zookeeper: ZooKeeper, tmp_path: Path, root: str) -> None:
    (tmp_path / "b").mkdir()
    with started(zookeeper.hosts, tmp_path, root), started(zookeeper.hosts, tmp_path / "b", root) as second:
        coordinator = connect(zookeeper.hosts)
        try:
            deadline = time.monotonic() + 10
            while len(names := registered(coordinator, root)) < 2:
                assert time.monotonic() < deadline
                time.sleep(0.1)
            records = [coordinator.get(f"{Layout(root).servers}/{name}").data for name in names]
            assert any(second.url.encode() in record for record in records)
        finally:
            coordinator.close()


def test_it_answers_503_while_zookeeper_is_away_and_recovers(
    make_zookeeper: Callable[..., ZooKeeper], tmp_path: Path, root: str, file: Path
) -> None:
    zookeeper = make_zookeeper()
    with started(zookeeper.hosts, tmp_path, root) as server, server.http() as http:
        assert server.cli("apply", "-f", str(file)) == f"{NAME} created\n"
        zookeeper.stop()
        deadline = time.monotonic() + 20
        while (answer := http.get("/tasks")).status_code == 200:
            assert time.monotonic() < deadline
        assert answer.status_code == 503 and answer.json()["error"]["code"].startswith("E400")
        assert http.get("/health").status_code == 503
        assert "E400" in server.cli("get", status=5)
        zookeeper.start()
        while http.get("/tasks").status_code != 200:
            assert time.monotonic() < deadline + 20
            time.sleep(0.1)
        assert server.cli("get", "-o", "name") == f"{NAME}\n"


def test_without_zookeeper_it_starts_says_so_and_ends_on_sigint(tmp_path: Path, root: str) -> None:
    with started(f"127.0.0.1:{free_port()}", tmp_path, root) as server, server.http() as http:
        assert http.get("/tasks").json()["error"]["code"] in ("E4001", "E4002")
        log = tmp_path / "server.log"
        deadline = time.monotonic() + 15
        while "waiting for zookeeper" not in (text := log.read_text()):
            assert time.monotonic() < deadline
            time.sleep(0.2)
        assert "E4001" in text and "connection refused" in text
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(20) == 0


def test_a_port_in_use_is_an_error_in_one_line(zookeeper: ZooKeeper, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        arguments = ["--zookeeper", zookeeper.hosts, "--listen", f"127.0.0.1:{taken.getsockname()[1]}"]
        done = subprocess.run(
            [*REPLICATOR, "server", *arguments],
            capture_output=True,
            text=True,
            timeout=60,
            env={**os.environ, "XDG_STATE_HOME": str(tmp_path)},
        )
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith("E5001 process: cannot listen on 127.0.0.1:")
    assert "Traceback" not in done.stderr
    assert (tmp_path / "mysql-replicator" / "server.token").exists()


def test_login_counts_in_every_server_until_it_is_revoked(zookeeper: ZooKeeper, tmp_path: Path, root: str) -> None:
    folders = [tmp_path / "a", tmp_path / "b"]
    for folder in folders:
        folder.mkdir()
    audit = tmp_path / "audit.log"
    with (
        started(zookeeper.hosts, folders[0], root, "--audit-file", str(audit)) as first,
        started(zookeeper.hosts, folders[1], root) as second,
        first.http() as admin,
        second.http() as other,
    ):
        made = admin.post("/tokens", json={"name": "ci", "role": "operator"}, headers={"x-replicator-user": "ann"})
        login = {"authorization": f"Bearer {made.json()['token']['secret']}"}
        deadline = time.monotonic() + 20
        while other.get("/login", headers=login).status_code != 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert other.get("/login", headers=login).json()["label"] == "token:ci"
        key = {"idempotency-key": "one"}
        created = admin.post("/tasks", content=TASK, headers=key)
        assert (created.status_code, other.post("/tasks", content=TASK, headers=key).content) == (201, created.content)
        assert other.post(f"/tasks/{NAME}/pause", headers=login).json()["desired_by"] == "token:ci@127.0.0.1"
        assert other.delete(f"/tasks/{NAME}", headers=login).status_code == 403
        assert admin.delete("/tokens/ci").status_code == 204
        assert admin.get("/login", headers=login).status_code == 401
        while other.get("/login", headers=login).status_code == 200 and time.monotonic() < deadline:
            time.sleep(0.1)
        assert other.get("/login", headers=login).status_code == 401
        entries = other.get("/audit").json()["items"]
        found = [(one["operation"], one["outcome"]) for one in entries if one["by"] != ""]
        assert found == [
            ("createToken", "done"),
            ("createTask", "done"),
            ("createTask", "replayed"),
            ("pauseTask", "done"),
            ("deleteTask", "refused"),
            ("revokeToken", "done"),
        ]
        lines = [json.loads(line) for line in audit.read_text().splitlines()]
        assert [one["operation"] for one in lines][:3] == ["createToken", "createTask", "revokeToken"]
        assert stat.S_IMODE(audit.stat().st_mode) == 0o600 and made.json()["token"]["secret"] not in audit.read_text()
