"""What systemd is told, over a real datagram socket."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from replicator.host.service_manager import ServiceManager


@pytest.fixture
def systemd(tmp_path: Path) -> Iterator[socket.socket]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(5)
        yield listening


def heard(systemd: socket.socket) -> list[str]:
    systemd.setblocking(False)
    found = []
    while True:
        try:
            found.append(systemd.recv(4096).decode())
        except BlockingIOError:
            return found


def test_a_service_tells_when_it_is_ready_and_when_it_stops(systemd: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.getsockname()})
    manager.ready("all tasks")
    manager.stopping("draining")
    assert heard(systemd) == ["READY=1\nSTATUS=all tasks", "STOPPING=1\nSTATUS=draining"]


def test_a_watched_service_sends_three_messages_within_the_limit(systemd: socket.socket) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.getsockname(), "WATCHDOG_USEC": "60000000"})
    for now in range(100, 160):
        manager.alive(float(now))
    assert heard(systemd) == ["WATCHDOG=1"] * 3


@pytest.mark.parametrize(
    "watchdog", [{}, {"WATCHDOG_USEC": "soon"}, {"WATCHDOG_USEC": "60000000", "WATCHDOG_PID": "1"}]
)
def test_an_unwatched_service_sends_nothing(systemd: socket.socket, watchdog: dict[str, str]) -> None:
    manager = ServiceManager({"NOTIFY_SOCKET": systemd.getsockname(), **watchdog})
    manager.alive(1.0)
    assert heard(systemd) == []


def test_its_own_pid_is_watched(systemd: socket.socket) -> None:
    own = {"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}
    ServiceManager({"NOTIFY_SOCKET": systemd.getsockname(), **own}).alive(1.0)
    assert heard(systemd) == ["WATCHDOG=1"]


def test_an_abstract_socket_is_found() -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(b"\0replicator-test-%d" % os.getpid())
        ServiceManager({"NOTIFY_SOCKET": f"@replicator-test-{os.getpid()}"}).ready("up")
        assert heard(listening) == ["READY=1\nSTATUS=up"]


@pytest.mark.parametrize("path", ["", "/nowhere/at/all", "relative"])
def test_without_a_listener_nothing_fails(path: str) -> None:
    ServiceManager({"NOTIFY_SOCKET": path}).ready("up")
