"""One suite over every implementation of the coordinator: the memory twin and a real ZooKeeper."""

from __future__ import annotations

import threading
import uuid
from collections.abc import Callable

import pytest

from replicator.coordination.ports import Change, Check, Connection, Coordinator, Create, Delete, Set, Stat
from replicator.errors import CoordinationError, NodeExists, NodeMissing, NotConnected, VersionConflict

Session = Callable[[], Coordinator]


@pytest.fixture
def top(zk: Coordinator) -> str:
    """A node of this test's own."""
    return zk.create(f"/conformance/{uuid.uuid4().hex}", parents=True)


class Seen:
    """A watcher that remembers what it saw."""

    def __init__(self) -> None:
        self.events: list[tuple[Change, str]] = []
        self._arrived = threading.Event()

    def __call__(self, change: Change, path: str) -> None:
        self.events.append((change, path))
        self._arrived.set()

    def wait(self) -> tuple[Change, str]:
        assert self._arrived.wait(5), "no event"
        return self.events[0]


def test_connection_and_session(zk):
    assert zk.connection is Connection.CONNECTED
    assert zk.session_id != 0
    assert zk.session_timeout > 0


def test_create_get_set_delete(zk, top):
    path = zk.create(f"{top}/a", b"one")
    assert path == f"{top}/a"
    node = zk.get(path)
    assert (node.data, node.stat.version, node.stat.owner) == (b"one", 0, 0)
    stat = zk.set(path, b"two", version=0)
    assert stat.version == 1
    assert stat.mzxid > stat.czxid
    assert zk.get(path).data == b"two"
    zk.delete(path, version=1)
    assert zk.exists(path) is None


def test_parents_are_created_only_where_asked_for(zk, top):
    with pytest.raises(NodeMissing):
        zk.create(f"{top}/x/y/z", b"deep")
    with pytest.raises(NodeMissing):
        zk.create(f"{top}/x/n-", sequential=True, ephemeral=True)
    assert zk.children(top) == []
    zk.create(f"{top}/x/y/z", b"deep", parents=True)
    assert zk.children(top) == ["x"]
    assert zk.get(f"{top}/x/y/z").data == b"deep"
    assert zk.get(f"{top}/x").stat.owner == 0


def test_errors(zk, top):
    with pytest.raises(NodeMissing):
        zk.get(f"{top}/none")
    with pytest.raises(NodeMissing):
        zk.children(f"{top}/none")
    with pytest.raises(NodeMissing):
        zk.set(f"{top}/none", b"")
    with pytest.raises(NodeMissing):
        zk.delete(f"{top}/none")
    zk.create(f"{top}/a/b", parents=True)
    with pytest.raises(NodeExists):
        zk.create(f"{top}/a")
    with pytest.raises(NodeExists):
        zk.delete(f"{top}/a")
    with pytest.raises(VersionConflict):
        zk.set(f"{top}/a", b"", version=7)
    with pytest.raises(VersionConflict):
        zk.delete(f"{top}/a/b", version=7)


def test_too_large_is_refused_here_and_not_by_a_cut_connection(zk, top):
    with pytest.raises(CoordinationError) as caught:
        zk.create(f"{top}/big", b"x" * 1_000_001)
    assert caught.value.code == "E4011"
    assert zk.connection is Connection.CONNECTED


def test_sequential_names_and_rising_czxid(zk, top):
    paths = [zk.create(f"{top}/n-", sequential=True) for _ in range(3)]
    numbers = [int(path[-10:]) for path in paths]
    assert numbers == sorted(set(numbers))
    assert all(len(path) == len(f"{top}/n-") + 10 for path in paths)
    ids = [zk.get(path).stat.czxid for path in paths]
    assert ids == sorted(set(ids))


def test_sequence_restarts_with_the_parent_and_czxid_does_not(zk, top):
    first = zk.create(f"{top}/e/n-", sequential=True, parents=True)
    before = zk.get(first).stat.czxid
    zk.delete(first)
    zk.delete(f"{top}/e")
    again = zk.create(f"{top}/e/n-", sequential=True, parents=True)
    assert again == first
    assert zk.get(again).stat.czxid > before


def test_ephemeral_nodes_go_with_their_session(session, zk, top):
    other = session()
    path = other.create(f"{top}/eph", b"", ephemeral=True)
    assert zk.get(path).stat.owner == other.session_id
    gone = Seen()
    assert zk.exists(path, gone) is not None
    other.close()
    assert gone.wait() == ("deleted", path)
    assert zk.exists(path) is None


def test_a_closed_session_refuses(session):
    other = session()
    other.close()
    with pytest.raises(NotConnected):
        other.get("/")


def test_listeners_learn_that_their_session_was_closed(session):
    other = session()
    seen: list[Connection] = []
    other.on_connection(seen.append)
    other.close()
    assert seen == [Connection.LOST]
    assert other.connection is Connection.LOST
    other.close()
    assert seen == [Connection.LOST]


def test_watches_fire_once(session, zk, top):
    other = session()
    path = zk.create(f"{top}/w", b"")
    data, presence, below = Seen(), Seen(), Seen()
    zk.get(path, data)
    zk.exists(f"{top}/later", presence)
    zk.children(top, below)
    other.set(path, b"1")
    other.set(path, b"2")
    other.create(f"{top}/later")
    assert data.wait() == ("changed", path)
    assert presence.wait() == ("created", f"{top}/later")
    assert below.wait() == ("children", top)
    other.create(f"{top}/even-later")
    zk.get(path)
    assert [len(seen.events) for seen in (data, presence, below)] == [1, 1, 1]


def test_catching_up_calls_the_watches_of_everything_before_it(session, zk, top):
    other = session()
    for number in range(20):
        path = zk.create(f"{top}/c{number}", b"")
        seen = Seen()
        zk.get(path, seen)
        other.set(path, b"1")
        zk.catch_up(top)
        assert seen.events == [("changed", path)]
        assert zk.get(path).data == b"1"
    zk.catch_up(f"{top}/none")


def test_watch_on_a_deleted_node(session, zk, top):
    path = zk.create(f"{top}/w")
    seen = Seen()
    zk.get(path, seen)
    session().delete(path)
    assert seen.wait() == ("deleted", path)


def test_multi_is_all_or_nothing(zk, top):
    zk.create(f"{top}/a", b"old")
    with pytest.raises(VersionConflict) as caught:
        zk.multi([Create(f"{top}/b"), Set(f"{top}/a", b"new", version=5), Delete(f"{top}/none")])
    assert "operation 1 (set)" in caught.value.found
    assert zk.exists(f"{top}/b") is None
    assert zk.get(f"{top}/a").data == b"old"


def test_multi_names_the_first_that_failed(zk, top):
    with pytest.raises(NodeMissing) as caught:
        zk.multi([Create(f"{top}/b"), Check(f"{top}/none"), Create(f"{top}/c")])
    assert "operation 1 (check)" in caught.value.found
    with pytest.raises(NodeExists) as exists:
        zk.multi([Create(top)])
    assert "operation 0 (create)" in exists.value.found


def test_multi_results(zk, top):
    zk.create(f"{top}/a", b"old")
    zk.create(f"{top}/gone")
    results = zk.multi(
        [
            Check(f"{top}/a", 0),
            Set(f"{top}/a", b"new", 0),
            Create(f"{top}/s-", b"", sequential=True),
            Delete(f"{top}/gone"),
        ]
    )
    assert results[0] is None
    assert isinstance(results[1], Stat)
    assert results[1].version == 1
    assert isinstance(results[2], str)
    assert results[2].startswith(f"{top}/s-0")
    assert results[3] is None
    assert zk.multi([]) == []


def test_one_transaction_has_one_id(zk, top):
    zk.multi([Create(f"{top}/a"), Create(f"{top}/b")])
    assert zk.get(f"{top}/a").stat.czxid == zk.get(f"{top}/b").stat.czxid


def test_listing_counts_what_comes_and_goes(zk, top):
    fresh = zk.listing(top)
    assert (fresh.names, fresh.stat.cversion, fresh.stat.pzxid) == ((), 0, fresh.stat.czxid)
    zk.create(f"{top}/b")
    made = zk.listing(top)
    zk.create(f"{top}/a")
    both = zk.listing(top)
    assert (both.names, both.stat.cversion, both.stat.children) == (("a", "b"), 2, 2)
    assert both.stat.pzxid == zk.get(f"{top}/a").stat.czxid > made.stat.pzxid
    zk.set(f"{top}/a", b"x")
    zk.set(top, b"x")
    assert zk.listing(top).stat.pzxid == both.stat.pzxid
    zk.delete(f"{top}/b")
    after = zk.listing(top)
    assert (after.names, after.stat.cversion) == (("a",), 3)
    assert after.stat.pzxid > both.stat.pzxid
    assert zk.exists(top) == after.stat
    with pytest.raises(NodeMissing):
        zk.listing(f"{top}/none")


def test_listing_watches_as_children_does(session, zk, top):
    seen = Seen()
    zk.listing(top, seen)
    session().create(f"{top}/a")
    assert seen.wait() == ("children", top)


def test_a_session_takes_all_its_nodes_in_one_transaction(session, zk, top):
    """And whoever deletes them one by one needs one for each."""
    below = [f"{top}/{name}" for name in ("x", "y", "z")]
    for path in below:
        zk.create(path)
    other, third = session(), session()
    for owner in (other, third):
        for path in below:
            owner.create(f"{path}/{owner.session_id}", ephemeral=True)
    gone = Seen()
    zk.exists(f"{below[-1]}/{other.session_id}", gone)
    other.close()
    gone.wait()
    listings = [zk.listing(path) for path in below]
    assert {listing.names for listing in listings} == {(str(third.session_id),)}
    assert {listing.stat.cversion for listing in listings} == {3}
    assert len({listing.stat.pzxid for listing in listings}) == 1
    for path in below:
        zk.delete(f"{path}/{third.session_id}")
    assert len({zk.listing(path).stat.pzxid for path in below}) == 3


def test_confirm(session, zk, top):
    path = zk.create(f"{top}/eph", ephemeral=True)
    found = zk.confirm([path, f"{top}/none"])
    assert found[0] is not None
    assert found[0].owner == zk.session_id
    assert found[1] is None
    session().delete(path)
    assert zk.confirm([path]) == [None]
    assert zk.confirm([]) == []


def test_threads_share_a_session(zk, top):
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            for turn in range(10):
                zk.create(f"{top}/{number}-{turn}", b"x")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    assert len(zk.children(top)) == 40


def test_many_nodes_are_read_in_their_order_and_missing_ones_are_told(zk: Coordinator, top: str) -> None:
    for number in range(250):
        zk.create(f"{top}/{number}", b"%d" % number)
    paths = [f"{top}/{number}" for number in (*range(250), "gone", 7)]
    found = zk.get_many(paths)
    assert [node.data if node is not None else None for node in found] == [
        *(b"%d" % number for number in range(250)),
        None,
        b"7",
    ]
    assert zk.get_many([]) == []


def test_a_transaction_that_is_too_large_is_refused_and_nothing_is_lost(zk: Coordinator, top: str) -> None:
    """ZooKeeper would close the connection: 16,000 deletions did that."""
    session, before = zk.session_id, zk.connection
    for ops in (
        [Delete(f"{top}/{'n' * 40}-{number:010d}") for number in range(16_000)],
        [Create(f"{top}/{number}", bytes(340_000)) for number in range(3)],
    ):
        with pytest.raises(CoordinationError, match="E4011"):
            zk.multi(ops)
    assert (zk.session_id, zk.connection) == (session, before)
    assert zk.children(top) == []
