"""What is kept, what is dropped and what is asked again, with faults that a real ZooKeeper rarely shows."""

from __future__ import annotations

from functools import partial
from typing import Any, cast

import pytest

from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.ports import Coordinator, Node
from replicator.coordination.tree_cache import TreeCache
from replicator.errors import CoordinationError, NodeMissing, NotConnected
from tests.support.counted import Counted


class Scene:
    def __init__(self) -> None:
        self.now = 100.0
        self.ensemble = MemoryEnsemble()
        self.other = self.ensemble.session()
        self.own: MemoryCoordinator = self.ensemble.session()
        self.counted = Counted(self.own)
        for path in ("/a", "/b", "/b/c"):
            self.other.create(path, b"1")
        self.cache = TreeCache(self.counted.port, "/", clock=lambda: self.now)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_a_change_between_a_read_and_its_keeping_is_not_missed(scene: Scene) -> None:
    class Late:
        """The node changes when its old content is on its way here."""

        def __getattr__(self, name: str) -> Any:
            return getattr(scene.own, name)

        def get(self, path: str, watch: Any = None) -> Node:
            node = scene.own.get(path, watch)
            if node.data == b"1":
                scene.other.set(path, b"2")
            return node

    cache = TreeCache(cast(Coordinator, Late()), "/")
    assert cache.get("/a").data == b"1"
    assert cache.get("/a").data == b"2", "the first answer was not kept"


@pytest.mark.parametrize("fault", ["suspend", "expire"])
def test_a_lost_connection_or_session_drops_everything(scene: Scene, fault: str) -> None:
    cache = scene.cache
    cache.catch_up()
    made: list[bytes] = []

    def make() -> bytes:
        made.append(cache.get("/a").data)
        return made[-1]

    cache.derived("a", make)
    getattr(scene.own, fault)()
    if fault == "suspend":
        for attempt in (lambda: cache.get("/a"), lambda: cache.derived("a", make), lambda: cache.catch_up("", 60.0)):
            with pytest.raises(NotConnected):
                attempt()
        scene.other.set("/a", b"2")
        scene.own.resume()
    scene.counted.taken()
    cache.catch_up("", 60.0)
    assert cache.derived("a", make) == scene.other.get("/a").data
    assert scene.counted.taken() == {"catch_up": 1, "get": 1}


def test_a_derived_value_is_made_again_when_something_that_it_read_changes(scene: Scene) -> None:
    cache, made = scene.cache, []

    def make() -> tuple[bytes, list[str], bool]:
        made.append(1)
        return cache.get("/a").data, cache.children("/b"), cache.exists("/none") is None

    def outer() -> tuple[bytes, list[str], bool]:
        return cache.derived("inner", make)

    for _ in range(3):
        assert cache.derived("outer", outer) == (b"1", ["c"], True)
    assert len(made) == 1
    scene.other.set("/b/c", b"not read by it")
    cache.derived("outer", outer)
    assert len(made) == 1
    for change in (
        lambda: scene.other.set("/a", b"2"),
        lambda: scene.other.create("/b/d"),
        lambda: scene.other.create("/none"),
    ):
        before = len(made)
        change()
        cache.derived("outer", outer)
        assert len(made) == before + 1
    assert cache.derived("outer", outer) == (b"2", ["c", "d"], False)


def test_what_is_made_from_an_error_is_not_kept(scene: Scene) -> None:
    refused = [True]

    class Refusing:
        def __getattr__(self, name: str) -> Any:
            return getattr(scene.own, name)

        def get(self, path: str, watch: Any = None) -> Node:
            if refused:
                raise CoordinationError("E4007", "no right")
            return scene.own.get(path, watch)

    cache = TreeCache(cast(Coordinator, Refusing()), "/")

    def make() -> str:
        try:
            return cache.get("/a").data.decode()
        except CoordinationError as error:
            return error.code

    assert cache.derived("a", make) == "E4007"
    refused.clear()  # a change of an ACL fires no watch
    assert cache.derived("a", make) == "1"


def test_an_answer_may_be_as_old_as_the_caller_accepts(scene: Scene) -> None:
    cache = scene.cache
    cache.catch_up()
    scene.now += 0.9
    cache.catch_up(max_age_s=1.0)
    assert scene.counted.taken() == {"catch_up": 1}
    cache.catch_up()
    scene.now += 1.1
    cache.catch_up(max_age_s=1.0)
    assert scene.counted.taken() == {"catch_up": 2}


def test_watches_that_are_not_called_in_time_are_an_error(scene: Scene) -> None:
    cache = scene.cache
    cache.get("/a")
    scene.ensemble.hold_watches()
    scene.other.set("/a", b"2")
    with pytest.raises(NotConnected):
        cache.catch_up()
    scene.ensemble.release_watches(twice=1)
    cache.catch_up()
    assert cache.get("/a").data == b"2"


def test_a_watch_that_was_lost_is_found_by_reading_again(scene: Scene) -> None:
    cache = scene.cache
    assert (cache.get("/a").data, cache.children("/b"), cache.exists("/none")) == (b"1", ["c"], None)
    assert [cache.check(2) for _ in range(4)] == [""] * 4
    for change in (
        lambda: scene.other.set("/a", b"2"),
        lambda: scene.other.create("/b/d"),
        lambda: scene.other.create("/none"),
    ):
        scene.ensemble.drop_watches(scene.own.session_id)
        change()
        assert [path for path in (cache.check(2) for _ in range(4)) if path] != []
        cache.get("/a"), cache.children("/b"), cache.exists("/none")
    assert (cache.get("/a").data, cache.children("/b")) == (b"2", ["c", "d"])
    assert cache.exists("/none") is not None
    scene.other.set("/a", b"3")
    assert [cache.check(5) for _ in range(2)] == ["", ""], "a change that was reported is no fault"


def test_nodes_below_a_child_that_is_gone_are_forgotten(scene: Scene) -> None:
    cache = scene.cache
    for path in ("/b/c", "/b/c/none", "/b/d/none", "/a"):
        cache.exists(path)
    cache.keep_below("/b", {"d"})
    scene.counted.taken()
    for path in ("/b/d/none", "/a"):
        cache.exists(path)
    assert scene.counted.taken() == {}
    cache.exists("/b/c/none")
    assert scene.counted.taken() == {"exists": 1}


def test_many_values_are_made_at_once_and_one_whose_node_is_gone_is_left_out(scene: Scene) -> None:
    cache, made = scene.cache, []
    for number in range(40):
        scene.other.create(f"/n{number}", str(number).encode())

    def make(number: int) -> bytes:
        made.append(number)
        return cache.get(f"/n{number}").data

    scene.other.delete("/n7")
    makes = {number: partial(make, number) for number in range(40)}
    cache.warm(makes)
    assert sorted(made) == list(range(40))
    cache.warm(makes)
    assert len(made) == 40, "few are cold: they are made where they are needed"
    assert cache.derived(3, makes[3]) == b"3" and len(made) == 40
    scene.own.suspend()
    with pytest.raises(NotConnected):
        cache.warm(makes)


def test_watches_of_readers_are_called_when_what_they_were_shown_changes(scene: Scene) -> None:
    cache, seen = scene.cache, list[tuple[str, str]]()

    def watch(change: str, path: str) -> None:
        seen.append((change, path))

    for _ in range(2):  # the second is answered from the cache
        cache.get("/a", watch)
        cache.children("/b", watch)
        cache.exists("/none", watch)
        with pytest.raises(NodeMissing):
            cache.get("/none", watch)  # leaves no watch
    scene.counted.taken()
    scene.other.set("/a", b"2")
    scene.other.create("/b/d")
    scene.other.create("/none")
    assert sorted(seen) == sorted([("changed", "/a"), ("children", "/b"), ("created", "/none")] * 2)
    assert cache.get("/a", watch).data == b"2"
    seen.clear()
    scene.own.suspend()
    assert seen == [("session", "/a")], "once, though the connection and its watch both say so"
    scene.own.resume()
    assert cache.get("/a", watch).data == b"2"


def test_a_node_that_must_not_be_read_any_more_is_not_kept(scene: Scene) -> None:
    """No watch tells of an ACL that has changed."""

    class Denied:
        denied = False

        def __getattr__(self, name: str) -> Any:
            return getattr(scene.own, name)

        def get(self, path: str, watch: Any = None) -> Node:
            if self.denied:
                raise CoordinationError("E4007", f"ZooKeeper refuses access to {path}")
            return scene.own.get(path, watch)

    coordinator = Denied()
    cache = TreeCache(cast(Coordinator, coordinator), "/")
    cache.get("/a")
    coordinator.denied = True
    assert cache.get("/a").data == b"1"
    assert cache.check(10) == "/a"
    with pytest.raises(CoordinationError, match="E4007"):
        cache.get("/a")
