"""Servers, connections and processes that end in a commit over several connections; copies that were made in one."""

from __future__ import annotations

import pytest

from dev.faults.proxy import Direction, Proxy
from dev.servers import replication
from replicator.errors import SinkError
from replicator.sink.mysql import transaction
from tests.support import target
from tests.support.divided_commits import BY_KEY, WHERE, alone, by_key, equal, plain, prepared
from tests.support.site_pair import Pair, deliver, deliver_over_cut


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits of few rows are divided."""
    monkeypatch.setattr(transaction, "FEWEST_BYTES", 0)


@pytest.mark.parametrize("where", WHERE)
def test_the_server_is_killed_in_a_commit(
    same: Pair, request: pytest.FixtureRequest, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = request.getfixturevalue("make_" + same.target.release.flavour)()
    server.execute("CREATE DATABASE place")
    server.execute(f"CREATE DATABASE {same.there}")
    pair = Pair(same.source, server, same.here, same.there, "place")
    first, second, third = plain(pair)
    sink = by_key(pair)
    deliver(sink, [first])
    alone(sink, second, where, monkeypatch)
    server.kill()
    server.start()
    assert len(prepared(pair)) == 2
    assert sink.open(target.term()) == (first if where == "decide" else second).position
    deliver(sink, [second, third] if where == "decide" else [third])
    assert equal(pair) and not prepared(pair)


@pytest.mark.parametrize("where", WHERE)
def test_fail_over_of_the_target_in_a_commit(
    same: Pair, request: pytest.FixtureRequest, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Replicas have what is prepared; the new primary ends it."""
    make = request.getfixturevalue("make_" + same.target.release.flavour)
    primary, replica = make(), make()
    replication.follow(replica, primary)
    for name in ("place", same.there):
        primary.execute(f"CREATE DATABASE {name}")
    pair = Pair(same.source, primary, same.here, same.there, "place")
    first, second, third = plain(pair)
    sink = by_key(pair)
    deliver(sink, [first])
    alone(sink, second, where, monkeypatch)
    replication.await_caught_up(replica, primary)
    primary.kill()
    replication.promote(replica)
    promoted = Pair(same.source, replica, same.here, same.there, "place")
    promoted.tables = pair.tables
    assert len(prepared(promoted)) == 2
    new = by_key(promoted)
    assert new.open(target.term()) == (first if where == "decide" else second).position
    deliver(new, [second, third] if where == "decide" else [third])
    assert equal(promoted) and not prepared(promoted)


CUTS: list[tuple[Direction, float]] = [("up", part / 12) for part in range(12)] + [
    ("down", part / 12) for part in range(12)
]


@pytest.mark.parametrize(("direction", "part"), CUTS)
def test_connections_lost_in_a_commit(same: Pair, direction: Direction, part: float) -> None:
    first, second, third = plain(same)
    with Proxy(same.target.port) as proxy:
        sink = same.sink(host="127.0.0.1", port=proxy.port, **BY_KEY)
        sink.open(target.term())
        deliver(sink, [first])
        size = 3200 if direction == "up" else 230
        done = deliver_over_cut(sink, proxy, second, int(size * part), direction, first.position)
        assert len(same.rows("t")[1]) == (80 if done else 40)
        deliver(sink, [third] if done else [second, third])
    assert equal(same) and not prepared(same)


@pytest.mark.parametrize("where", WHERE)
def test_another_order_after_a_crash(same: Pair, where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """And fewer connections: what is prepared is ended by whoever comes next."""
    first, second, third = plain(same)
    old = same.opened(order="key", connections=5)
    deliver(old, [first])
    alone(old, second, where, monkeypatch)
    old.close()
    new = same.opened(order="key", connections=2)
    deliver(new, [second, third] if where == "decide" else [third])
    assert equal(same) and not prepared(same)
    deliver(same.opened(), same.at_source("UPDATE t SET v = 9"))
    assert equal(same)


def test_a_task_that_is_created_again(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, third = plain(same)
    old = by_key(same)
    deliver(old, [first])
    alone(old, second, "decide", monkeypatch)
    old.close()
    new = same.sink(**BY_KEY)
    assert new.open(target.term(1, "u2")) is None
    assert not prepared(same) and new.left == first.position
    deliver(new, [second, third])
    assert equal(same)


def test_other_tasks_are_left_alone(same: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names that begin alike, and other installations."""
    (first, *_) = plain(same)
    for options in ({"task": "copy2"}, {"installation": "another"}):
        other = same.sink(**options, **BY_KEY)
        other.open(target.term(task=options.get("task", "copy")))
        alone(other, first, "decide", monkeypatch)
        sink = by_key(same)
        sink.open(target.term())
        assert len(prepared(same)) == 2
        other.close()
        other.open(target.term(task=options.get("task", "copy")))
        assert not prepared(same)
        other.close()


@pytest.mark.parametrize("lost", ["rows", "row"])
def test_a_copy_that_was_made_in_between(same: Pair, lost: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A dump sees the position and not the rows that are prepared; the copy is refused."""
    first, second, third = plain(same)
    sink = by_key(same)
    deliver(sink, [first])
    alone(sink, second, "end", monkeypatch)
    place, at = f"{same.place}.replicator_position", same.target
    dump = at.execute(f"SELECT * FROM {place}"), at.execute(f"SELECT * FROM {same.there}.t")
    assert sink.open(target.term()) == second.position
    sink.close()
    for name, rows in zip((place, f"{same.there}.t"), dump, strict=True):
        at.execute(f"DELETE FROM {name}")
        for row in rows:
            at.execute(f"INSERT INTO {name} VALUES ({', '.join(['%s'] * len(row))})", row)
    if lost == "row":
        at.execute(f"DELETE FROM {place} WHERE task = 'copy/2'")
    with pytest.raises(SinkError) as raised:
        sink.open(target.term())
    assert raised.value.code == "E3414" and not raised.value.transient
    assert raised.value.fix is not None and f"DELETE FROM `{same.place}`.replicator_position" in raised.value.fix
    same.at_target(*[f"REPLACE INTO t VALUES ({100 + n}, 0)" for n in range(40)])  # as a repair does
    statement = next(part for part in raised.value.fix.split(";") if "DELETE" in part).partition("Then ")[2]
    at.execute(statement.replace("%", "%%"))
    assert sink.open(target.term()) == second.position
    deliver(sink, [third])
    assert equal(same)
