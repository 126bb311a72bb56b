from __future__ import annotations

import pytest

from replicator.model.position import Position
from replicator.mysql.server import Server
from replicator.source.mysql.logs import Log
from replicator.source.mysql.retention_headroom import retention, until_purged

FILES = [Log("b.000001", 100), Log("b.000002", 100), Log("b.000003", 100)]
DAY = 86_400.0


@pytest.mark.parametrize(
    ("variables", "seconds"),
    [
        ({"binlog_expire_logs_seconds": "3600"}, 3600.0),
        ({"expire_logs_days": "2"}, 2 * DAY),
        ({"binlog_expire_logs_seconds": "60", "expire_logs_days": "2"}, 60.0),
        ({"binlog_expire_logs_seconds": "0"}, None),
        ({}, None),
    ],
)
def test_retention(variables: dict[str, str], seconds: float | None) -> None:
    assert retention(Server(mariadb=False, version=(8, 4), account="a@b", variables=variables)) == seconds


@pytest.mark.parametrize("behind", [0.0, 500.0, 5000.0])
def test_the_file_that_is_written_is_never_purged(behind: float) -> None:
    assert until_purged(1000.0, FILES, Position("b.000003", 4), behind, 0.0) == 1000.0


@pytest.mark.parametrize("file", ["b.000001", "b.000002", "b.000000"])
@pytest.mark.parametrize(
    ("behind", "speed", "left"),
    [
        (400.0, 0.0, 600.0),  # we stand still
        (400.0, 0.5, 1200.0),  # each second takes half a second of it
        (400.0, 1.0, 1000.0),  # we keep up
        (400.0, 7.0, 1000.0),
        (2000.0, 0.0, 0.0),  # may be gone at any moment
        (2000.0, 0.5, 0.0),
    ],
)
def test_an_older_file(file: str, behind: float, speed: float, left: float) -> None:
    assert until_purged(1000.0, FILES, Position(file, 4), behind, speed) == left


def test_sizes_do_not_count() -> None:
    larger = [Log(log.file, log.size * 1000) for log in FILES]
    position = Position("b.000001", 50)
    assert until_purged(1000.0, FILES, position, 10.0, 0.5) == until_purged(1000.0, larger, position, 10.0, 0.5)


def test_without_files_the_age_decides() -> None:
    assert until_purged(1000.0, [], Position("b.000001", 4), 400.0, 0.0) == 600.0
