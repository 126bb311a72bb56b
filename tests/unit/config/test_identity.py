from __future__ import annotations

import pytest

from replicator.config.identity import check_change
from replicator.config.load import load_task
from replicator.errors import ConfigError
from tests.unit.config.test_load import GOOD

TARGET = GOOD[: GOOD.index("sink:")] + "sink: {type: mysql, host: db-b, user: applier, password: 'env:P'}\n"


@pytest.mark.parametrize(("written", "meant"), [("copy_hot_item", "other"), ("type: mysql", "type: mariadb")])
def test_a_change_of_identity_is_refused(written: str, meant: str) -> None:
    with pytest.raises(ConfigError, match="E1009"):
        check_change(load_task(GOOD), load_task(GOOD.replace(written, meant)))


@pytest.mark.parametrize(
    ("written", "meant"),
    [("127.0.0.1\n", "db2\n"), ("latest", "earliest"), ("exactly_once", "at_least_once"), ("shop.*", "*.*")],
)
def test_everything_else_may_change(written: str, meant: str) -> None:
    check_change(load_task(GOOD), load_task(GOOD.replace(written, meant)))


@pytest.mark.parametrize("mended", ["", ", position_database: replicator"])
def test_the_position_of_a_target_stays_in_its_database(mended: str) -> None:
    """There and back: the table of the first one has the position from before, and rows were written twice."""
    moved = TARGET.replace("type: mysql, host", "type: mysql, position_database: other, host")
    assert moved != TARGET
    with pytest.raises(ConfigError, match=r"E1009.*sink\.position_database"):
        check_change(load_task(TARGET), load_task(moved))
    check_change(load_task(TARGET), load_task(TARGET.replace("db-b", f"db-c{mended}")))
    check_change(load_task(GOOD), load_task(moved))
    check_change(load_task(moved), load_task(GOOD))
