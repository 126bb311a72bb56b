"""Snapshots of random tables beside random writers, DDL and faults: `make snapshots` in short."""

from __future__ import annotations

import uuid

import pytest

from dev.servers.database import Database
from dev.snapshots.round import Options, Round

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]


@pytest.mark.parametrize("server", ["mysql", "mariadb"])
@pytest.mark.parametrize("seed", [1, 2])
def test_rebuilt_rows_are_those_of_the_source(request: pytest.FixtureRequest, server: str, seed: int) -> None:
    database: Database = request.getfixturevalue(server)
    name = f"r_{uuid.uuid4().hex[:8]}"
    try:
        found = Round(database, name, Options(f"{server}/{seed}", seconds=3)).run()
    finally:
        database.execute(f"DROP DATABASE IF EXISTS {name}")
    assert found.wrong == [], found
    assert found.read or found.streamed
