"""Rows and position are one unit at the target: lost connections, earlier terms, a position row that was changed."""

from __future__ import annotations

import threading

import pytest

from dev.faults.proxy import Direction, Proxy
from replicator.errors import LeadershipLost, SinkError, SinkFenced, SinkUnavailable
from replicator.model.term import Term
from tests.support import target
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver, deliver_over_cut

CUTS = [("up", 0.02), ("up", 0.2), ("up", 0.5), ("up", 0.9), ("up", 1.0)] + [
    ("down", part / 60) for part in range(1, 60, 6)
]


SQL_CUTS = [("up", 0.5), ("up", 0.95), ("down", 0.3), ("down", 0.8)]
BY_SQL = {"apply": "sql"}


@pytest.mark.parametrize(
    ("direction", "part", "options"), [(*cut, {}) for cut in CUTS] + [(*cut, BY_SQL) for cut in SQL_CUTS]
)
def test_connection_lost_in_a_commit(same: Pair, direction: Direction, part: float, options: dict[str, str]) -> None:
    """Before BEGIN, between the statements, in the answer of COMMIT. A table without a key shows a row that is there
    twice; with one, SQL refuses it."""
    same.both(f"CREATE TABLE t (v INT {'PRIMARY KEY' * bool(options)}, w VARCHAR(100))")
    first, second, third = same.at_source(*[f"INSERT INTO t VALUES ({n}, REPEAT('x', 90))" for n in (1, 2, 3)])
    with Proxy(same.target.port) as proxy:
        sink = same.sink(host="127.0.0.1", port=proxy.port, **options)
        sink.open(target.term())
        deliver(sink, [first])
        size = 900 if direction == "up" else 60
        done = deliver_over_cut(sink, proxy, second, int(size * part), direction, first.position)
        deliver(sink, [third] if done else [second, third])
    here, there = same.rows("t", "v")
    assert here == there


def test_answer_of_commit_lost(same: Pair) -> None:
    """The outcome is unknown; the position row tells it."""
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    with Proxy(same.target.port) as proxy:
        sink = same.sink(host="127.0.0.1", port=proxy.port, statement_timeout_s=2)
        sink.open(target.term())
        deliver(sink, [first])
        proxy.black_hole("down")
        with pytest.raises(SinkUnavailable):
            deliver(sink, [second])
        proxy.pass_()
        assert sink.open(target.term()) == second.position
    assert same.rows("t", "v")[1] == [(1,), (2,)]


def test_server_killed(same: Pair, request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("make_" + same.target.release.flavour)()
    server.execute("CREATE DATABASE place")
    server.execute(f"CREATE DATABASE {same.there}")
    pair = Pair(same.source, server, same.here, same.there, "place")
    pair.both("CREATE TABLE t (v INT)")
    first, second = pair.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    sink = pair.opened()
    deliver(sink, [first])
    sink.write(second)
    server.kill()
    with pytest.raises(SinkUnavailable):
        sink.commit(second.position)
    with pytest.raises(SinkUnavailable) as raised:
        sink.open(target.term())
    assert raised.value.code == "E3401"
    server.start()
    assert sink.open(target.term()) == first.position
    deliver(sink, [second])
    assert pair.rows("t", "v")[1] == [(1,), (2,)]


def test_lower_epoch_is_refused(same: Pair) -> None:
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    old = same.opened(epoch=1)
    deliver(old, [first])
    new = same.sink()
    assert new.open(target.term(2)) == first.position
    with pytest.raises(SinkFenced) as raised:
        deliver(old, [second])
    assert raised.value.code == "E3410"
    with pytest.raises(SinkFenced) as raised:
        old.open(target.term(1))
    assert raised.value.code == "E3111"
    deliver(new, [second])
    assert same.rows("t", "v")[1] == [(1,), (2,)]


def test_same_epoch_twice_is_refused(same: Pair) -> None:
    """Two processes of `replicator run`: the one that began last writes."""
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    old = same.opened(epoch=0)
    deliver(old, [first])
    new = same.opened(epoch=0)
    with pytest.raises(SinkFenced):
        deliver(old, [second])
    deliver(new, [second])
    assert same.rows("t", "v")[1] == [(1,), (2,)]


@pytest.mark.parametrize("apply", ["binlog", "sql"])
def test_former_leader_frozen_in_a_transaction(same: Pair, apply: str) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300))")
    (large,) = same.at_source(
        "SET SESSION cte_max_recursion_depth = 5000" if same.source.release.flavour == "mysql" else "DO 1",
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        "SELECT i, REPEAT('x', 300) FROM n",
    )
    frozen = same.opened(epoch=1, max_packet_bytes=1 << 16, apply=apply)
    frozen.write(large)  # most of it is executed
    (executed,) = same.target.execute(
        "SELECT COUNT(*) FROM information_schema.INNODB_TRX WHERE trx_rows_modified > 100"
    )
    assert executed == (1,)
    new = same.sink(apply=apply)
    assert new.open(target.term(2)) is None
    with pytest.raises((SinkFenced, SinkUnavailable)):
        frozen.commit(large.position)
    deliver(new, [large])
    with pytest.raises((SinkFenced, SinkUnavailable)):
        deliver(frozen, [large])
    here, there = same.rows("t")
    assert here == there


def test_sessions_of_other_accounts_are_not_ended(same: Pair) -> None:
    """The connection's number in the row may be another one's by now: that one is left alone."""
    same.opened(epoch=1).close()
    other = same.target.connect(user="replicator", password="replicator")
    (number,) = _one(other, "SELECT CONNECTION_ID()")
    same.target.execute(f"UPDATE {same.place}.replicator_position SET connection_id = %s", (number,))
    holder = same.target.connect(autocommit=False)
    _one(holder, f"SELECT task FROM {same.place}.replicator_position FOR UPDATE")

    threading.Timer(1.0, holder.rollback).start()
    assert same.sink().open(target.term(2)) is None
    assert _one(other, "SELECT 1") == (1,)
    other.close()
    holder.close()


def test_nothing_is_written_after_the_lease(same: Pair) -> None:
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    until = [float("inf")]
    sink = same.sink()
    sink.open(Term(target.TASK, "u1", 1, lambda: until[0]))
    deliver(sink, [first])
    sink.write(second)
    until[0] = 0.0
    with pytest.raises(LeadershipLost):
        sink.commit(second.position)
    sink.close()
    with pytest.raises(LeadershipLost):
        sink.open(Term(target.TASK, "u1", 1, lambda: until[0]))
    assert same.rows("t", "v")[1] == [(1,)]


def test_position_row_deleted(same: Pair) -> None:
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    sink = same.opened()
    deliver(sink, [first])
    same.target.execute(f"DELETE FROM {same.place}.replicator_position")
    with pytest.raises(SinkError) as raised:
        deliver(sink, [second])
    assert raised.value.code == "E3412"
    assert not raised.value.transient
    assert same.rows("t", "v")[1] == [(1,)]


def test_position_row_restored_from_a_backup(same: Pair) -> None:
    same.both("CREATE TABLE t (id INT PRIMARY KEY)")
    first, second, third = same.at_source(*[f"INSERT INTO t VALUES ({n})" for n in (1, 2, 3)])
    sink = same.opened()
    deliver(sink, [first])
    place = f"{same.place}.replicator_position"
    same.target.execute(f"CREATE TABLE {same.place}.backup AS SELECT * FROM {place}")
    deliver(sink, [second])
    same.target.execute(f"REPLACE INTO {place} SELECT * FROM {same.place}.backup")
    with pytest.raises(SinkFenced):
        deliver(sink, [third])
    assert sink.open(target.term()) == first.position
    with pytest.raises(SinkError) as raised:
        deliver(sink, [second])
    assert raised.value.code == "E3424"  # noticed, not written over
    assert same.rows("t")[1] == [(1,), (2,)]


def test_installations_and_tasks_on_one_target(same: Pair) -> None:
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    one, other, task = same.opened(), same.sink(installation="another"), same.sink(task="another")
    assert other.open(target.term()) is None
    assert task.open(target.term(task="another")) is None
    deliver(one, [first])
    deliver(other, [second])
    deliver(task, [joined([first, second])])
    assert one.open(target.term()) == first.position
    assert other.open(target.term()) == second.position
    assert len(same.position()) == 3


def test_another_incarnation_leaves_its_position(same: Pair) -> None:
    same.both("CREATE TABLE t (v INT)")
    first, second = same.at_source("INSERT INTO t VALUES (1)", "INSERT INTO t VALUES (2)")
    deliver(same.opened(), [first])
    for _ in range(2):  # until it commits, it is not the row's
        new = same.sink()
        assert new.open(target.term(2, "u2")) is None
        assert new.left == first.position
    deliver(new, [second])
    assert new.open(target.term(2, "u2")) == second.position
    assert new.left is None


def test_position_table_is_not_created_unasked(same: Pair) -> None:
    with pytest.raises(SinkError) as raised:
        same.sink(create_position_table=False).open(target.term())
    assert raised.value.code == "E3411"
    assert "CREATE TABLE" in raised.value.wanted
    assert same.target.execute(f"SHOW TABLES FROM {same.place}") == []


def test_position_table_with_other_columns(same: Pair) -> None:
    same.target.execute(f"CREATE TABLE {same.place}.replicator_position (task INT)")
    with pytest.raises(SinkError) as raised:
        same.sink().open(target.term())
    assert raised.value.code == "E3411"


def test_heartbeats_move_the_position(same: Pair) -> None:
    sink = same.opened()
    sink.commit(target.at(100))
    sink.flush(5)
    assert sink.acknowledged() == target.at(100)
    assert same.sink().open(target.term(2)) == target.at(100)


def _one(connection: object, sql: str) -> tuple[object, ...]:
    with connection.cursor() as cursor:  # type: ignore[attr-defined]
        cursor.execute(sql)
        found: tuple[object, ...] = cursor.fetchone()
        return found
