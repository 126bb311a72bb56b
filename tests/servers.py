"""Real servers as fixtures. Each starts once per session on first use; the make_* factories start private ones.

A server that is not to be had skips the test loudly on a workstation and fails it under CI=true.
"""

from __future__ import annotations

import contextlib
import functools
import os
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pytest

from dev.errors import ServerUnavailable
from dev.servers import Database, Kafka, MariaDB, MySQL, Registry, Server, ZooKeeper
from dev.servers.kafka import kafka_broker

S = TypeVar("S", bound=Server)

# Every fixture that needs a real server; tests/conftest.py marks the tests that use one.
SERVER_FIXTURES = frozenset(
    {
        "zookeeper",
        "kafka",
        "mysql",
        "mariadb",
        "database",
        "mariadb_database",
        "make_zookeeper",
        "make_kafka",
        "make_mysql",
        "make_mariadb",
        "registry",
        "make_registry",
    }
)


def started(server: S) -> S:
    try:
        return server.start()
    except ServerUnavailable as error:
        server.close()
        if os.environ.get("CI") == "true":
            pytest.fail(str(error), pytrace=False)
        pytest.skip(f"NOT TESTED: {error}")
    except BaseException:
        server.close()
        raise


def _session(create: Callable[[], S]) -> Iterator[S]:
    server = started(create())
    yield server
    server.close()


def _factory(create: Callable[..., S]) -> Iterator[Callable[..., S]]:
    with contextlib.ExitStack() as made:

        def make(**options: Any) -> S:
            server = started(create(**{"fast": True, **options}))
            made.callback(server.close)
            return server

        yield make


@pytest.fixture(scope="session")
def zookeeper() -> Iterator[ZooKeeper]:
    yield from _session(lambda: ZooKeeper(fast=True))


@pytest.fixture(scope="session")
def kafka() -> Iterator[Kafka]:
    yield from _session(lambda: kafka_broker(fast=True, modest=True))


@pytest.fixture(scope="session")
def mysql() -> Iterator[MySQL]:
    yield from _session(lambda: MySQL(fast=True))


@pytest.fixture(scope="session")
def mariadb() -> Iterator[MariaDB]:
    yield from _session(lambda: MariaDB(fast=True))


@pytest.fixture(scope="session")
def registry() -> Iterator[Registry]:
    yield from _session(lambda: Registry(fast=True))


@pytest.fixture
def make_registry() -> Iterator[Callable[..., Registry]]:
    yield from _factory(Registry)


@pytest.fixture
def make_zookeeper() -> Iterator[Callable[..., ZooKeeper]]:
    """`make_zookeeper(**options)`: a started ZooKeeper of this test alone, which it may kill or pause."""
    yield from _factory(ZooKeeper)


@pytest.fixture
def make_kafka() -> Iterator[Callable[..., Kafka]]:
    yield from _factory(functools.partial(Kafka, modest=True))


@pytest.fixture
def make_mysql() -> Iterator[Callable[..., MySQL]]:
    yield from _factory(MySQL)


@pytest.fixture
def make_mariadb() -> Iterator[Callable[..., MariaDB]]:
    yield from _factory(MariaDB)


@pytest.fixture
def database(mysql: MySQL) -> Iterator[str]:
    """The name of a new database on `mysql`, dropped at the end."""
    yield from _database(mysql)


@pytest.fixture
def mariadb_database(mariadb: MariaDB) -> Iterator[str]:
    yield from _database(mariadb)


@contextlib.contextmanager
def new_database(server: Database) -> Iterator[str]:
    """The name of a database that is dropped at the end."""
    yield from _database(server)


def _database(server: Database) -> Iterator[str]:
    name = f"t_{uuid.uuid4().hex[:10]}"
    server.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4")
    yield name
    server.execute(f"DROP DATABASE {name}")


@pytest.fixture
def topic_prefix() -> str:
    """A unique beginning for topic names, so that tests can share a broker."""
    return f"t-{uuid.uuid4().hex[:10]}-"
