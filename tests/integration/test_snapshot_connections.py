"""Snapshots whose account may not open as many connections as they need."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from dev.cluster import wait_for
from dev.servers.database import Database
from replicator.assembly import snapshot_checks
from replicator.config.load import parse_task
from replicator.errors import SourceError
from replicator.mysql import server_errors
from replicator.pipeline.pipeline import Pipeline
from tests.integration.test_consistent_snapshots import Seen
from tests.integration.test_snapshots import Copy
from tests.integration.test_snapshots import place as place
from tests.support.changes import fill

pytestmark = [pytest.mark.servers, pytest.mark.timeout(240)]
Place = tuple[Database, str]
USER = "limited"
ER_USER_LIMIT = 1226


@pytest.fixture
def account(place: Place) -> Iterator[Place]:
    server, shop = place
    server.execute(f"DROP USER IF EXISTS {USER}@'%'")
    server.execute(f"CREATE USER {USER}@'%' IDENTIFIED BY 'replicator'")
    server.execute(f"GRANT SELECT, REPLICATION SLAVE, REPLICATION CLIENT, RELOAD ON *.* TO {USER}@'%'")
    fill(server, f"{shop}.item", 6000)
    yield place
    server.execute(f"DROP USER {USER}@'%'")


def connected(server: Database) -> int:
    ((count,),) = server.execute(f"SELECT COUNT(*) FROM information_schema.processlist WHERE user = '{USER}'")
    return int(count)


class Limited(Copy):
    def __init__(self, place: Place, limit: int, **snapshot: object) -> None:
        server, shop = place
        options = {"chunk_rows": 100, "max_rows_per_s": 6000} | snapshot
        super().__init__(server, "copy", [f"{shop}.*"], **options)
        self.data["source"]["user"] = USER
        self.seen = Seen()
        self.limit(server, limit)

    def limit(self, server: Database, limit: int) -> None:
        """For the next run: connections that were closed still count until the server has ended their threads."""
        wait_for(lambda: connected(server) == 0, "the end of earlier connections", 30)
        server.execute(f"ALTER USER {USER}@'%' WITH MAX_USER_CONNECTIONS {limit}")

    def pipeline(self, **options: Any) -> Pipeline:
        pipeline = super().pipeline(**options)
        pipeline._observer = self.seen
        return pipeline


@pytest.mark.parametrize("consistent", [False, True])
def test_an_account_with_too_low_a_limit_is_refused(account: Place, consistent: bool) -> None:
    """Both numbers are named; with what the error asks for it succeeds, and with one less it does not."""
    server, _ = account
    copy = Limited(account, 6, connections=4, consistent=consistent)
    most = 14 if consistent else 12
    with pytest.raises(SourceError) as caught:
        copy.run()
    error = caught.value
    assert (error.code, error.transient) == ("E2227", False)
    assert "connections: 4" in error.what and "= 6" in str(error.found) and f"at least {most}" in str(error.wanted)
    assert f"MAX_USER_CONNECTIONS {most}" in str(error.fix) and "connections: 1" in str(error.fix)
    (told, *_) = snapshot_checks.check(parse_task(copy.data))
    assert told.severity == "fail" and "E2227" in told.found
    wait_for(lambda: connected(server) == 0, "the end of the connections of the first run", 30)
    server.execute(str(error.fix).partition(",")[0])
    copy.run()
    assert copy.seen.codes == [] and copy.copied("item").read == list(range(6000))


def test_connections_that_others_have_are_waited_for(account: Place) -> None:
    """Each try says what is missing, in the figures of server and configuration."""
    server, _ = account
    copy = Limited(account, 12, connections=4)
    others = [server.connect(user=USER, password="replicator") for _ in range(8)]
    run = threading.Thread(target=copy.run)
    run.start()
    try:
        # The stream can be the one that is refused, some times in a row: closed connections count for a while.
        wait_for(lambda: "E2227" in copy.seen.codes, lambda: f"E2227, not {copy.seen.codes}", 90)
    finally:
        for other in others:
            other.close()
        run.join()
    error = next(error for error in copy.seen.errors if error.code == "E2227")
    assert error.transient and "12 connections" in str(error.wanted) and "max_user_connections" in str(error.found)
    assert "connections: 4" in error.what
    others_codes = {error.code for error in copy.seen.errors if server_errors.number_of(error) != ER_USER_LIMIT}
    assert others_codes <= {"E2227"}  # the stream can be the one that is refused, too
    assert len(copy.copied("item").read) == 6000
