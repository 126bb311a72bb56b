from __future__ import annotations

import pytest

from replicator.config.identity import check_change
from replicator.config.load import load_task
from replicator.errors import ConfigError
from tests.unit.config.test_load import GOOD


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
