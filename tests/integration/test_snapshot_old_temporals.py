"""Keys of columns in the format of servers before fractions of a second, which snapshots can't compare."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dev.faults.proxy import Proxy
from dev.fetch.releases import OLDER
from dev.servers import Database
from tests.servers import started
from tests.support.held_snapshot import HeldCopy
from tests.support.releases import server_of

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]
ROWS = 16


@pytest.fixture
def old() -> Iterator[Database]:
    """MySQL 5.5: its DATETIME has 8 bytes."""
    server = started(server_of(next(release for release in OLDER if release.name == "mysql-5.5")))
    yield server
    server.close()


@pytest.mark.parametrize("kind", ["DATETIME", "TIMESTAMP DEFAULT 0"])
def test_each_change_makes_the_chunk_at_hand_stale(old: Database, kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So none of its rows can be older than the change that the stream delivers, and it is read again."""
    monkeypatch.setenv("TEST_PASSWORD", "replicator")
    old.execute("CREATE DATABASE d")
    old.execute(f"CREATE TABLE d.item (id {kind} PRIMARY KEY, version BIGINT NOT NULL, text VARCHAR(40))")
    values = ", ".join(f"('2024-01-01 00:00:{number:02}', 0, 'before')" for number in range(ROWS))
    old.execute(f"INSERT INTO d.item VALUES {values}")
    with Proxy(old.port) as proxy:
        copy = HeldCopy(old, proxy, ["d.*"], chunk_rows=4)
        with copy.stopped() as gate, gate.at("before COMMIT"):
            read = copy.chunks_read
            old.execute("UPDATE d.item SET version = 1 WHERE id = '2024-01-01 00:00:05'")
            old.execute("DELETE FROM d.item WHERE id = '2024-01-01 00:00:06'")
    copied = copy.copied("item")
    assert sorted(row["version"] for row in copied.rows.values()) == [0] * (ROWS - 2) + [1]
    assert copied.backwards == [] and len(copied.read) == len(set(copied.read)) == ROWS - 1
    assert copy.chunks_read >= read + 4, "one of them was read again"
