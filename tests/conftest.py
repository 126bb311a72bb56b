"""Fixtures for every suite, and the `servers` mark for each test that starts a real server."""

from __future__ import annotations

import pytest

from tests.servers import (
    SERVER_FIXTURES,
    database,
    kafka,
    make_kafka,
    make_mariadb,
    make_mysql,
    make_zookeeper,
    mariadb,
    mariadb_database,
    mysql,
    topic_prefix,
    zookeeper,
)

__all__ = [
    "database",
    "kafka",
    "make_kafka",
    "make_mariadb",
    "make_mysql",
    "make_zookeeper",
    "mariadb",
    "mariadb_database",
    "mysql",
    "topic_prefix",
    "zookeeper",
]


def pytest_configure(config: pytest.Config) -> None:
    # kafka-python reads its bundled schemas with an importlib function that Python 3.11 calls deprecated.
    config.addinivalue_line("filterwarnings", r"ignore:(open|read)_text is deprecated. Use files:DeprecationWarning")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if SERVER_FIXTURES.intersection(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.servers)
