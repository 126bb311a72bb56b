"""What Kafka lacks or refuses: one line that says so, or a wait that says what for; and nothing is lost or doubled."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.admin import ConfigResource, ConfigResourceType

from dev.faults.small_disk import SmallDisk
from dev.servers import Kafka, MySQL
from tests.integration.bad_input.command import Replicator
from tests.integration.bad_input.local import Local


def into(mysql: MySQL, database: str, replicator: Replicator, bootstrap: str, **options: Any) -> Local:
    topic = f"{database}.item"
    sink = {"type": "kafka", "bootstrap_servers": [bootstrap], "topic": topic, "delivery_timeout_ms": 5000, **options}
    return Local(mysql, database, replicator, sink)


@pytest.fixture
def local(mysql: MySQL, database: str, replicator: Replicator, kafka: Kafka) -> Local:
    return into(mysql, database, replicator, kafka.bootstrap)


def test_kafka_is_down_at_the_start_and_dies_in_flight(
    mysql: MySQL, database: str, replicator: Replicator, make_kafka: Callable[..., Kafka]
) -> None:
    kafka = make_kafka()
    local = into(mysql, database, replicator, kafka.bootstrap)
    local.begin()
    local.insert()
    kafka.stop()
    running = local.start()
    assert "A running task retries" in running.says("waiting", "E3001", kafka.address)
    kafka.start()
    local.wait_delivered()
    kafka.kill()
    local.insert(3)
    running.says("waiting", "E3002" if "E3002" in running.err else "E300", timeout=60)
    kafka.start()
    local.insert(3)
    local.wait_delivered(60)
    assert running.interrupt().status == 130
    local.arrives()


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_topic_is_missing_and_may_not_be_created(local: Local, kafka: Kafka, delivery: str) -> None:
    local.config["sink"] |= {"create_topics": False, "delivery": delivery}
    if delivery == "exactly_once":
        line = local.run().refused("E3101", "Wanted: 1 partition", "Fix: Create it")
        named = re.search(rf"'(replicator\.position\.[0-9a-f]{{12}}\.{re.escape(local.name)})'", line)
        assert named, line
        kafka.create_topic(named[1], 1, **{"cleanup.policy": "compact"})
    local.run().ok()
    local.insert()
    local.run().refused("E3101", f"'{local.table}'", "sink.create_topics is false", "Fix: Create it")
    kafka.create_topic(local.table)
    local.insert()
    local.arrives()


@pytest.mark.parametrize("delivery", ["exactly_once", "at_least_once"])
def test_a_record_over_our_limit(local: Local, delivery: str) -> None:
    """What was committed before it is delivered; it and what follows wait for the limit to be raised."""
    local.config["sink"] |= {"max_record_bytes": 20_000, "delivery": delivery}
    local.begin()
    local.insert(2)
    before = list(local.committed)
    local.insert(1, "x" * 30_000)
    local.insert(2)
    for _ in range(2):
        local.run().refused("E3102", f"'{local.table}'", "20000", f'{{"id":{before[-1] + 1}}}', "Fix: ")
        assert local.delivered() == before
    local.config["sink"]["max_record_bytes"] = 100_000
    local.arrives()


def test_a_record_over_the_topics_limit(local: Local, kafka: Kafka) -> None:
    kafka.create_topic(local.table, 1, **{"max.message.bytes": "20000"})
    local.begin()
    local.insert(1, "x" * 30_000)
    local.insert()
    local.run().refused("E3102", f"'{local.table}'", "Fix: ", "max.message.bytes")
    admin = KafkaAdminClient(bootstrap_servers=kafka.bootstrap)
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, local.table, {"max.message.bytes": "100000"})])
    admin.close()
    local.arrives()


def test_a_transaction_with_one_record_over_the_limit_shows_nothing_of_itself(local: Local) -> None:
    local.config["sink"] |= {"max_record_bytes": 20_000}
    local.begin()
    local.in_session(
        "BEGIN",
        "INSERT INTO item (id, note) VALUES (100, 'small')",
        f"INSERT INTO item (id, note) VALUES (101, '{'x' * 30_000}')",
        "INSERT INTO item (id, note) VALUES (102, 'small')",
        "COMMIT",
    )
    local.run().refused("E3102", "101")
    assert local.delivered() == local.committed
    local.committed += [100, 101, 102]
    local.config["sink"]["max_record_bytes"] = 100_000
    local.arrives()


@pytest.mark.parametrize(
    ("kind", "code", "found"),
    [
        ("a folder", "E3202", "Found: a directory"),
        ("missing folder", "E3202", "No such file or directory"),
        ("elsewhere", "E3202", "Found: not below "),
        ("a device", "E3201", "Found: not a regular file"),
    ],
)
def test_a_file_that_cannot_be_written(
    mysql: MySQL, database: str, replicator: Replicator, tmp_path: Path, kind: str, code: str, found: str
) -> None:
    local = Local(mysql, database, replicator)
    local.begin()
    local.insert(2)
    device = Path("/dev/full")
    bad = {"a folder": tmp_path, "missing folder": tmp_path / "no" / "such"}.get(kind, device)
    allowed = ("--file-sink-directory", "/dev") if kind == "a device" else ()
    before = local.delivered()
    local.config["sink"]["path"] = str(bad)
    line = local.run(*allowed).refused("E5017", str(bad), "Fix: --state ")
    on = re.search(r"Fix: --state (\S+) continues", line)
    assert on, line
    for _ in range(2):
        local.run("--state", on[1], *allowed).refused(code, str(bad), found, "Fix: ")
        assert local.delivered() == before
    local.config["sink"]["path"] = str(local.output)
    local.arrives()


@pytest.mark.skipif(os.geteuid() != 0, reason="a small disk needs root")
def test_a_file_on_a_full_disk(mysql: MySQL, database: str, replicator: Replicator, tmp_path: Path) -> None:
    """Nothing is half written, and the same command goes on when there is room."""
    local = Local(mysql, database, replicator)
    with SmallDisk(tmp_path / "small", 64 << 10) as disk:
        local.output = disk.folder / "out.jsonl"
        local.config["sink"]["path"] = str(local.output)
        local.begin()
        before = local.delivered()
        disk.fill()
        local.insert(3, "x" * 5000)
        for _ in range(2):
            local.run().refused("E3201", str(local.output), "Found: No space left on device", "Fix: ")
            assert local.delivered() == before
        disk.empty()
        local.arrives()


def test_nobody_reads_our_stdout_any_more(local: Local) -> None:
    """`replicator run --sink stdout | head -1`: what the reader did not take comes again."""
    local.run("--sink", "stdout").ok()
    local.insert(3)
    out = local.run("--sink", "stdout").ok().out
    rows = [json.loads(json.loads(line)["value"])["after"]["id"] for line in out.splitlines()]
    assert rows == local.committed
