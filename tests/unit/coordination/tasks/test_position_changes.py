"""What an ordered position means, and what it would repeat or skip."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from replicator.coordination.tasks.position_changes import (
    PositionChange,
    Target,
    ToEnd,
    ToFile,
    ToGtid,
    ToPoint,
    TransactionStart,
    moment,
    move,
)
from replicator.errors import ReplicatorError
from replicator.model.checkpoint import Checkpoint
from replicator.model.gtid import GtidSet
from replicator.model.position import CatchUp, Inside, Place, Position

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "7e11fa47-71ca-11e1-9e33-c80aa9429562"
FILES = Checkpoint(Position("binlog.000003", 400, rows=2, reset=4), epoch=7, rows=10, transactions=5)
GTIDS = Checkpoint(Position("binlog.000003", 400, f"{A}:1-100"))
MARIADB = Checkpoint(Position("binlog.000003", 400, "0-1-100"))


def moved(before: Checkpoint | None, target: Target, mariadb: bool = False) -> PositionChange:
    return move(before, target, mariadb, 1234)


def test_by_file_backward_and_forward() -> None:
    back = moved(FILES, ToFile("binlog.000002", 120))
    assert (back.direction, back.repeats, back.skips) == (
        "back",
        "everything from binlog.000002:120 to binlog.000003:400+2",
        "",
    )
    assert back.after == Checkpoint(Position("binlog.000002", 120, reset=5), 7, 1234, 0, 10, 5)
    forward = moved(FILES, ToFile("binlog.000003", 900))
    assert forward.direction == "forward" and forward.skips and not forward.repeats
    assert moved(None, ToFile("binlog.000003", 900)).direction == "unknown"


def test_by_gtid_counts_transactions() -> None:
    found = moved(GTIDS, ToGtid(f"{A}:1-90:95"))
    assert (found.direction, found.repeats) == ("back", f"9 transactions: {A}:91-94:96-100")
    found = moved(GTIDS, ToGtid(f"{A}:1-101"))
    assert (found.direction, found.skips) == ("forward", f"1 transaction: {A}:101")
    assert moved(GTIDS, ToGtid(f"{A}:1-90,{B}:1")).direction == "unknown"
    assert moved(GTIDS, ToGtid(f"{A}:1-100")).direction == "nowhere"
    found = moved(MARIADB, ToGtid("0-1-90"), mariadb=True)
    assert (found.direction, found.repeats) == ("back", "everything after 0-1-90 up to 0-1-100")


def test_entry_of_position_history_begins_a_transaction() -> None:
    point = Checkpoint(Position("binlog.000001", 77, f"{A}:1-9", rows=3), time_ms=5)
    assert moved(GTIDS, ToPoint(point)).after.position == Position("binlog.000001", 77, f"{A}:1-9", reset=1)


def test_to_the_start_of_the_transaction_at_hand() -> None:
    inside = Position("binlog.000003", 400, f"{A}:1-100", rows=7, inside=Inside("old", 3))
    found = moved(Checkpoint(inside), TransactionStart())
    assert found.after.position == Position("binlog.000003", 400, f"{A}:1-100", reset=1)
    assert (found.direction, found.repeats) == ("back", "7 records of the transaction at binlog.000003:400")
    assert moved(GTIDS, TransactionStart()).direction == "nowhere"
    behind = Checkpoint(msgspec.structs.replace(GTIDS.position, catch_up=CatchUp("shop.t", 5, inside)))
    after = moved(behind, TransactionStart())
    assert after.after.position.catch_up == CatchUp("shop.t", 5, inside.transaction_start)
    assert after.repeats == "7 records of the transaction at binlog.000003:400"
    with pytest.raises(ReplicatorError, match="no position yet"):
        moved(None, TransactionStart())


@pytest.mark.parametrize(
    ("before", "target", "mariadb", "code"),
    [
        (GTIDS, ToGtid(""), False, "E2209"),
        (GTIDS, ToGtid("x:y"), False, "E2209"),
    ],
)
def test_refused(before: Checkpoint, target: Target, mariadb: bool, code: str) -> None:
    with pytest.raises(ReplicatorError) as error:
        moved(before, target, mariadb)
    assert error.value.code == code


def test_times() -> None:
    assert moment("2026-11-20T03:00:00+00:00") == 1795143600000
    assert moment("2026-11-20T04:00:00+01:00") == 1795143600000
    assert moment("2026-11-20 03:00") % 60_000 == 0
    with pytest.raises(ReplicatorError):
        moment("yesterday")


@given(st.sets(st.integers(1, 60), min_size=1), st.sets(st.integers(1, 60), min_size=1))
def test_what_is_repeated_and_skipped_is_the_difference(ours: set[int], theirs: set[int]) -> None:
    def executed(numbers: set[int]) -> GtidSet:
        made = GtidSet()
        for number in numbers:
            made.add(A, number)
        return made

    before = Checkpoint(Position("b.1", 4, str(executed(ours))))
    found = moved(before, ToGtid(str(executed(theirs))))
    again, never = ours - theirs, theirs - ours
    assert found.repeats.startswith(f"{len(again)} ") if again else found.repeats == ""
    assert found.skips.startswith(f"{len(never)} ") if never else found.skips == ""


def test_a_move_forward_remembers_up_to_where_the_log_was_read() -> None:
    """Statements in between may have changed tables, which the schema history has to find out."""
    before = Checkpoint(Position("b.1", 500))
    forward = moved(before, ToFile("b.1", 900)).after
    assert forward.position.unseen == Place("b.1", 500)
    further = moved(forward, ToFile("b.2", 4)).after
    assert further.position.unseen == Place("b.1", 500)
    there = Checkpoint(Position("b.7", 500, server="A@9/4:9"))
    back = moved(there, ToFile("b.1", 100)).after
    assert back.position.unseen == Place("b.7", 500, server="A@9/4:9"), "it may be another server's file"


def test_an_end_of_the_log_is_left_to_the_source() -> None:
    latest = moved(FILES, ToEnd("latest"))
    assert (latest.direction, latest.repeats) == ("forward", "")
    assert latest.skips == "everything from binlog.000003:400+2 until the task continues"
    after = latest.after.position
    assert (after.begin, after.reset, after.rows, str(after)) == ("latest", 5, 0, "latest")
    assert after.unseen is not None, "tables may change in what is passed unread"
    assert latest.after.in_sink is None
    earliest = moved(FILES, ToEnd("earliest"))
    assert earliest.skips == "" and "everything that the source still has" in earliest.repeats
    again = moved(latest.after, ToEnd("latest"))
    assert (again.after.position.reset, again.skips) == (6, "everything until the task continues")
    assert moved(None, ToEnd("earliest")).after.position == Position("", 4, reset=1, begin="earliest")
