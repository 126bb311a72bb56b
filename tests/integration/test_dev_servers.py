"""The servers themselves: they serve, survive a kill with their data, and freeze on demand."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dev.paths import TREE
from dev.servers import Kafka, MariaDB, MySQL, ZooKeeper, first_steps
from tests.support.waiting import eventually


def test_zookeeper_answers(zookeeper: ZooKeeper) -> None:
    assert zookeeper.four_letter_word("ruok") == "imok"


def test_a_topic_can_be_created_twice(kafka: Kafka, topic_prefix: str) -> None:
    kafka.create_topic(f"{topic_prefix}orders", partitions=3)
    kafka.create_topic(f"{topic_prefix}orders", partitions=3)


@pytest.mark.parametrize("kind", ["mysql", "mariadb"])
def test_a_database_is_ready_for_row_replication(kind: str, request: pytest.FixtureRequest) -> None:
    server: MySQL | MariaDB = request.getfixturevalue(kind)
    rows = server.execute("SELECT @@log_bin, @@binlog_format, @@binlog_row_image, @@binlog_row_metadata")
    assert rows == [(1, "ROW", "FULL", "FULL")]
    user, password = server.replicator
    connection = server.connect(user=user, password=password)
    with connection.cursor() as cursor:
        cursor.execute("SHOW GRANTS")
        assert "REPLICATION SLAVE" in str(cursor.fetchall())
    connection.close()


def test_the_commands_that_make_up_prints_work(
    make_mysql: Callable[..., MySQL],
    mariadb: MariaDB,
    kafka: Kafka,
    make_zookeeper: Callable[..., ZooKeeper],
    tmp_path: Path,
) -> None:
    mysql, zookeeper = make_mysql(), make_zookeeper()
    addresses = {server.name: server.address for server in (mysql, mariadb, kafka, zookeeper)}
    first_steps.write(tmp_path, addresses, [mysql, mariadb])
    printed = [command for _, command in first_steps.lines(tmp_path)]
    script = [
        "set -e; trap 'kill $(jobs -p); wait' EXIT",
        *printed,
        "mariadb -NBe 'SELECT @@port'",
        "replicator task wait copy_item --for running --timeout 60",
    ]
    done = subprocess.run(
        ["bash", "-c", "\n".join(script)], cwd=TREE, capture_output=True, text=True, timeout=150, check=False
    )
    assert done.returncode == 0, done.stderr
    for words in (
        "VERSION()",
        '\\"name\\":\\"price engine\\"',
        "copy_item created",
        f"\n{mariadb.port}\n",
        "copy_item running",
    ):
        assert words in done.stdout, (words, done.stdout, done.stderr)


def test_a_killed_database_keeps_its_rows(make_mysql: Callable[..., MySQL]) -> None:
    server = make_mysql()
    server.execute("CREATE DATABASE d")
    server.execute("CREATE TABLE d.t (id INT PRIMARY KEY)")
    server.execute("INSERT INTO d.t VALUES (7)")
    server.kill()
    assert not server.running
    server.start()
    assert server.execute("SELECT id FROM d.t") == [(7,)]


def test_a_paused_zookeeper_answers_nothing_until_it_resumes(make_zookeeper: Callable[..., ZooKeeper]) -> None:
    server = make_zookeeper()
    server.pause()
    eventually(lambda: server.four_letter_word("ruok") == "")
    server.resume()
    eventually(lambda: server.four_letter_word("ruok") == "imok")
