"""Workers with a list of outgoing addresses: what it does not have is never connected to, and stops the task."""

from __future__ import annotations

import contextlib
from typing import Any

import pymysql
import pytest

from core.launcher import Launcher
from core.protocol import Failed, OutgoingChanged, Streaming
from dev.cluster import wait_for
from dev.servers import Kafka, MySQL
from replicator.config.load import parse_task, to_data
from tests.integration.core.test_worker import Agent, config, insert, launcher
from tests.unit.net.test_connections import Listener

__all__ = ["config", "launcher"]


def changed(config: Any, section: str, **keys: Any) -> Any:
    return to_data(parse_task(config | {section: config[section] | keys}))


def test_source_brokers_target_and_registry_are_refused_in_turn(
    launcher: Launcher, mysql: MySQL, kafka: Kafka, database: str, config: Any
) -> None:
    listener = Listener()
    with listener.socket:
        there = f"127.0.0.1:{listener.port}"
        real = (f"{mysql.host}:{mysql.port}", kafka.address)
        avro = {"converter": "avro", "schema_registry": {"url": f"http://{there}"}}
        target = {
            "type": "mysql",
            "host": "127.0.0.1",
            "port": listener.port,
            "user": "u",
            "password": "env:REPL_PASSWORD",
        }
        for refused in (
            changed(config, "source", port=listener.port),
            changed(config, "source", host="localhost", port=listener.port),
            changed(config, "sink", bootstrap_servers=[there]),
            to_data(parse_task(config | {"sink": target})),
            changed(config, "sink", debezium=avro),
        ):
            agent = Agent(launcher, refused, outgoing=real)
            if refused["sink"].get("debezium") and refused["sink"]["debezium"].get("schema_registry"):
                agent.wait(Streaming)
                insert(mysql, database, 1)  # its schema is to be registered
            failed = agent.wait(Failed)
            assert failed.error["code"] == "E1050", failed
            assert str(listener.port) in failed.error["what"]
            assert agent.wait_exit() == 0
        assert listener.count() == 0


@pytest.mark.parametrize("entries", [("none",), ()])
def test_a_running_task_stops_at_its_next_connection(
    launcher: Launcher, mysql: MySQL, config: Any, entries: tuple[str, ...]
) -> None:
    agent = Agent(launcher, config, outgoing=("127.0.0.0/8", "::1"))
    agent.wait(Streaming)
    agent.worker.send(OutgoingChanged(entries))

    def failed() -> bool:
        end_connections(mysql)  # again, where it has connected before it has heard
        return any(isinstance(message, Failed) for message in agent.said)

    wait_for(lambda: agent.heard(failed), "the worker to fail", 60)
    assert agent.wait(Failed).error["code"] == ("E1050" if entries else "E1051")
    assert agent.wait_exit() == 0


def end_connections(mysql: MySQL) -> None:
    find = "SELECT id FROM information_schema.processlist WHERE user = %s"
    for (number,) in mysql.execute(find, (mysql.replicator[0],)):
        with contextlib.suppress(pymysql.err.OperationalError):  # it has ended
            mysql.execute(f"KILL {number}")
