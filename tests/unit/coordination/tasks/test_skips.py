"""Which transaction may be skipped, and where the task stands then."""

from __future__ import annotations

import pytest

from replicator.coordination.tasks.skips import skip
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import CatchUp, Position

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
GTIDS = Checkpoint(Position("binlog.000003", 400, f"{A}:1-100", rows=5), rows=9)
MARIADB = Checkpoint(Position("binlog.000003", 400, "0-1-100"))
FILES = Checkpoint(Position("binlog.000003", 400, rows=2, reset=4))
PLACE = {"transaction": "binlog.000003:400", "transaction_end": "binlog.000003:950"}


def at(before: Checkpoint, error: dict[str, str] | None, asked: str = "", mariadb: bool = False) -> Position:
    return skip("copy", before, error, asked, mariadb).after.position


def test_the_transaction_of_the_error_counts_as_delivered() -> None:
    assert at(GTIDS, {"transaction": f"{A}:101"}) == Position("binlog.000003", 400, f"{A}:1-101", reset=1)
    assert at(GTIDS, {"transaction": f"{A}:103"}).gtid == f"{A}:1-100:103", "those between have no rows of ours"
    assert at(GTIDS, {"transaction": f"{A}:tag:1"}).gtid == f"{A}:1-100:tag:1"
    assert at(MARIADB, {"transaction": "0-2-101"}, "0-2-101", mariadb=True).gtid == "0-2-101"
    assert skip("copy", GTIDS, {"transaction": f"{A}:101"}, "", False).after.rows == 9


def test_without_gtids_it_is_its_place_in_the_log() -> None:
    assert at(FILES, PLACE) == Position("binlog.000003", 950, reset=5)
    assert at(FILES, PLACE, "binlog.000003:400") == Position("binlog.000003", 950, reset=5)
    gtid_off = {**PLACE, "transaction": f"{A}:101"}
    assert at(FILES, gtid_off).offset == 950, "a position from before GTIDs were switched on"


def test_what_was_left_out_of_a_table_has_a_position_of_its_own() -> None:
    catch_up = CatchUp("shop.item", 5, Position("binlog.000001", 90, f"{A}:1-20", rows=1))
    behind = Checkpoint(Position("binlog.000003", 400, f"{A}:1-100", catch_up=catch_up))
    found = at(behind, {"transaction": f"{A}:21"})
    assert found.catch_up == CatchUp("shop.item", 5, Position("binlog.000001", 90, f"{A}:1-21"))
    assert (found.gtid, found.reset) == (f"{A}:1-100", 1)


@pytest.mark.parametrize(
    ("before", "error", "asked", "code"),
    [
        (GTIDS, None, "", "E5016"),
        (GTIDS, {"code": "E3103", "what": "not allowed"}, f"{A}:101", "E5016"),
        (GTIDS, {"transaction": f"{A}:101"}, f"{A}:102", "E5016"),
        (GTIDS, {"transaction": f"{A}:101"}, f"{A}:101-102", "E5016"),
        (GTIDS, {"transaction": f"{A}:101"}, f"{A}:101,{A}:102", "E5016"),
        (GTIDS, {"transaction": f"{A}:101"}, "binlog.000003:400", "E5016"),
        (GTIDS, {"transaction": f"{A}:101"}, "\0", "E5016"),
        (GTIDS, {"transaction": f"{A}:100"}, "", "E5007"),
        (FILES, {"transaction": "binlog.000003:400"}, "", "E2209"),
        (FILES, {"transaction": "binlog.000002:100", "transaction_end": "binlog.000002:300"}, "", "E5007"),
        (FILES, {"transaction": "binlog.000003:100", "transaction_end": "binlog.000003:400"}, "", "E5007"),
    ],
)
def test_refused(before: Checkpoint, error: dict[str, str] | None, asked: str, code: str) -> None:
    with pytest.raises(ReplicatorError) as caught:
        at(before, error, asked)
    assert caught.value.code == code


def test_no_position_yet() -> None:
    with pytest.raises(ReplicatorError) as caught:
        skip("copy", None, {"transaction": f"{A}:1"}, "", False)
    assert caught.value.code == "E5007"
