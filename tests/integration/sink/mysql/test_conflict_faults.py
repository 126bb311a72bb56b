"""Conflicts are recorded with their rows or not at all: lost connections, earlier terms, large transactions, errors."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any

import pytest

from dev.faults.proxy import Proxy
from replicator.errors import SinkError, SinkFenced, SinkUnavailable
from tests.support import target
from tests.support.row_records import joined
from tests.support.site_pair import Pair, deliver

CREATE = "CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(300))"
COMPARE = pytest.mark.parametrize("compare", ["row", "key"])


def recorded(pair: Pair) -> list[tuple[int, str]]:
    found = pair.target.execute(f"SELECT row_key, kind FROM {pair.place}.replicator_conflicts ORDER BY id")
    return [(json.loads(key)["id"], kind) for key, kind in found]


def rule(compare: str, policy: str = "source_wins") -> dict[str, Any]:
    return {"policy": policy, "compare": compare}


@COMPARE
@pytest.mark.parametrize(
    "cut", [("up", part / 10) for part in range(1, 31, 2)] + [("down", part / 6) for part in range(0, 60, 4)]
)
def test_connection_lost(same: Pair, compare: str, cut: tuple[str, float]) -> None:
    """While rows are read, conflicts recorded, rows written, in the answer of COMMIT."""
    direction, part = cut
    same.both(CREATE)
    same.at_target("INSERT INTO t VALUES (1, 'there')")
    batches = same.at_source("INSERT INTO t VALUES (9, 'first')", "INSERT INTO t VALUES (1, 'x')", "DELETE FROM t")
    with Proxy(same.target.port) as proxy:
        sink = same.sink(host="127.0.0.1", port=proxy.port, conflict=rule(compare))
        sink.open(target.term())
        deliver(sink, batches[:1])
        proxy.cut_after(max(1, int((2500 if direction == "up" else 100) * part)), direction)  # type: ignore[arg-type]
        with suppress(SinkUnavailable):
            deliver(sink, [batches[1]])
        proxy.pass_()
        if sink.open(target.term()) == batches[0].position:
            deliver(sink, [batches[1]])
        assert same.rows("t")[1] == [(1, "x"), (9, "first")]
        deliver(sink, [batches[2]])
    assert same.rows("t") == ([], [])
    assert recorded(same) == [(1, "exists")]


@COMPARE
def test_an_earlier_term_resolves_nothing(same: Pair, compare: str) -> None:
    same.both(CREATE)
    same.at_target("INSERT INTO t VALUES (1, 'there')")
    (batch,) = same.at_source("INSERT INTO t VALUES (1, 'x')")
    old = same.opened(epoch=1, conflict=rule(compare))
    same.opened(epoch=2)
    with pytest.raises(SinkFenced):
        deliver(old, [batch])
    assert same.rows("t")[1] == [(1, "there")]
    assert recorded(same) == []


def large(pair: Pair, rows: int = 900) -> str:
    return (
        "INSERT INTO t WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < "
        f"{rows}) SELECT i, REPEAT('x', 300) FROM n"
    )


@COMPARE
@pytest.mark.parametrize("place", [2, 500, 899])
def test_transaction_of_many_packets(same: Pair, compare: str, place: int) -> None:
    same.both(CREATE)
    same.at_target(f"INSERT INTO t VALUES ({place}, 'there'), (1000, 'own')")
    (batch,) = same.at_source(large(same))
    sink = same.opened(max_packet_bytes=1 << 16, conflict=rule(compare))
    deliver(sink, [batch])
    here, there = same.rows("t")
    assert there == [*here, (1000, "own")]
    assert recorded(same) == [(place, "exists")]
    (emptied,) = same.at_source("DELETE FROM t")
    same.at_target(f"DELETE FROM t WHERE id = {place}")
    deliver(sink, [emptied])
    assert same.rows("t")[1] == [(1000, "own")]
    assert recorded(same)[1:] == [(place, "missing")]


@COMPARE
def test_a_later_error_takes_the_records_with_it(same: Pair, compare: str) -> None:
    same.both(CREATE, "CREATE TABLE c (id INT PRIMARY KEY)")
    same.at_target("INSERT INTO t VALUES (3, 'there')", "INSERT INTO c VALUES (1)")
    rules = [{"tables": ["*.c"], "policy": "stop"}, rule(compare)]
    batches = same.at_source(large(same), "INSERT INTO c VALUES (1)")
    sink = same.opened(max_packet_bytes=1 << 16, conflict=rules)
    with pytest.raises(SinkError, match="E3424"):
        deliver(sink, [joined(batches)])
    assert same.rows("t")[1] == [(3, "there")]
    assert recorded(same) == []
    deliver(same.opened(epoch=2, conflict=rule(compare)), batches[:1])
    assert recorded(same) == [(3, "exists")]


def test_rows_without_foreign_key_checks(same: Pair) -> None:
    """A changed change keeps its mark."""
    same.both(
        "CREATE TABLE p (id INT PRIMARY KEY)",
        "CREATE TABLE t (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES p (id) ON DELETE CASCADE)",
    )
    same.at_target("INSERT INTO t VALUES (1, NULL)")
    batches = same.at_source("SET foreign_key_checks = 0", "INSERT INTO t VALUES (1, 77)", "UPDATE t SET p = 78")
    deliver(same.opened(conflict="source_wins"), [joined(batches)])
    here, there = same.rows("t")
    assert here == there == [(1, 78)]
    assert recorded(same) == [(1, "exists")]


def test_after_the_table_was_altered(same: Pair) -> None:
    same.both(CREATE)
    sink = same.opened(conflict="source_wins")
    deliver(sink, same.at_source("INSERT INTO t VALUES (1, 'x')"))
    same.both("ALTER TABLE t ADD COLUMN n INT, DROP COLUMN v")
    same.at_target("UPDATE t SET n = 5")
    deliver(sink, same.at_source("UPDATE t SET n = 6"))
    assert same.rows("t") == ([(1, 6)], [(1, 6)])
    assert recorded(same) == [(1, "different")]


def test_dead_letters_are_not_deleted(same: Pair) -> None:
    same.both(CREATE)
    same.at_target(large(same, 400))
    batches = same.at_source(*(f"INSERT INTO t VALUES ({n}, 'x')" for n in range(1, 401)))
    sink = same.opened(conflict="dead_letter", keep_conflicts=120)
    with pytest.raises(SinkError, match="E3454") as caught:
        for batch in batches:
            deliver(sink, [batch])
    assert caught.value.fix
    kept = recorded(same)
    assert 120 <= len(kept) <= 320
    assert kept == [(n, "exists") for n in range(1, len(kept) + 1)], "none is lost"
    assert sink.open(target.term()) == batches[len(kept) - 1].position
    same.target.execute(f"DELETE FROM {same.place}.replicator_conflicts")
    deliver(sink, batches[len(kept) : len(kept) + 1])
    assert recorded(same) == [(len(kept) + 1, "exists")]


def test_dead_letters_outlive_other_conflicts(same: Pair) -> None:
    same.both(CREATE)
    same.at_target(large(same, 300))
    batches = same.at_source(*(f"INSERT INTO t VALUES ({n}, 'x')" for n in range(1, 301)))
    deliver(same.opened(conflict="dead_letter", keep_conflicts=20), batches[:5])
    deliver(same.opened(epoch=2, conflict="keep_target", keep_conflicts=20), batches[5:])
    kept = recorded(same)
    assert kept[:5] == [(n, "exists") for n in range(1, 6)]
    assert len(kept) < 200


def test_the_oldest_conflicts_are_deleted(same: Pair) -> None:
    same.both(CREATE)
    same.at_target(large(same, 400))
    batches = same.at_source(*(f"INSERT INTO t VALUES ({n}, 'x')" for n in range(1, 401)))
    deliver(same.opened(conflict="keep_target", keep_conflicts=50), batches)
    kept = recorded(same)
    assert 50 <= len(kept) <= 160
    assert kept[-1] == (400, "exists")
    deliver(
        same.opened(epoch=2, conflict="keep_target", keep_conflicts=50), same.at_source("DELETE FROM t WHERE id = 1")
    )
    assert recorded(same)[-1] == (1, "different")
    assert len(recorded(same)) == 50, "a session begins with deleting them"


def test_table_of_conflicts_is_not_created_unasked(same: Pair) -> None:
    same.opened().close()
    with pytest.raises(SinkError, match=r"E3453.*replicator_conflicts") as caught:
        same.opened(epoch=2, create_position_table=False, conflict="source_wins")
    assert "CREATE TABLE" in caught.value.wanted
    same.target.execute(caught.value.wanted)
    same.opened(epoch=3, create_position_table=False, conflict="source_wins").close()
    same.target.execute(f"ALTER TABLE {same.place}.replicator_conflicts DROP COLUMN kind")
    with pytest.raises(SinkError, match="E3453"):
        same.opened(epoch=4, conflict="source_wins")
    same.opened(epoch=5).close()


@COMPARE
def test_rows_locked_by_others(same: Pair, compare: str) -> None:
    """The transaction is repeated, as without conflicts."""
    same.both(CREATE)
    same.at_target("INSERT INTO t VALUES (1, 'there')")
    (batch,) = same.at_source("INSERT INTO t VALUES (1, 'x')")
    sink = same.opened(lock_wait_timeout_s=1, conflict=rule(compare))
    holder = same.target.connect(autocommit=False, database=same.there)
    with holder.cursor() as cursor:
        cursor.execute("SELECT * FROM t WHERE id = 1 FOR UPDATE")
    with pytest.raises(SinkUnavailable, match="E3409"):
        deliver(sink, [batch])
    holder.close()
    sink.open(target.term())
    deliver(sink, [batch])
    assert recorded(same) == [(1, "exists")]


@pytest.mark.parametrize("policy", ["source_wins", "dead_letter"])
def test_large_values(same: Pair, policy: str) -> None:
    """The record of a conflict would have the row three times."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v LONGTEXT, w LONGBLOB)")
    same.both("INSERT INTO t VALUES (1, REPEAT('x', 70000), NULL)")
    same.at_target("UPDATE t SET w = REPEAT('y', 70000)")
    (batch,) = same.at_source("UPDATE t SET v = REPEAT('z', 2000000)")
    deliver(same.opened(conflict=policy), [batch])
    ((expected, found, new),) = same.target.execute(
        f"SELECT expected_row, found_row, new_row FROM {same.place}.replicator_conflicts"
    )
    if policy == "dead_letter":
        assert json.loads(new)["v"] == "z" * 2_000_000
        return
    assert json.loads(expected) == {"id": 1, "v": "... 70000 bytes", "w": None}
    assert json.loads(found) == {"id": 1, "v": "... 70000 bytes", "w": "... 70000 bytes"}
    assert json.loads(new) == {"id": 1, "v": "... 2000000 bytes", "w": None}


@COMPARE
def test_a_unique_key_of_a_part_of_a_column(same: Pair, compare: str) -> None:
    """Whose values are not in the images: the server refuses the row, and the task stops."""
    same.both("CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(50), UNIQUE (v(3)))")
    same.at_target("INSERT INTO t VALUES (7, 'abcdef')")
    (batch,) = same.at_source("INSERT INTO t VALUES (1, 'abcxyz')")
    with pytest.raises(SinkError, match="E3424"):
        deliver(same.opened(conflict=rule(compare)), [batch])
    assert same.rows("t")[1] == [(7, "abcdef")]
