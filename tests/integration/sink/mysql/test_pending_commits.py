"""A commit over several connections is executed while the next one is made: whatever comes next ends it first."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from replicator.errors import ReplicatorError, SinkError, SinkFenced, SinkUnavailable
from replicator.model.batch import Batch
from replicator.model.term import Term
from replicator.sink.mysql import transaction
from replicator.sink.mysql.fenced_repair import FencedRepair
from replicator.sink.mysql.mysql_sink import MySQLSink
from replicator.sink.mysql.row_groups import RowGroup
from tests.support import target
from tests.support.divided_commits import by_key, change_of_locked_rows, equal, plain, prepared
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of some rows are divided."""
    monkeypatch.setattr(transaction, "FEWEST_BYTES", 200)


def begin(sink: MySQLSink, batch: Batch) -> None:
    sink.write(batch)
    sink.commit(batch.position)
    assert sink.unfinished


def test_each_commit_ends_the_one_before(same: Pair) -> None:
    batches = plain(same, 6)
    sink = by_key(same)
    before = sink.acknowledged()
    for batch in batches:
        begin(sink, batch)
        assert sink.acknowledged() == before, "it is the first call behind the commit"
        before = batch.position
    assert sink.acknowledged() == before and not sink.unfinished
    assert equal(same) and not prepared(same)
    assert sink.open(target.term()) == before


def test_nothing_is_seen_before_it_ends_and_all_of_it_then(same: Pair) -> None:
    first, second, _ = plain(same)
    sink = by_key(same)
    begin(sink, first)
    time.sleep(0.5)
    assert same.rows("t")[1] == [], "not decided"
    begin(sink, second)
    assert len(same.rows("t")[1]) == 40
    sink.flush(30)
    assert not sink.unfinished and len(same.rows("t")[1]) == 80


def test_what_follows_needs_the_connection(same: Pair) -> None:
    """A table that is not known yet, a small commit, a position alone, and a heartbeat of the same position."""
    first, second, third = plain(same)
    same.both("CREATE TABLE other (id INT PRIMARY KEY)")
    other = joined(same.at_source(f"INSERT INTO other VALUES {', '.join(f'({n})' for n in range(60))}"))
    small = joined(same.at_source("UPDATE t SET v = 5 WHERE id = 3"))
    sink = by_key(same)
    begin(sink, first)
    begin(sink, other)
    begin(sink, second)
    sink.write(small)
    sink.commit(small.position)
    assert not sink.unfinished and sink.acknowledged() == small.position
    begin(sink, third)
    sink.commit(third.position)
    assert sink.unfinished
    sink.flush(30)
    assert sink.acknowledged() == third.position
    here, there = same.rows("other")
    assert equal(same) and here == there and not prepared(same)


def test_a_row_that_does_not_fit_is_told_by_the_next_call(same: Pair) -> None:
    """Nothing of its commit, or of the next one, is left."""
    first, second, third = plain(same)
    same.at_target("INSERT INTO t VALUES (105, 7)")
    for call in ("acknowledged", "commit", "flush"):
        sink = by_key(same)
        if call == "acknowledged":
            deliver(sink, [first])
        begin(sink, second)
        with pytest.raises(SinkError) as raised:
            if call == "commit":
                begin(sink, third)
            elif call == "flush":
                sink.flush(30)
            else:
                sink.acknowledged()
                sink.acknowledged()
        assert raised.value.code == "E3424"
        assert len(same.rows("t")[1]) == 41 and not prepared(same)
        sink.close()
    same.at_target("DELETE FROM t WHERE v = 7")
    sink = by_key(same)
    for batch in (second, third):
        begin(sink, batch)
    sink.flush(30)
    assert equal(same)


def test_nothing_behind_a_commit_that_failed_is_committed(same: Pair) -> None:
    """A position without rows waits behind it: it would pass the rows over."""
    first, second, third = plain(same)
    same.at_target("INSERT INTO t VALUES (105, 7)")
    sink = by_key(same)
    deliver(sink, [first])
    begin(sink, second)
    assert sink.acknowledged() == first.position
    sink.commit(third.position)
    with pytest.raises(SinkError):
        sink.acknowledged()
    sink.flush(30)
    assert sink.acknowledged() == first.position
    with pytest.raises(SinkUnavailable):
        sink.commit(third.position)
    sink.flush(30)
    assert sink.acknowledged() == first.position
    assert sink.open(target.term()) == first.position
    same.at_target("DELETE FROM t WHERE v = 7")
    deliver(sink, [second, third])
    assert equal(same)


def test_rows_that_are_all_in_one_part_are_divided_once(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    same.both("CREATE TABLE t (id VARCHAR(20) PRIMARY KEY, v INT)")
    made = [f"INSERT INTO t VALUES {', '.join(f'({chr(39)}k{n}{chr(39)}, 1)' for n in range(60))}"]
    first, second = joined(same.at_source(*made)), joined(same.at_source("UPDATE t SET id = UPPER(id)"))
    calls: list[int] = []
    divided = RowGroup.divided

    def counted(self: RowGroup, count: int) -> object:
        calls.append(count)
        return divided(self, count)

    sink = by_key(same)
    begin(sink, first)
    monkeypatch.setattr(RowGroup, "divided", counted)
    sink.write(second)
    sink.commit(second.position)
    assert not sink.unfinished and calls == [3]
    assert sink.acknowledged() == second.position and equal(same)


def test_a_repair_beside_a_backlog(same: Pair) -> None:
    """Each commit has its rows of branches but for a moment: the repair finds it."""
    batches = plain(same, 40)
    sink = by_key(same)
    deliver(sink, batches[:1])
    begun = threading.Event()

    def backlog() -> None:
        for batch in batches[1:]:
            begin(sink, batch)
            begun.set()
        sink.flush(60)

    repair = FencedRepair(target.config(same.target, same.place), "", target.TASK, "u1")
    writing = threading.Thread(target=backlog)
    writing.start()
    assert begun.wait(60)
    position = repair.begin()
    assert position in [batch.position for batch in batches]
    seen = len(same.rows("t")[1])
    time.sleep(0.3)
    assert len(same.rows("t")[1]) == seen == 40 * (1 + [batch.position for batch in batches].index(position))
    repair.rollback()
    writing.join(60)
    repair.close()
    assert equal(same) and not prepared(same)


def test_one_connection_repeats_it_while_the_next_one_waits(same: Pair) -> None:
    """A deadlock, or a lock, of others: the next commit is not sent before."""
    first, second, third = plain(same)
    sink = by_key(same, lock_wait_timeout_s=3)
    deliver(sink, [first])
    change, holder = change_of_locked_rows(same)
    begin(sink, change)
    sink.write(second)
    free = threading.Timer(4, holder.rollback)  # the branches give up, and the one connection gets the locks
    free.start()
    sink.commit(second.position)
    assert not sink.unfinished, "connections that have waited for locks rest"
    free.join()
    holder.close()
    assert sink.acknowledged() in (change.position, second.position)
    deliver(sink, [third])
    assert equal(same) and not prepared(same)


@pytest.mark.parametrize("call", ["commit", "acknowledged", "flush", "write", "close"])
def test_a_later_term_comes_meanwhile(same: Pair, call: str) -> None:
    """What was not decided is not at the target, whatever the earlier term does next."""
    first, second, third = plain(same)
    old = by_key(same)
    deliver(old, [first])
    begin(old, second)
    new = same.sink(order="key", connections=3)
    assert new.open(target.term(2)) == first.position
    assert not prepared(same)
    if call == "close":
        old.close()
    else:
        with pytest.raises((SinkFenced, SinkUnavailable)):
            if call == "write":
                old.write(third)
            if call in ("write", "commit"):
                old.commit(third.position)
            if call in ("commit", "flush"):
                old.flush(30)
            if call == "acknowledged":
                old.acknowledged()
                old.acknowledged()
    assert len(same.rows("t")[1]) == 40
    for batch in (second, third):
        begin(new, batch)
    new.flush(30)
    assert equal(same) and not prepared(same)


def test_the_lease_ends_meanwhile(same: Pair) -> None:
    """Nothing is decided any more."""
    first, second, _ = plain(same)
    clock = [0.0]
    sink = same.sink(order="key", connections=3)
    sink.open(Term(target.TASK, "u1", 1, lambda: 10.0, lambda: clock[0]))
    deliver(sink, [first])
    begin(sink, second)
    clock[0] = 11.0
    with pytest.raises(ReplicatorError) as raised:
        sink.acknowledged()
        sink.acknowledged()
    assert raised.value.code == "E4008"
    sink.close()
    new = same.sink(order="transaction")
    assert new.open(target.term(2)) == first.position
    deliver(new, [second])
    assert not prepared(same) and len(same.rows("t")[1]) == 80


def test_more_rows_than_one_part_behind_it(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first part of them is executed before their commit: by then the one before has ended."""
    (first,) = plain(same, 1)
    many = joined(same.at_source(f"INSERT INTO t VALUES {', '.join(f'({10_000 + n}, 1)' for n in range(400))}"))
    monkeypatch.setattr(transaction, "_PART_BYTES", 2000)
    sink = by_key(same)
    begin(sink, first)
    sink.write(many)
    assert not sink.unfinished
    sink.commit(many.position)
    sink.flush(30)
    assert equal(same) and not prepared(same)


def test_conflicts_are_counted_with_their_commit(same: Pair) -> None:
    """Where rows are compared a commit has ended when it returns."""
    first, second, third = plain(same)
    same.at_target("INSERT INTO t VALUES (105, 7), (120, 7)")
    sink: Any = by_key(same, conflict={"tables": ["*.*"], "policy": "source_wins", "compare": "key"})
    for batch in (first, second, third):
        sink.write(batch)
        sink.commit(batch.position)
        assert not sink.unfinished and sink.acknowledged() == batch.position
        assert sum(one.count for one in sink.conflicts) == (0 if batch is first else 2)
    assert equal(same)
