"""Fixtures for every suite, and the `servers` mark for each test that starts a real server."""

from __future__ import annotations

import os

import pytest

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

# What an operator would set where tasks may use everything. Tests of the confinement set something narrower.
os.environ[access.FILE_SINK_DIRECTORY] = "/"
os.environ[access.SECRETS_DIRECTORY] = "/"
os.environ[access.SECRETS_ENV_PREFIX] = "*"

# Workers are forked from a template that keeps the environment of whichever test forks the first one.
os.environ.setdefault("REPL_BENCH_PASSWORD", "replicator")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SERVER_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.servers)
