"""What is still on its way when a session ends: it must not arrive behind newer rows of the same key."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from dev.cluster import wait_for
from dev.faults.cable import Cable
from dev.paths import TREE
from dev.servers import Kafka
from dev.servers.ports import free_port
from tests.support.consume import read_all

pytestmark = [
    pytest.mark.timeout(240),
    pytest.mark.servers,
    pytest.mark.skipif(os.geteuid() != 0, reason="networks of their own need root"),
]

CUT_SECONDS: Final = 40.0
KERNEL_SECONDS: Final = 58.0
"""From the cut on: the kernel sends the bytes of a closed connection again after 0.2 s, and then each time after twice
as long; what is on its way when the cable is cut arrives after 51 s."""


class Sender:
    """`tests.support.sessions` in a network of its own."""

    def __init__(self, cable: Cable, broker: str, task: str, log: Path, epoch: int = 1, acknowledged: int = 0) -> None:
        command = [sys.executable, "-m", "tests.support.sessions", broker, task, str(epoch), str(acknowledged)]
        self._log = log
        with log.open("w") as output:
            self.process = subprocess.Popen([*cable.enter, *command], stdout=output, stderr=output, cwd=TREE)

    @property
    def told(self) -> tuple[int, int]:
        """Epoch and last acknowledged row."""
        with contextlib.suppress(IndexError, ValueError):
            epoch, acknowledged = self._log.read_text().splitlines()[-1].split()
            return int(epoch), int(acknowledged)
        return 0, 0

    def close(self) -> None:
        self.process.kill()
        self.process.wait()


@pytest.fixture
def cable() -> Iterator[Cable]:
    with Cable() as cable:
        yield cable


@pytest.fixture
def broker(make_kafka: Callable[..., Kafka], cable: Cable) -> tuple[Kafka, str]:
    """One that is reached over the cable, too; and its address there."""
    port, outside, controller = free_port(), free_port(), f"127.0.0.1:{free_port()}"
    here, there = f"PLAINTEXT://127.0.0.1:{port}", f"OUTSIDE://{cable.near}:{outside}"
    both = {
        "listeners": f"{here},{there},CONTROLLER://{controller}",
        "controller.quorum.bootstrap.servers": controller,
        "advertised.listeners": f"{here},{there}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
    }
    return make_kafka(port=port, properties=both), f"{cable.near}:{outside}"


def epochs(kafka: Kafka, task: str) -> list[int]:
    records = read_all(kafka.bootstrap, f"{task}.t")
    return [int(dict(record.headers)["epoch"]) for record in records]


def test_95_bytes_of_a_session_that_is_over_do_not_arrive_behind_newer_rows(
    broker: tuple[Kafka, str], cable: Cable, tmp_path: Path, topic_prefix: str
) -> None:
    """One sender goes on with new sessions by itself, the other is killed and started again."""
    lives, dies = topic_prefix + "lives", topic_prefix + "dies"
    kafka, outside = broker
    with contextlib.ExitStack() as made:

        def sender(task: str, *progress: int) -> Sender:
            log = tmp_path / f"{task}-{len(progress)}.log"
            started = Sender(cable, outside, task, log, *progress)
            made.callback(started.close)
            return started

        first, second = sender(lives), sender(dies)
        wait_for(lambda: min(first.told[1], second.told[1]) >= 50, "both delivering", 60)
        cable.cut()
        began = time.monotonic()
        time.sleep(2)
        second.close()
        time.sleep(max(0.0, began + CUT_SECONDS - time.monotonic()))
        cable.mend()
        epoch, acknowledged = second.told
        again = sender(dies, epoch + 1, acknowledged)
        before = first.told[1]
        wait_for(lambda: first.told[1] > before + 50 and again.told[1] > acknowledged + 50, "both again", 60)
        late = time.monotonic() - began
        time.sleep(max(0.0, began + KERNEL_SECONDS - time.monotonic()))
    assert late < KERNEL_SECONDS - 8, "newer rows came too late for the test to see anything"
    for task in (lives, dies):
        seen = epochs(kafka, task)
        assert seen == sorted(seen), f"{task}: rows of an earlier session behind those of a later one"
        assert len(set(seen)) > 1
