"""`max_transaction_bytes`: one transaction of the source in several of Kafka, killed between its parts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.support.consume import Consumed, read_all
from tests.support.streamed import PASSWORD, REFERENCE, streamed

pytestmark = pytest.mark.servers
ROWS = 40_000


@pytest.fixture
def config(mysql: Any, database: str, kafka: Any, topic_prefix: str) -> dict[str, Any]:
    """Of a task that begins before one transaction of 40,000 rows and 12 MB between two small ones."""
    file, offset = mysql.end_of_log()
    mysql.execute(f"CREATE TABLE {database}.t (id INT AUTO_INCREMENT PRIMARY KEY, b VARCHAR(300))")
    mysql.execute(f"INSERT INTO {database}.t VALUES (1, 'before')")
    mysql.execute(
        f"INSERT /*+ SET_VAR(cte_max_recursion_depth = 1000000) */ INTO {database}.t (b) WITH RECURSIVE n (i) AS "
        f"(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS}) SELECT REPEAT('x', 300) FROM n"
    )
    mysql.execute(f"INSERT INTO {database}.t (b) VALUES ('after')")
    source = {"type": "mysql", "port": mysql.port, "user": "replicator", "password": REFERENCE}
    return {
        "name": topic_prefix + "copy",
        "source": {**source, "tables": [f"{database}.*"], "start": {"file": file, "position": offset}},
        "sink": {"type": "kafka", "bootstrap_servers": [kafka.bootstrap]},
        "max_transaction_bytes": 1 << 20,
    }


def records(config: dict[str, Any], isolation: str = "read_committed") -> list[Consumed]:
    (bootstrap,) = config["sink"]["bootstrap_servers"]
    (tables,) = config["source"]["tables"]
    return read_all(bootstrap, f"{config['name']}.{tables.replace('*', 't')}", isolation)


def ids(found: list[Consumed]) -> list[int]:
    return [json.loads(record.value or b"")["after"]["id"] for record in found]


def held_inside(config: dict[str, Any]) -> list[int]:
    """Rows of the transaction before each position that was committed."""
    (bootstrap,) = config["sink"]["bootstrap_servers"]
    kept = read_all(bootstrap, f"replicator.position.{config['name']}")
    return [json.loads(record.value or b"")["position"].get("rows", 0) for record in kept]


def killed_between_parts(config: dict[str, Any], *, compiled: bool) -> bool:
    """Kills three processes that deliver, and says whether one of them had delivered a part alone."""
    environment = {**os.environ, **PASSWORD, "REPLICATOR_COMPILED": "1" if compiled else "0"}
    parts = 0
    for _ in range(3):
        seen = len(held_inside(config))
        victim = subprocess.Popen(
            [sys.executable, "-m", "tests.support.streamed"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
        )
        assert victim.stdin is not None
        victim.stdin.write(json.dumps(config).encode())
        victim.stdin.close()
        until = time.monotonic() + 30
        while len(held_inside(config)) < seen + 3 and victim.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        parts += 0 < len(records(config)) < ROWS
    return parts > 0


@pytest.mark.parametrize("compiled", [True, False])
def test_nothing_is_lost_or_doubled_by_kills_between_the_parts(config: dict[str, Any], compiled: bool) -> None:
    name = config["name"]
    for attempt in range(5):  # where the machine is slow to look, all is delivered before a kill
        config["name"] = f"{name}{attempt}"
        if killed_between_parts(config, compiled=compiled):
            break
    else:
        pytest.fail("no kill came between two parts")
    streamed(config, compiled=compiled)
    assert len(set(held_inside(config))) > 3
    found = records(config)
    assert ids(found) == sorted(set(ids(found)))
    assert len(found) == ROWS + 2
    large = [record for record in found if record.header("row") != "0"]
    assert [int(record.header("row")) for record in large] == list(range(1, ROWS))


def test_without_it_a_part_is_never_seen(config: dict[str, Any]) -> None:
    del config["max_transaction_bytes"]
    done = streamed(config)
    assert done.rows == ROWS + 2
    assert set(held_inside(config)) == {0}
