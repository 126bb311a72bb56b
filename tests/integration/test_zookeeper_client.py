"""The ZooKeeper client when the servers misbehave. Each test has a server of its own to kill, freeze and restart."""

from __future__ import annotations

import socket
import threading
import time

import pytest
from kazoo.client import KazooClient
from kazoo.security import OPEN_ACL_UNSAFE

from replicator.coordination.ports import Change, Connection, Create
from replicator.errors import CoordinationError, NodeMissing, NotConnected, SessionLost
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from tests.support.present import present
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers


@pytest.fixture
def server(make_zookeeper):
    return make_zookeeper(tick_time=500)


@pytest.fixture
def zk(server):
    coordinator = connect(server.hosts, 4.0)
    yield coordinator
    coordinator.close()


def test_nothing_answers():
    began = time.monotonic()
    with pytest.raises(NotConnected) as caught:
        connect("127.0.0.1:1", 4.0, wait=0.5)
    assert caught.value.code == "E4001"
    assert caught.value.transient
    assert time.monotonic() - began < 5


def test_nothing_is_left_of_a_failed_connect():
    before = threading.active_count()
    with pytest.raises(NotConnected):
        connect("127.0.0.1:1", 4.0, wait=0.2)
    eventually(lambda: threading.active_count() <= before)


def test_a_chroot_that_does_not_exist_is_named_and_not_created(server, zk):
    below = connect(f"{server.hosts}/bus", 4.0)
    with pytest.raises(CoordinationError, match=r"E4004.*the chroot /bus of --zookeeper does not exist.*zkCli.sh"):
        below.create("/tree/tasks", parents=True)
    assert zk.exists("/bus") is None
    zk.create("/bus")
    below.create("/tree/tasks", parents=True)
    assert zk.exists("/bus/tree/tasks") is not None
    below.close()


def test_a_server_that_comes_later_is_found(server):
    server.kill()
    coordinator = ZookeeperCoordinator(server.hosts, 4.0)
    assert coordinator.connection is not Connection.CONNECTED
    with pytest.raises(NotConnected):
        coordinator.get("/")
    server.start()
    coordinator.wait_connected(20)
    assert coordinator.get("/").stat.owner == 0
    coordinator.close()


def test_the_negotiated_timeout_is_read_back(server):
    small, large = connect(server.hosts, 0.1), connect(server.hosts, 500.0)
    assert small.session_timeout == 1.0
    assert 1.0 < large.session_timeout < 500
    small.close()
    large.close()


def test_requests_are_refused_and_never_queued_while_suspended(server, zk):
    zk.create("/t", b"before")
    server.kill()
    eventually(lambda: zk.connection is Connection.SUSPENDED)
    began = time.monotonic()
    with pytest.raises(NotConnected):
        zk.set("/t", b"from a former leader")
    assert time.monotonic() - began < 0.1
    server.start()
    eventually(lambda: zk.connection is Connection.CONNECTED)
    time.sleep(0.5)
    assert zk.get("/t").data == b"before"


def test_what_kazoo_would_queue_does_not_land_after_reconnect(server, zk):
    """Below our own check of the state: between the check and the request the connection may break."""
    zk.create("/t", b"before")
    server.kill()
    eventually(lambda: zk.connection is Connection.SUSPENDED)
    result = zk._client.set_async("/t", b"late")
    with pytest.raises(Exception, match=r".*"):
        result.get(timeout=1)
    server.start()
    eventually(lambda: zk.connection is Connection.CONNECTED)
    time.sleep(0.5)
    assert zk.get("/t").data == b"before"


def test_the_session_survives_a_restart_of_the_server(server):
    zk = connect(server.hosts, 30.0)  # longer than a busy machine takes to start a server and to find it again
    try:
        path = zk.create("/eph", ephemeral=True)
        session = zk.session_id
        server.kill()
        server.start()
        eventually(lambda: zk.connection is Connection.CONNECTED)
        assert zk.session_id == session
        assert present(zk.confirm([path])[0]).owner == session
    finally:
        zk.close()


def test_a_server_that_never_answers_does_not_cost_the_session(server):
    """One that is just starting may take a connection and forget it; kazoo waits there while the session ends."""
    zk = connect(server.hosts, 12.0)
    try:
        session = zk.session_id
        server.kill()
        with socket.create_server((server.host, server.port)) as silent:
            silent.settimeout(10)
            forgotten, _ = silent.accept()
            began = time.monotonic()
        server.start()
        with forgotten:
            eventually(lambda: zk.connection is Connection.CONNECTED)
        assert time.monotonic() - began < 11
        assert zk.session_id == session
    finally:
        zk.close()


def test_a_frozen_server_is_left_though_requests_go_on(server, zk):
    """Requests count as pings for kazoo: it would go on believing in the connection."""
    done = threading.Event()

    def ask() -> None:
        while not done.wait(0.2):
            zk._client.exists_async("/")

    busy = threading.Thread(target=ask)
    busy.start()
    server.pause()
    began = time.monotonic()
    with pytest.raises(NotConnected):
        zk.confirm(["/"])
    assert time.monotonic() - began < zk.request_timeout + 1
    eventually(lambda: zk.connection is Connection.SUSPENDED, 1.5)
    done.set()
    busy.join()
    server.resume()
    eventually(lambda: zk.connection is Connection.CONNECTED)


def test_a_lost_session_is_told_and_replaced(server, zk):
    states: list[Connection] = []
    seen: list[Change] = []
    zk.on_connection(states.append)
    path = zk.create("/eph", ephemeral=True)
    zk.exists(path, lambda change, _: seen.append(change))
    session = zk.session_id
    end_session(server.hosts, zk)
    eventually(lambda: Connection.CONNECTED in states[-1:] and zk.session_id != session)
    assert Connection.LOST in states
    assert seen
    assert zk.exists(path) is None


def test_a_request_on_an_ended_session_says_so(server, zk):
    end_session(server.hosts, zk)
    with pytest.raises(NotConnected) as caught:
        for _ in range(1000):
            zk.get("/")
            time.sleep(0.001)
    assert isinstance(caught.value, SessionLost | NotConnected)


def end_session(hosts: str, coordinator: ZookeeperCoordinator) -> None:
    twin = KazooClient(hosts, client_id=coordinator._client.client_id, timeout=4.0)
    twin.start()
    twin.stop()
    twin.close()


def test_every_create_gives_its_acl(server, zk):
    zk.create("/a/b/c", b"", parents=True)
    zk.multi([Create("/a/m")])
    raw = KazooClient(server.hosts)
    raw.start()
    for path in ("/a", "/a/b", "/a/b/c", "/a/m"):
        assert raw.get_acls(path)[0] == OPEN_ACL_UNSAFE
    raw.stop()
    raw.close()


def test_a_callback_that_raises_does_not_harm_the_connection(server, zk):
    def bad(change: Change, path: str) -> None:
        raise RuntimeError("in a watch")

    zk.create("/w")
    zk.get("/w", bad)
    zk.set("/w", b"1")
    time.sleep(0.2)
    assert zk.get("/w").data == b"1"
    with pytest.raises(NodeMissing):
        zk.get("/none")


def test_closing_is_bounded_while_the_server_is_frozen(server):
    coordinator = connect(server.hosts, 2.0)
    server.pause()
    began = time.monotonic()
    coordinator.close()
    assert time.monotonic() - began < 6
    server.resume()


def test_closing_ends_the_session_at_once(server, zk):
    other = connect(server.hosts, 4.0)
    path = other.create("/eph", ephemeral=True)
    other.close()
    assert zk.exists(path) is None
    with pytest.raises(NotConnected):
        other.get("/")
