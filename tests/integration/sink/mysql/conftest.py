"""A source and a target: two databases of one server, or of two."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from dev.servers import Database
from tests.servers import new_database
from tests.support.site_pair import Pair

DIRECTIONS = ["mysql-mysql", "mysql-mariadb", "mariadb-mysql", "mariadb-mariadb"]


@pytest.fixture(params=DIRECTIONS)
def pair(request: pytest.FixtureRequest) -> Iterator[Pair]:
    yield from _pair(request, *request.param.split("-"))


@pytest.fixture(params=["mysql", "mariadb"])
def same(request: pytest.FixtureRequest) -> Iterator[Pair]:
    """Source and target of one flavour."""
    yield from _pair(request, request.param, request.param)


def _pair(request: pytest.FixtureRequest, source: str, target: str) -> Iterator[Pair]:
    here: Database = request.getfixturevalue(source)
    there: Database = request.getfixturevalue(target)
    with ExitStack() as stack:
        pair = Pair(
            here,
            there,
            stack.enter_context(new_database(here)),
            stack.enter_context(new_database(there)),
            stack.enter_context(new_database(there)),
        )
        yield pair
        pair.close()
