"""Worker processes over real servers: what ends them, and what they say before."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from core.launcher import Launcher, Worker
from core.protocol import (
    AppendSchemaHistory,
    Drain,
    Drained,
    Failed,
    FromWorker,
    LoadSchemaHistory,
    Progress,
    Saved,
    Streaming,
    Waiting,
    WorkerSpec,
)
from core.schema_history_service import answered
from core.worker import AGENT_GONE, LEASE_OVER
from dev.checker import consumer
from dev.cluster import wait_for
from dev.errors import ServerFailed
from dev.servers import Kafka, MySQL
from replicator.checkpoint.history import MemoryHistory
from replicator.config.load import parse_task, to_data
from replicator.model.checkpoint import Checkpoint
from tests.support.settings import set_global

M = TypeVar("M")


@pytest.fixture(scope="module")
def launcher() -> Iterator[Launcher]:
    launcher = Launcher()
    launcher.warm()
    yield launcher
    launcher.close()


@pytest.fixture
def config(mysql: MySQL, kafka: Kafka, database: str) -> dict[str, Any]:
    mysql.execute(f"CREATE TABLE {database}.item (id INT PRIMARY KEY, name VARCHAR(20))")
    return to_data(
        parse_task(
            {
                "name": database,
                "source": {
                    "type": "mysql",
                    "host": mysql.host,
                    "port": mysql.port,
                    "user": mysql.replicator[0],
                    "password": "env:REPL_PASSWORD",
                    "tables": [f"{database}.*"],
                    "heartbeat_s": 1,
                },
                "sink": {"type": "kafka", "bootstrap_servers": [kafka.address]},
            }
        )
    )


class Agent:
    """Reads what a worker says, answers its checkpoints and keeps its schema history, as the agent does."""

    def __init__(
        self,
        launcher: Launcher,
        config: dict[str, Any],
        lease: float = 60.0,
        epoch: int = 7,
        history: MemoryHistory | None = None,
        checkpoint: Checkpoint | None = None,
        outgoing: tuple[str, ...] | None = None,
    ) -> None:
        spec = WorkerSpec(config["name"], "uid", epoch, "host-a", config, checkpoint, outgoing=outgoing)
        self.history = history or MemoryHistory()
        self.worker: Worker = launcher.start(spec, time.monotonic() + lease)
        self.said: list[FromWorker] = []
        self.gone = False

    def listen(self) -> None:
        messages = self.worker.receive()
        if messages is None:
            self.gone = True
            return
        self.said += messages
        for message in messages:
            if isinstance(message, Progress):
                self.worker.send(Saved(message.number))
            elif isinstance(message, LoadSchemaHistory | AppendSchemaHistory):
                self.worker.send(answered(self.history, message))

    def heard(self, condition: Callable[[], bool]) -> bool:
        """The condition, after what the worker has said meanwhile was answered."""
        self.listen()
        return condition()

    def wait(self, kind: type[M], timeout: float = 30.0) -> M:
        def found() -> M | None:
            self.listen()
            return next((message for message in self.said if isinstance(message, kind)), None)

        try:
            result: M = wait_for(found, kind.__name__, timeout)
        except ServerFailed as error:
            raise AssertionError(f"{error}; it said {self.said}") from None
        return result

    def wait_exit(self, timeout: float = 20.0) -> int | None:
        wait_for(lambda: not self.worker.alive, "the worker to end", timeout)
        return self.worker.exitcode


def insert(mysql: MySQL, database: str, *ids: int) -> None:
    for number in ids:
        mysql.execute(f"INSERT INTO {database}.item VALUES (%s, 'x')", (number,))


def delivered(kafka: Kafka, database: str) -> list[Any]:
    return consumer.read_topics(kafka.address, lambda topic: topic == f"{database}.{database}.item")


def test_it_streams_and_drains(launcher: Launcher, mysql: MySQL, kafka: Kafka, database: str, config: Any) -> None:
    agent = Agent(launcher, config)
    agent.wait(Streaming)
    insert(mysql, database, 1, 2, 3)
    wait_for(lambda: agent.heard(lambda: len(delivered(kafka, database)) == 3), "three records", 20)
    agent.worker.send(Drain())
    drained = agent.wait(Drained)
    assert drained.checkpoint is not None
    assert (drained.checkpoint.rows, drained.checkpoint.epoch) == (3, 7)
    assert agent.wait_exit() == 0


def test_the_starting_point_is_asked_to_be_saved_first(launcher: Launcher, database: str, config: Any) -> None:
    agent = Agent(launcher, config)
    first = agent.wait(Progress)
    assert first.urgent
    assert first.checkpoint.position.file
    assert not any(isinstance(message, Streaming) for message in agent.said[: agent.said.index(first)])
    agent.worker.kill()


def test_a_successor_reads_old_rows_with_the_definitions_of_then(
    launcher: Launcher, mysql: MySQL, kafka: Kafka, database: str, config: Any
) -> None:
    """The names of columns are in the history alone. The second worker starts where the first one did."""
    with set_global(mysql, "binlog_row_metadata", "'MINIMAL'"):
        first = Agent(launcher, config)
        began = first.wait(Progress).checkpoint
        first.wait(Streaming)
        insert(mysql, database, 1)
        mysql.execute(f"ALTER TABLE {database}.item RENAME COLUMN name TO title, ADD COLUMN id2 INT FIRST")
        mysql.execute(f"INSERT INTO {database}.item VALUES (7, 2, 'x')")
        wait_for(lambda: first.heard(lambda: len(delivered(kafka, database)) == 2), "two records", 20)
        first.worker.kill()
        assert [record.kind for record in first.history.records] == ["base", "ddl"]
        config["sink"]["delivery"] = "at_least_once"  # else the position in Kafka counts
        second = Agent(launcher, config, epoch=8, history=first.history, checkpoint=began)
        wait_for(lambda: second.heard(lambda: len(delivered(kafka, database)) == 4), "both again", 20)
        second.worker.kill()
    values = [json.loads(record.value)["after"] for record in delivered(kafka, database)]
    assert sorted(map(str, values)) == sorted(map(str, [{"id": 1, "name": "x"}, {"id2": 7, "id": 2, "title": "x"}] * 2))


def test_it_ends_by_itself_when_the_lease_does(launcher: Launcher, config: Any) -> None:
    agent = Agent(launcher, config, lease=60)
    agent.wait(Streaming)
    agent.worker.extend(time.monotonic() + 0.3)
    assert agent.wait_exit() in (LEASE_OVER, 0)


def test_it_ends_by_itself_when_the_agent_is_gone(launcher: Launcher, config: Any) -> None:
    agent = Agent(launcher, config)
    agent.wait(Streaming)
    agent.worker.hang_up()
    assert agent.wait_exit() == AGENT_GONE


def test_a_stuck_worker_can_be_killed(launcher: Launcher, config: Any) -> None:
    agent = Agent(launcher, config)
    agent.wait(Streaming)
    os.kill(agent.worker.pid, 19)  # SIGSTOP
    began = time.monotonic()
    agent.worker.kill()
    assert time.monotonic() - began < 10
    assert not agent.worker.alive


def test_what_can_not_run_is_said_with_its_code(launcher: Launcher, config: Any) -> None:
    config["source"]["password"] = "env:A_VARIABLE_THAT_NOBODY_SET"
    agent = Agent(launcher, config)
    failed = agent.wait(Failed)
    assert failed.error["code"] == "E1006"
    assert not failed.fenced


def test_a_source_that_is_away_is_waited_for(launcher: Launcher, config: Any) -> None:
    config["source"]["port"] = 1
    agent = Agent(launcher, config)
    assert agent.wait(Waiting).error["code"] == "E2001"
    assert agent.worker.alive
    agent.worker.kill()


def test_a_later_term_fences_an_earlier_one(
    launcher: Launcher, mysql: MySQL, kafka: Kafka, database: str, config: Any
) -> None:
    old = Agent(launcher, config, epoch=7)
    old.wait(Streaming)
    insert(mysql, database, 1)
    wait_for(lambda: old.heard(lambda: len(delivered(kafka, database)) == 1), "one record", 20)
    # With the same server id the source itself would throw the earlier reader out, before Kafka has a say.
    config["source"]["server_id"] = 4_000_000_000
    new = Agent(launcher, config, epoch=9)
    new.wait(Streaming)
    insert(mysql, database, 2)
    assert old.wait(Failed).fenced
    wait_for(lambda: new.heard(lambda: len(delivered(kafka, database)) == 2), "two records", 20)
    epochs = [dict(record.headers)["epoch"] for record in delivered(kafka, database)]
    assert epochs == [b"7", b"9"]
    new.worker.kill()
