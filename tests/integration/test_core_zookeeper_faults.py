"""The Core's agent while ZooKeeper is away, frozen or restarted."""

from __future__ import annotations

import threading
import time

import pytest

from core.agent import Agent
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Connection
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from tests.support.agents import FakeLauncher, validate
from tests.support.site import TASK, Site
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers
TIMEOUT = 4.0


@pytest.fixture
def server(make_zookeeper):
    return make_zookeeper(tick_time=500)


@pytest.fixture
def timeout(request):
    return getattr(request, "param", TIMEOUT)


@pytest.fixture
def site(server, timeout):
    site = Site(lambda: connect(server.hosts, timeout))
    site.registry.create(TASK, {"name": TASK}, "test")
    yield site
    site.close()


def test_a_frozen_server_ends_the_lease_though_kazoo_believes_in_it(server, site):
    a = site.start("host-a")
    site.wait("host-a")
    worker = site.worker(a)
    server.pause()
    frozen = time.monotonic()
    while worker.may_emit:
        time.sleep(0.01)
    assert time.monotonic() - frozen <= TIMEOUT * 2 / 3 + 0.1
    server.resume()
    site.wait("host-a")
    eventually(lambda: any(entry.may_emit for entry in a.launcher.workers))


@pytest.mark.parametrize("timeout", [2 * TIMEOUT], indirect=True)  # a server takes its time on a busy machine
def test_a_short_break_costs_nothing(server, site, timeout):
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    worker = site.worker(a)
    server.kill()
    server.start()
    eventually(lambda: a.coordinator.connection is Connection.CONNECTED)
    time.sleep(timeout * 2 / 3)  # the lease of before the break is over
    assert worker.may_emit
    eventually(lambda: site.admin.connection is Connection.CONNECTED)
    assert site.task().epoch == epoch
    assert len(a.launcher.workers) == 1


def test_servers_that_return_much_later_find_the_same_leader(server, site):
    """Sessions outlive their servers: nobody is told that anything was lost."""
    a = site.start("host-a")
    epoch = site.wait("host-a").epoch
    b = site.start("host-b")
    site.standing_by(1)
    first = site.worker(a)
    server.kill()
    eventually(lambda: not first.may_emit)
    first.fail("E4008", fenced=True)  # what a real worker says by itself
    time.sleep(TIMEOUT)
    server.start()
    eventually(lambda: site.admin.connection is Connection.CONNECTED)
    view = site.wait("host-a")
    assert view.epoch == epoch
    assert b.launcher.workers == []
    eventually(lambda: site.worker(a).may_emit)


def test_down_at_the_start(server):
    server.kill()
    coordinator = ZookeeperCoordinator(server.hosts, TIMEOUT)
    agent = Agent(coordinator, Layout(), "host-a", ("mine",), FakeLauncher(), validate)
    names: list[str] = []
    thread = threading.Thread(target=agent.run, args=(names.append,))
    thread.start()
    time.sleep(1.0)
    assert not names
    server.start()
    eventually(lambda: names == ["host-a"])
    agent.stop()
    thread.join(timeout=20)
    assert not thread.is_alive()


def test_stopping_without_a_server_is_bounded(server, site):
    a = site.start("host-a")
    site.wait("host-a")
    worker = site.worker(a)
    server.kill()
    eventually(lambda: a.coordinator.connection is not Connection.CONNECTED)
    began = time.monotonic()
    a.stop()
    assert time.monotonic() - began < 12
    assert worker.killed
    server.start()


def test_stopping_before_any_server_answered(server):
    server.kill()
    coordinator = ZookeeperCoordinator(server.hosts, TIMEOUT)
    agent = Agent(coordinator, Layout(), "host-a", (), FakeLauncher(), validate)
    thread = threading.Thread(target=agent.run)
    thread.start()
    time.sleep(0.3)
    agent.stop()
    thread.join(timeout=10)
    assert not thread.is_alive()


def test_a_name_that_is_waited_for_is_not_given_up_by_a_late_connection(server):
    """The node of the process before us is not reaped yet when ZooKeeper comes back."""
    dead = connect(server.hosts, TIMEOUT)
    dead.create(Layout().machine("host-a"), b"{}", ephemeral=True, parents=True)
    server.kill()
    coordinator = ZookeeperCoordinator(server.hosts, TIMEOUT)
    agent = Agent(coordinator, Layout(), "host-a", (), FakeLauncher(), validate)
    names: list[str] = []
    thread = threading.Thread(target=agent.run, args=(names.append,))
    thread.start()
    server.start()
    eventually(lambda: coordinator.connection is Connection.CONNECTED)
    time.sleep(0.5)
    dead.close()
    eventually(lambda: names)
    agent.stop()
    thread.join(timeout=20)
    assert names == ["host-a"]
