"""A cache of znodes shows what the coordinator has, whatever others do, over the memory twin and a real ZooKeeper."""

from __future__ import annotations

import contextlib
import random
import time
import uuid
from collections.abc import Callable

import pytest

from replicator.coordination.ports import Check, Coordinator, Create, Delete, Set
from replicator.coordination.tree_cache import TreeCache
from replicator.errors import CoordinationError, NodeMissing, NotConnected
from replicator.zookeeper.client import ZookeeperCoordinator
from tests.support.counted import Counted


@pytest.fixture
def top(zk: Coordinator) -> str:
    return zk.create(f"/conformance/{uuid.uuid4().hex}", b"", parents=True)


def test_what_does_not_change_is_read_once(session: Callable[[], Coordinator], zk: Coordinator, top: str) -> None:
    path, counted = zk.create(f"{top}/a", b"1"), Counted(session())
    cache = TreeCache(counted.port, top)

    def look() -> tuple[object, ...]:
        cache.catch_up()
        with pytest.raises(NodeMissing):
            cache.get(f"{top}/none")
        return cache.get(path).data, cache.exists(f"{top}/none"), cache.children(top), cache.get_many([path])[0]

    first = look()
    assert counted.taken()["get"] == 2
    assert look() == first and counted.taken() == {"catch_up": 1}
    zk.set(path, b"2")
    zk.create(f"{top}/none", b"there")
    cache.catch_up()
    assert (cache.get(path).data, cache.get(f"{top}/none").data) == (b"2", b"there")
    assert cache.children(top) == ["a", "none"]
    assert counted.taken() == {"catch_up": 1, "get": 2, "listing": 1}


def test_after_catching_up_nothing_is_older(session: Callable[[], Coordinator], zk: Coordinator, top: str) -> None:
    """Nodes that come, change, go and come again, written by another session and by the cache's own."""
    own = session()
    cache, chance = TreeCache(own, top), random.Random(22)
    paths = [f"{top}/{name}" for name in "abc"]
    for _ in range(150):
        writer = chance.choice((own, zk))
        for _ in range(chance.randint(1, 3)):
            path = chance.choice(paths)
            with contextlib.suppress(CoordinationError):
                match chance.randint(0, 4):
                    case 0:
                        writer.create(path, chance.randbytes(3))
                    case 1 | 2:
                        writer.set(path, chance.randbytes(3))
                    case 3:
                        writer.delete(path)
                    case 4:
                        writer.multi([Check(path), Delete(path), Create(path, b"again"), Set(path, b"more")])
        cache.catch_up()
        for path in chance.sample(paths, 2):
            stat = zk.exists(path)
            assert cache.exists(path) == stat, path
            assert cache.get_many([path])[0] == (zk.get(path) if stat else None), path
        assert cache.listing(top).names == zk.listing(top).names


def test_a_connection_that_broke_leaves_nothing(session: Callable[[], Coordinator], zk: Coordinator, top: str) -> None:
    own, path = session(), zk.create(f"{top}/a", b"1")
    cache = TreeCache(own, top)
    assert (cache.get(path).data, cache.exists(f"{top}/b")) == (b"1", None)
    breaks = own.reconnect if isinstance(own, ZookeeperCoordinator) else own.suspend  # type: ignore[attr-defined]
    breaks()
    zk.set(path, b"2")
    zk.create(f"{top}/b", b"")
    if not isinstance(own, ZookeeperCoordinator):
        with pytest.raises(NotConnected):
            cache.get(path)
        own.resume()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 20
    while True:
        with contextlib.suppress(NotConnected):
            cache.catch_up()
            assert cache.get(path).data == b"2" and cache.exists(f"{top}/b") is not None
            return
        assert time.monotonic() < deadline
        time.sleep(0.05)
