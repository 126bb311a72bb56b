"""Cores of a group, threads and all, over the coordinator in memory; their workers are plain objects."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator

import pytest

from replicator.errors import CoordinationError
from tests.support.group_site import GROUP, GroupSite, spread
from tests.support.waiting import eventually


@pytest.fixture
def site() -> Iterator[GroupSite]:
    site = GroupSite()
    yield site
    site.close()


def test_tasks_are_spread_and_stay_when_a_core_joins(site):
    names = [f"t{number}" for number in range(4)]
    site.add(*names)
    site.core("a")
    assert set(site.until(spread, *names).values()) == {"a"}
    site.core("b")
    eventually(lambda: "b" in site.groups.read(GROUP).members)
    site.add("later")
    assert site.until(spread, "later") == {"later": "b"}
    assert set(site.where(*names).values()) == {"a"}
    assert all(len(site.task(name).instances) == 1 for name in names)


def test_hot_standbys(site):
    site.add("t", standbys=1)
    for host in "abc":
        site.core(host)
    site.until(spread, "t")
    assert len(site.standing_by(1, "t")) == 1
    hosts = site.placed()["t"]
    assert {one.host for one in site.task("t").instances} == set(hosts)


def test_drain_hands_over_one_after_the_other(site):
    names = [f"t{number}" for number in range(5)]
    site.add(*names)
    a = site.core("a")
    site.until(spread, *names)
    workers = [site.worker(a, name) for name in names]
    site.core("b")
    site.drained.begin("a", "test", "")
    site.until(lambda found: set(found.values()) == {"b"}, *names)
    assert all(worker.drained for worker in workers)
    ends = [
        (record.time_ms - record.seconds * 1000, record.time_ms)
        for name in names
        for record in (entry.record for entry in site.history.read(name))
        if record.kind == "switchover"
    ]
    assert len(ends) == len(names)
    assert all(first[1] <= second[0] + 2 for first, second in itertools.pairwise(sorted(ends)))
    site.drained.end("a")
    site.add("new")
    assert site.until(spread, "new") == {"new": "a"}


def test_core_without_group_is_drained(site):
    site.registry.create("plain", {"name": "plain"}, "test")
    site.start("a")
    site.wait("a", name="plain")
    site.drained.begin("a", "test", "")
    b = site.start("b")
    site.wait("b", name="plain")
    eventually(lambda: [one.host for one in site.task("plain").instances] == ["b"])
    assert b.launcher.of("plain")


def test_task_that_joins_a_group_stays_where_it_runs(site):
    site.registry.create("t", {"name": "t"}, "test")
    site.add("u")
    site.start("plain")
    site.wait("plain", name="t")
    site.core("a"), site.core("b")
    site.until(spread, "u")
    site.change("t", group=GROUP, standbys=0)
    found = site.until(lambda found: found["t"] in ("a", "b"), "t")
    assert site.placed()["t"] == (found["t"],)
    eventually(lambda: len(site.task("t").instances) == 1)


def test_task_that_leaves_its_group_runs_on_any_core(site):
    site.add("t")
    site.core("a")
    site.until(spread, "t")
    site.change("t", group="")
    eventually(lambda: site.placed() == {})
    assert site.where("t") == {"t": "a"}
    site.start("plain")
    site.wait("plain", name="t")


def test_task_whose_group_has_no_core_goes_on(site):
    site.add("t")
    site.core("a")
    site.until(spread, "t")
    site.change("t", group="green")
    eventually(lambda: site.placed() == {})
    assert site.where("t") == {"t": "a"}
    site.core("g", group="green")
    site.wait("g", name="t")


def test_group_node_that_is_deleted_is_made_again(site):
    site.add("t1", "t2")
    site.core("a")
    site.core("b")
    site.until(spread, "t1", "t2")
    for host in ("a", "b"):
        site.admin.delete(site.layout.member(GROUP, host))
    eventually(lambda: len(site.groups.read(GROUP).members) == 2)
    site.until(spread, "t1", "t2")  # one that noticed it late may have lost its task to the other one, and back


def test_group_that_is_deleted_with_all_of_it_is_made_again(site):
    site.add("t1", "t2")
    site.core("a"), site.core("b")
    site.until(spread, "t1", "t2")
    for host in ("a", "b"):
        site.admin.delete(site.layout.member(GROUP, host))
    with contextlib.suppress(CoordinationError):  # they come back while it is deleted
        site.admin.delete(site.layout.members(GROUP))
        site.admin.delete(site.layout.group(GROUP))
    eventually(lambda: set(site.groups.read(GROUP).members) == {"a", "b"} and len(site.placed()) == 2)
    site.until(spread, "t1", "t2")


def test_pinned_task_runs_on_its_host(site):
    site.add("t", standbys=1)
    site.core("a"), site.core("b"), site.core("c")
    site.until(spread, "t")
    node = site.groups.read(GROUP)
    for host in "abc":
        node = site.groups.read(GROUP)
        node.record.pins["t"] = host
        site.groups.write(GROUP, node.record, node.version)
        site.wait(host, name="t")
    eventually(lambda: len(site.task("t").instances) == 2)


def test_core_that_stops_is_followed_at_once(site):
    site.add("t1", "t2")
    a = site.core("a")
    site.until(spread, "t1", "t2")
    site.core("b")
    eventually(lambda: "b" in site.groups.read(GROUP).members)
    a.agent.stop()
    site.until(lambda found: set(found.values()) == {"b"}, "t1", "t2")
    kinds = site.kinds("t1")
    assert "lost" not in kinds
