"""docs/tutorial.md, followed to the letter."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from dev.fetch.jars import java, kafka_libs
from dev.paths import TREE
from dev.servers import Kafka, MySQL, ZooKeeper
from dev.servers.ports import free_port
from tests.support.tutorial import Reader, Shell, alike, blocks

PAGE = (TREE / "docs/tutorial.md").read_text()
pytestmark = pytest.mark.timeout(300)


@pytest.fixture
def programs(tmp_path: Path) -> str:
    """A PATH with the installed commands, and Kafka's console consumer as its archive has it."""
    script = tmp_path / "kafka-console-consumer.sh"
    consumer = "org.apache.kafka.tools.consumer.ConsoleConsumer"
    script.write_text(f'#!/bin/sh\nexec {java()} -cp "{kafka_libs()}/*" {consumer} "$@" 2>/dev/null\n')
    script.chmod(0o755)
    return f"{tmp_path}:{Path(sys.executable).parent}:{os.environ['PATH']}"


@pytest.fixture
def shell(tmp_path: Path, programs: str) -> Iterator[Shell]:
    environment = {"PATH": programs, "XDG_STATE_HOME": str(tmp_path / "state"), "COLUMNS": "120"}
    environment |= {"REPLICATOR_SECRETS_ENV_PREFIX": "REPL_", "REPLICATOR_SECRETS_DIRECTORY": str(tmp_path)}
    opened = Shell(tmp_path, environment)
    yield opened
    opened.close()


def test_every_command_of_the_tutorial_prints_what_the_page_shows(
    make_mysql: Callable[..., MySQL],
    make_kafka: Callable[..., Kafka],
    make_zookeeper: Callable[..., ZooKeeper],
    shell: Shell,
    tmp_path: Path,
) -> None:
    database, broker, zookeeper = make_mysql(), make_kafka(), make_zookeeper()
    substitutes = {
        "port: 3306": f"port: {database.port}",
        "127.0.0.1:9092": broker.bootstrap,
        "127.0.0.1:2181": zookeeper.address,
        "127.0.0.1:8080": f"127.0.0.1:{free_port()}",
        "127.0.0.1:8081": f"127.0.0.1:{free_port()}",
    }
    reader = Reader(shell, database.execute, tmp_path, substitutes)
    try:
        reader.follow(PAGE)
    finally:
        (tmp_path / "printed.txt").write_text("\n".join(reader.printed))
    assert not reader.differences, "\n\n".join(reader.differences)


def test_the_page_has_its_commands() -> None:
    languages = [block.language for block in blocks(PAGE)]
    assert languages.count("console") >= 8
    assert languages.count("sql") >= 4


@pytest.mark.parametrize(
    ("shown", "printed", "equal"),
    [
        ("lag 0.1 s", "lag   12.4 s\n", True),
        ("host-a RUNNING", "host-b RUNNING", False),
        ('{"id": 1, ... "op": "c"}', '{"id": 7, "x": {}, "op": "c"}', True),
        ("created", "", False),
        ("", "Traceback", False),
    ],
)
def test_a_page_that_is_wrong_is_noticed(shown: str, printed: str, equal: bool) -> None:
    assert alike(shown, printed) is equal
