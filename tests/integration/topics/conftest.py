"""A database, topics, and another database."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dev.servers import Database, Kafka
from tests.servers import new_database
from tests.support.between import Between


@pytest.fixture(autouse=True)
def _password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NONE", "")


@pytest.fixture(params=["mysql", "mariadb"])
def between(request: pytest.FixtureRequest, kafka: Kafka) -> Iterator[Between]:
    yield from _between(request.getfixturevalue(request.param), kafka)


@pytest.fixture
def mysql_between(mysql: Database, kafka: Kafka) -> Iterator[Between]:
    yield from _between(mysql, kafka)


def _between(server: Database, kafka: Kafka) -> Iterator[Between]:
    with ExitStack() as stack:
        names = [stack.enter_context(new_database(server)) for _ in range(3)]
        yield Between(server, kafka, server, *names)
