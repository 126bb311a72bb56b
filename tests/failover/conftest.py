"""`make_bus(**options)`: a started bus under load; everything of it is stopped at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dev.servers import Kafka, MySQL, ZooKeeper
from tests.failover.bus import Bus


@pytest.fixture
def make_bus(
    zookeeper: ZooKeeper,
    mysql: MySQL,
    kafka: Kafka,
    tmp_path: Path,
    make_zookeeper: Callable[..., ZooKeeper],
    make_mysql: Callable[..., MySQL],
    make_kafka: Callable[..., Kafka],
) -> Iterator[Callable[..., Bus]]:
    """The factories are asked for so that a test's own servers outlive its bus."""
    with contextlib.ExitStack() as made:

        def make(*hosts: str, how: Mapping[str, dict[str, Any]] | None = None, **options: Any) -> Bus:
            servers = {"zookeeper": zookeeper, "database": mysql, "kafka": kafka, **options}
            bus = Bus(folder=tmp_path, **servers)
            made.callback(bus.close)
            return bus.start(*hosts, how=how)

        yield make
