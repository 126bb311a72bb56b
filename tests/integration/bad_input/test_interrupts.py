"""Ctrl-C at every stage: it ends soon, says no traceback, leaves no process behind and loses nothing."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from dev.servers import Kafka, MySQL
from dev.servers.ports import free_port
from tests.integration.bad_input.command import Replicator
from tests.integration.bad_input.local import Local

INTERRUPTED = 130
CLEAN = (0, INTERRUPTED)
"""Processes: 0 once they serve, 130 when they were still being set up."""
UNBORN = (1, -signal.SIGINT)
"""The interpreter had not come to our first line."""


@pytest.fixture
def silent() -> Iterator[str]:
    """HOST:PORT of something that takes connections and never says a word."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        held = []

        def take() -> None:
            while True:
                try:
                    held.append(listening.accept()[0])
                except OSError:
                    return

        thread = threading.Thread(target=take, daemon=True)
        thread.start()
        yield f"127.0.0.1:{listening.getsockname()[1]}"
        listening.shutdown(socket.SHUT_RDWR)
        thread.join()
        for connection in held:
            connection.close()


@pytest.fixture
def absent() -> str:
    """HOST:PORT where nothing listens."""
    return f"127.0.0.1:{free_port()}"


@pytest.mark.parametrize("moment", [0.2, 0.6])
def test_run_while_it_starts(local: Local, moment: float) -> None:
    local.begin()
    local.insert()
    local.replicator.imports = True
    running = local.start()
    time.sleep(moment)
    assert running.interrupt().status in (INTERRUPTED, *UNBORN)
    local.arrives()


@pytest.mark.parametrize(("where", "until_current"), [("absent", True), ("silent", False), ("silent", True)])
def test_run_while_mysql_is_away(local: Local, request: pytest.FixtureRequest, where: str, until_current: bool) -> None:
    address = request.getfixturevalue(where)
    local.config["source"] |= {"port": int(address.rpartition(":")[2]), "connect_timeout_s": 30}
    running = local.start(*["--until-current"] * until_current)
    if where == "absent":
        running.says("waiting", "E2001")
    else:
        time.sleep(1.5)
    assert running.interrupt().status == INTERRUPTED


@pytest.mark.parametrize("where", ["absent", "silent"])
def test_run_while_kafka_is_away(local: Local, request: pytest.FixtureRequest, where: str) -> None:
    address = request.getfixturevalue(where)
    local.config["sink"] = {"type": "kafka", "bootstrap_servers": [address]}
    running = local.start()
    if where == "absent":
        running.says("waiting", "E3001")
    else:
        time.sleep(1.5)
    assert running.interrupt().status == INTERRUPTED


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_run_while_it_streams(local: Local, number: signal.Signals) -> None:
    local.begin()
    running = local.start()
    running.says("streaming")
    local.insert(50)
    ended = running.interrupt(number)
    assert ended.status == (INTERRUPTED if number == signal.SIGINT else 0)
    local.arrives()


def test_run_into_kafka_while_it_streams(mysql: MySQL, database: str, replicator: Replicator, kafka: Kafka) -> None:
    sink = {"type": "kafka", "bootstrap_servers": [kafka.bootstrap], "topic": f"{database}.item"}
    local = Local(mysql, database, replicator, sink)
    local.begin()
    running = local.start()
    running.says("streaming")
    local.insert(50)
    assert running.interrupt().status == INTERRUPTED
    local.arrives()


def test_run_while_its_broker_is_frozen(
    mysql: MySQL, database: str, replicator: Replicator, make_kafka: Callable[..., Kafka]
) -> None:
    """The first Ctrl-C waits for what is in flight, the second ends at once."""
    kafka = make_kafka()
    sink = {"type": "kafka", "bootstrap_servers": [kafka.bootstrap], "topic": f"{database}.item"}
    local = Local(mysql, database, replicator, sink)
    local.begin()
    running = local.start()
    running.says("streaming")
    kafka.pause()
    try:
        local.insert(5)
        time.sleep(1)
        running.signal(signal.SIGINT)
        time.sleep(1)
        assert running.interrupt(timeout=5).status == INTERRUPTED
    finally:
        kafka.resume()
    local.arrives()


@pytest.mark.parametrize("where", ["mysql", "kafka", "zookeeper"])
def test_check(local: Local, silent: str, where: str) -> None:
    arguments = []
    if where == "mysql":
        local.config["source"] |= {"port": int(silent.rpartition(":")[2]), "connect_timeout_s": 30}
    elif where == "kafka":
        local.config["sink"] = {"type": "kafka", "bootstrap_servers": [silent]}
    else:
        arguments = ["--zookeeper", silent]
    local.write()
    running = local.replicator.start("check", "-f", str(local.path), *arguments)
    time.sleep(2)
    if running.alive:
        assert running.interrupt().status == INTERRUPTED


@pytest.mark.parametrize(
    ("command", "where"),
    [("core", "absent"), ("core", "silent"), ("server", "silent"), ("server", "absent"), ("monitor", "absent")],
)
def test_processes_without_zookeeper(
    replicator: Replicator, request: pytest.FixtureRequest, command: str, where: str
) -> None:
    listen = [] if command == "core" else ["--listen", "127.0.0.1:0"]
    running = replicator.start(command, "--zookeeper", request.getfixturevalue(where), *listen)
    time.sleep(2.5)
    ended = running.interrupt()
    assert ended.status in CLEAN
    assert len(ended.err.splitlines()) < 10, "no flood"


@pytest.mark.parametrize("command", ["core", "server", "monitor"])
@pytest.mark.parametrize("moment", [0.1, 0.5])
def test_processes_while_they_start(replicator: Replicator, absent: str, command: str, moment: float) -> None:
    listen = [] if command == "core" else ["--listen", "127.0.0.1:0"]
    replicator.imports = True
    running = replicator.start(command, "--zookeeper", absent, *listen)
    time.sleep(moment)
    assert running.interrupt().status in (*CLEAN, *UNBORN)
