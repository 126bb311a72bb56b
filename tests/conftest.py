"""Fixtures for every suite, and the `servers` mark for each test that starts a real server."""

from __future__ import annotations

import gc
import os
import signal
from collections.abc import Iterator

import pytest

from dev import warm
from replicator.host import access
from tests.servers import (
    SERVER_FIXTURES,
    database,
    kafka,
    make_kafka,
    make_mariadb,
    make_mysql,
    make_registry,
    make_zookeeper,
    mariadb,
    mariadb_database,
    mysql,
    registry,
    topic_prefix,
    zookeeper,
)
from tests.support.file_order import in_order

__all__ = [
    "database",
    "kafka",
    "make_kafka",
    "make_mariadb",
    "make_mysql",
    "make_registry",
    "make_zookeeper",
    "mariadb",
    "mariadb_database",
    "mysql",
    "registry",
    "topic_prefix",
    "zookeeper",
]

# `nohup` and shells in the background start us with SIGINT ignored, and children inherit that: a Ctrl-C that a test
# sends to one of our processes would do nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

warm.enable()

# What an operator would set where tasks may use everything. Tests of the confinement set something narrower.
os.environ[access.FILE_SINK_DIRECTORY] = "/"
os.environ[access.SECRETS_DIRECTORY] = "/"
os.environ[access.SECRETS_ENV_PREFIX] = "*"

# Workers are forked from a template that keeps the environment of whichever test forks the first one.
for variable in ("REPL_BENCH_PASSWORD", "REPL_PASSWORD"):
    os.environ.setdefault(variable, "replicator")


@pytest.fixture(autouse=True)
def _same_host_options() -> Iterator[None]:
    """Commands that run in this process set these for it: the next test has its own."""
    names = (access.FILE_SINK_DIRECTORY, access.SECRETS_DIRECTORY, access.SECRETS_ENV_PREFIX)
    before = {name: os.environ[name] for name in names}
    yield
    os.environ.update(before)


def _limit(item: pytest.Item) -> float:
    """Seconds that a test may take."""
    mark = item.get_closest_marker("timeout")
    return float(mark.args[0]) if mark is not None and mark.args else 0.0


def pytest_collection_finish() -> None:
    """A quarter of this process's time went into looking through the tests themselves for garbage."""
    gc.set_threshold(50_000, 20, 50)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items[:] = in_order(
        items, lambda item: item.nodeid.partition("::")[0], lambda name: name.startswith("tests/failover/"), _limit
    )
    for item in items:
        if SERVER_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.servers)
