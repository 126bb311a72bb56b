"""`order: key`: a commit over several connections is one commit, whatever ends in between."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from replicator.errors import ReplicatorError, SinkError, SinkFenced, SinkUnavailable
from replicator.model.position import Position
from replicator.sink.mysql import transaction
from replicator.sink.mysql.branches import branches as branches_module
from replicator.sink.mysql.branches.branches import Branches
from replicator.sink.mysql.checks.check import check
from replicator.sink.mysql.checks.expected import SourceFacts
from replicator.sink.mysql.fenced_repair import FencedRepair
from replicator.sink.mysql.transaction import Transaction
from tests.support import target
from tests.support.divided_commits import (
    BY_KEY,
    STEP,
    WHERE,
    alone,
    by_key,
    change_of_locked_rows,
    changes,
    equal,
    plain,
    prepared,
)
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of few rows are divided."""
    monkeypatch.setattr(transaction, "FEWEST_BYTES", 0)


@pytest.fixture
def divided(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[list[int]]]:
    """Of each commit that was divided, the numbers of its branches."""
    found: list[list[int]] = []
    commit = Branches.commit

    def noted(self: Branches) -> None:
        found.append([branch.number for branch, _ in self._xids])
        commit(self)

    monkeypatch.setattr(Branches, "commit", noted)
    yield found


@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_rows_over_several_connections(same: Pair, divided: list[Any], apply: str) -> None:
    first, second = changes(same)
    sink = by_key(same, apply=apply)
    deliver(sink, [first])
    assert divided == [[1, 2]]
    deliver(sink, [second])
    assert equal(same) and not prepared(same)
    for position in (first.position, second.position):
        more = same.at_source(f"UPDATE t SET n = n + 10000 WHERE id % 2 = {position == first.position:d}")
        deliver(sink, [joined(more)])
    assert equal(same)
    assert [row[0] for row in same.position()] == ["copy", "copy/0", "copy/1", "copy/2"]


def test_order_transaction_has_one_connection(same: Pair, divided: list[Any]) -> None:
    (first, *_) = plain(same)
    deliver(same.opened(connections=8), [first])
    assert not divided and [row[0] for row in same.position()] == ["copy"]


@pytest.mark.parametrize("frozen", [True, False])
@pytest.mark.parametrize("where", WHERE)
def test_the_leader_ends_in_a_commit(same: Pair, where: str, frozen: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the decision nothing of the commit is left, behind it all of it, also if the process still lives."""
    first, second, third = plain(same)
    old = by_key(same)
    deliver(old, [first])
    alone(old, second, where, monkeypatch)
    assert len(prepared(same)) == 2
    if not frozen:
        old.close()
    new = same.sink(order="transaction" if frozen else "key")
    held = new.open(target.term(2))
    assert held == (first if where == "decide" else second).position
    assert not prepared(same)
    assert len(same.rows("t")[1]) == (40 if where == "decide" else 80)
    with pytest.raises((SinkFenced, SinkUnavailable)):
        deliver(old, [second])
    deliver(new, [second, third] if where == "decide" else [third])
    assert equal(same) and not prepared(same)
    with pytest.raises(SinkFenced):
        old.open(target.term(1))


@pytest.mark.parametrize("where", WHERE)
def test_a_frozen_leader_goes_on(same: Pair, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind the claim of a later term: it neither decides, nor prepares anything."""
    first, second, third = plain(same)
    old = by_key(same)
    deliver(old, [first])
    new = same.sink(**BY_KEY)
    commit = Branches.commit
    decide = Transaction._decide
    held: list[Position | None] = []

    def late(*arguments: Any) -> None:
        if not held:
            held.append(new.open(target.term(2)))
        (decide if where == "decide" else commit)(*arguments)

    owner, name = STEP[where]
    monkeypatch.setattr(owner, name, late)
    with pytest.raises((SinkFenced, SinkUnavailable)):
        deliver(old, [second])
    assert held == [(first if where == "decide" else second).position]
    deliver(new, [second, third] if where == "decide" else [third])
    assert equal(same) and not prepared(same)


def test_same_epoch_twice(same: Pair) -> None:
    first, second, third = plain(same)
    old = by_key(same, epoch=0)
    deliver(old, [first])
    new = by_key(same, epoch=0)
    with pytest.raises((SinkFenced, SinkUnavailable)):
        deliver(old, [second])
    deliver(new, [second, third])
    assert equal(same) and not prepared(same)


@pytest.mark.parametrize("policy", ["stop", "source_wins"])
def test_a_row_that_is_there_already(same: Pair, policy: str, divided: list[Any]) -> None:
    first, second, third = plain(same)
    same.at_target("INSERT INTO t VALUES (105, 7), (120, 7)")
    sink = by_key(same, conflict={"tables": ["*.*"], "policy": policy, "compare": "key"})
    deliver(sink, [first])
    if policy == "stop":
        with pytest.raises(SinkError) as raised:
            deliver(sink, [second])
        assert raised.value.code == "E3424" and raised.value.table == f"{same.here}.t"
        assert len(same.rows("t")[1]) == 42, "nothing of the commit"
        same.at_target("DELETE FROM t WHERE v = 7")
        assert sink.open(target.term()) == first.position
        deliver(sink, [second])
    else:
        deliver(sink, [second])
        assert sum(one.count for one in sink.conflicts) == 2
    deliver(sink, [third])
    assert divided[-1] == [1, 2]
    assert equal(same) and not prepared(same)


def test_rows_that_others_have_locked(same: Pair, divided: list[Any]) -> None:
    """A connection that waits for a lock in vain ends the others' work, too; then one connection goes on."""
    first, second, third = plain(same)
    sink = by_key(same, lock_wait_timeout_s=1)
    deliver(sink, [first])
    change, holder = change_of_locked_rows(same)
    with pytest.raises(SinkUnavailable):
        deliver(sink, [change])
    holder.rollback()
    holder.close()
    assert not prepared(same)
    assert sink.open(target.term()) == first.position
    deliver(sink, [change, second, third])
    # The source has written them in another order.
    assert equal(same) and divided[-1] == [1, 2]


def test_tables_that_keep_their_order(same: Pair, divided: list[Any]) -> None:
    """Foreign keys, no primary key: by the connection of the position, in order; other tables by all."""
    same.both(
        "CREATE TABLE parent (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT PRIMARY KEY, parent_id INT, FOREIGN KEY (parent_id) REFERENCES parent (id))",
        "CREATE TABLE log (v INT)",
        "CREATE TABLE other (id INT PRIMARY KEY)",
    )
    values = ", ".join(f"({n})" for n in range(50))
    statements = [
        f"INSERT INTO parent VALUES {values}",
        "INSERT INTO t SELECT id, id FROM parent",
        f"INSERT INTO log VALUES {values}",
        "UPDATE log SET v = v + 1",
    ]
    sink = by_key(same)
    deliver(sink, [joined(same.at_source(*statements))])
    assert not divided
    more = joined(
        same.at_source(
            "DELETE FROM t WHERE id > 20", "DELETE FROM parent WHERE id > 20", f"INSERT INTO other VALUES {values}"
        )
    )
    deliver(sink, [more])
    assert divided == [[1, 2]]
    for table, order in (("t", "id"), ("parent", "id"), ("log", "v"), ("other", "id")):
        here, there = same.rows(table, order)
        assert here == there


def test_a_table_whose_keys_are_equal_without_case(same: Pair, divided: list[Any]) -> None:
    """'k1' becomes 'K1': a delete and an insert by their bytes, the same key to the server."""
    same.both("CREATE TABLE t (id VARCHAR(20) PRIMARY KEY, v INT) DEFAULT CHARSET = utf8mb4")
    first = joined(
        same.at_source(f"INSERT INTO t VALUES {', '.join(f'({chr(39)}k{n}{chr(39)}, {n})' for n in range(60))}")
    )
    second = joined(same.at_source("UPDATE t SET id = UPPER(id), v = v + 1"))
    sink = by_key(same)
    deliver(sink, [first, second])
    here, there = same.rows("t", "v")
    assert here == there and there[0][0] == "K0"
    assert len(divided) == 1, "the second commit is one part"


def test_no_more_connections(same: Pair, divided: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """One writes then, and others are tried again later."""
    first, second, third = plain(same)

    def full(*_: object) -> None:
        raise SinkUnavailable("E3401", "too many connections")

    sink = by_key(same)
    with monkeypatch.context() as patched:
        patched.setattr(Branches, "_opened", full)
        patched.setattr(branches_module, "_PAUSE_SECONDS", 3.0)
        deliver(sink, [first])
    deliver(sink, [second])
    assert not divided
    time.sleep(3)
    deliver(sink, [third])
    assert equal(same) and divided == [[1, 2]]


def test_transactions_of_others_are_not_ended(same: Pair) -> None:
    (first, *_) = plain(same)
    other, xid = same.target.connect(), "'replicator:else','1'"
    try:
        with other.cursor() as cursor:
            cursor.execute(f"XA START {xid}")
            cursor.execute(f"INSERT INTO {same.there}.t VALUES (-1, 1)")
            cursor.execute(f"XA END {xid}")
            cursor.execute(f"XA PREPARE {xid}")
        sink = by_key(same)
        deliver(sink, [first])
        assert sink.open(target.term()) == first.position
        assert len(prepared(same)) == 1
    finally:
        other.cursor().execute(f"XA ROLLBACK {xid}")
        other.close()
    deliver(sink, [joined(same.at_source("UPDATE t SET v = 2 WHERE id < 40"))])
    here, there = same.rows("t")
    assert here[:40] == there


def test_a_repair_waits_for_the_end_of_a_commit(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sees the rows of the position, not those of the main transaction alone."""
    first, second, _ = plain(same)
    sink = by_key(same)
    deliver(sink, [first])
    commit = Branches.commit
    seen: list[tuple[Position, int]] = []
    repair = FencedRepair(target.config(same.target, same.place), "", target.TASK, "u1")

    def look() -> None:
        position = repair.begin()
        seen.append((position, len(same.rows("t")[1])))
        repair.rollback()

    looking = threading.Thread(target=look)

    def late(self: Branches) -> None:
        looking.start()
        time.sleep(1)
        assert not seen
        commit(self)

    monkeypatch.setattr(Branches, "commit", late)
    deliver(sink, [second])
    looking.join(20)
    repair.close()
    assert seen == [(second.position, 80)]


def test_the_other_direction_leaves_them_out(same: Pair) -> None:
    """The first row event of each transaction at the target, also of prepared ones, is of the task's rows."""
    first, *_ = plain(same)
    file, begin = same.target.end_of_log()
    deliver(by_key(same), [first])
    tasks = []
    for event in same.target.execute(f"SHOW BINLOG EVENTS IN '{file}' FROM {begin}"):
        if event[2] in ("Gtid", "Anonymous_Gtid"):
            tasks.append("")
        if event[2] == "Table_map" and tasks and not tasks[-1]:
            tasks[-1] = event[5].partition("(")[2]
    assert [name for name in tasks if name and "replicator_position" not in name] == []
    assert sum("replicator_position" in name for name in tasks) >= 3


def test_check(same: Pair) -> None:
    def finding(**options: Any) -> Any:
        config = target.config(same.target, same.place, **options)
        found = check(config, "", SourceFacts(None, mariadb=same.target.release.flavour == "mariadb"))
        return next((one for one in found if one.id == "sink.order"), None)

    assert finding() is None
    assert finding(**BY_KEY).severity == "ok"


def test_without_the_privilege(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    if same.target.release.flavour == "mariadb":
        return  # there is none
    first, second, _ = plain(same)
    account = "'few'@'%%'"
    same.target.execute("DROP USER IF EXISTS " + account)
    same.target.execute(f"CREATE USER {account} IDENTIFIED BY ''")
    same.target.execute(f"GRANT ALL ON *.* TO {account}")
    same.target.execute(f"REVOKE XA_RECOVER_ADMIN ON *.* FROM {account}")
    sink = by_key(same, user="few")
    deliver(sink, [first])
    alone(sink, second, "decide", monkeypatch)
    with pytest.raises(ReplicatorError) as raised:
        sink.open(target.term())
    assert raised.value.code == "E3405" and "GRANT XA_RECOVER_ADMIN" in (raised.value.fix or "")
    same.target.execute(f"GRANT XA_RECOVER_ADMIN ON *.* TO {account}")
    assert sink.open(target.term()) == first.position
    assert not prepared(same)
    sink.close()
    same.target.execute(f"DROP USER {account}")
