"""`replicator core` as a process: it comes up, says so once, and ends as it is told."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from replicator.coordination.layout import Layout
from replicator.coordination.machines.stopped import StoppedCores
from replicator.coordination.overview import Overview
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import connect
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers
REPLICATOR = str(Path(sys.executable).with_name("replicator"))
Start = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def start() -> Iterator[Start]:
    started: list[subprocess.Popen[str]] = []

    def starting(hosts: str, root: str, host: str = "host-a", *more: str) -> subprocess.Popen[str]:
        command = [REPLICATOR, "core", "--zookeeper", hosts, "--root", root, "--host", host, "--session-timeout", "2"]
        started.append(
            subprocess.Popen(
                [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
            )
        )
        return started[-1]

    yield starting
    for process in started:
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=10)


@pytest.fixture
def root() -> str:
    return f"/cli-{uuid.uuid4().hex}"


def first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def test_one_line_when_it_is_up_and_exit_0_on_sigterm(zookeeper, start, root):
    process = start(zookeeper.hosts, root)
    line = first_line(process)
    assert line.startswith(f"core host-a: up, pid {process.pid}, zookeeper {zookeeper.hosts} (session 2 s)")
    process.send_signal(signal.SIGTERM)
    out, err = process.communicate(timeout=15)
    assert process.returncode == 0
    assert out == ""
    assert "Traceback" not in err


def test_stop_ends_one_core_and_leaves_the_others_alone(zookeeper, start, root, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    one, other = start(zookeeper.hosts, root), start(zookeeper.hosts, root, "host-b")
    elsewhere = start(zookeeper.hosts, root, "host-c", "--pid-file", str(tmp_path / "mine.pid"))
    for process in (one, other, elsewhere):
        first_line(process)

    def stop(*arguments: str) -> tuple[int, str]:
        done = subprocess.run([REPLICATOR, "core", "stop", *arguments], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stdout + done.stderr

    status, said = stop("--root", root)
    assert status == 4 and f"pid {one.pid}" in said and f"pid {other.pid}" in said and str(elsewhere.pid) not in said
    assert stop("--root", root, "--host", "host-a")[0] == 0
    assert one.wait(5) == 0
    assert stop("--pid-file", str(tmp_path / "mine.pid"))[0] == 0
    assert elsewhere.wait(5) == 0 and other.poll() is None
    other.kill()
    other.wait(5)
    assert stop("--root", root)[0] == 3, "its pid file is stale"


def test_ctrl_c_right_after_the_start(zookeeper, start, root):
    process = start(zookeeper.hosts, root)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=15)
    assert process.returncode in (0, 130)
    assert "Traceback" not in err


def test_a_named_task_is_registered_and_left_again(zookeeper, start, root):
    zk = connect(zookeeper.hosts)
    overview = Overview(zk, Layout(root))
    process = start(zookeeper.hosts, root, "host-a", "--task", "copy_hot_item")
    first_line(process)
    eventually(lambda: overview.task("copy_hot_item").state == "unconfigured")
    process.send_signal(signal.SIGTERM)
    assert process.wait(15) == 0
    assert overview.task("copy_hot_item").state == "absent"
    assert overview.machines() == []
    ended = StoppedCores(zk, Layout(root))
    assert list(ended.list()) == ["host-a"], "it ended on request"
    first_line(start(zookeeper.hosts, root))
    eventually(lambda: ended.list() == {})
    zk.close()


def test_zookeeper_down_at_the_start_is_said_clearly_and_waited_for(make_zookeeper, start, root):
    server = make_zookeeper(tick_time=500)
    server.kill()
    process = start(server.hosts, root)
    said = next((line for line in process.stderr if "E4001" in line), "")
    assert "connection refused" in said, "it ended and did not say so"
    assert process.poll() is None
    server.start()
    assert "up" in first_line(process)
    assert next((line for line in process.stderr if "zookeeper is connected again" in line), "")
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=15)
    assert process.returncode == 0, err
    assert len(err.splitlines()) < 15, err


def test_a_second_signal_ends_at_once(make_zookeeper, start, root):
    server = make_zookeeper(tick_time=500)
    process = start(server.hosts, root)
    first_line(process)
    server.pause()
    process.send_signal(signal.SIGTERM)
    time.sleep(0.3)
    process.send_signal(signal.SIGTERM)
    began = time.monotonic()
    process.wait(5)
    assert time.monotonic() - began < 4, "the first one waits for ZooKeeper, and a drain for longer"
    server.resume()


def test_the_same_host_twice_says_who_the_other_is(zookeeper, start, root):
    first = start(zookeeper.hosts, root, "twin")
    first_line(first)
    second = start(zookeeper.hosts, root, "twin")
    assert first_line(second).startswith("core twin~")
    second.send_signal(signal.SIGTERM)
    _, err = second.communicate(timeout=15)
    assert "E5002" in err
    assert str(first.pid) in err


def test_a_session_that_was_slept_through_is_replaced(zookeeper, start, root):
    zk = connect(zookeeper.hosts)
    Registry(zk, Layout(root)).create("t", {"name": "t", "garbage": 1}, "test")
    overview = Overview(zk, Layout(root))
    process = start(zookeeper.hosts, root)
    first_line(process)
    before = eventually(lambda: overview.task("t").running)
    os.kill(process.pid, signal.SIGSTOP)
    eventually(lambda: overview.task("t").running is None)
    os.kill(process.pid, signal.SIGCONT)
    after = eventually(lambda: overview.task("t").running)
    assert after.epoch > before.epoch
    assert eventually(lambda: overview.task("t").problems)[0]["code"].startswith("E1")
    zk.close()


def test_systemd_is_told_that_it_is_up_alive_and_stopping(zookeeper, start, root, tmp_path, monkeypatch):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(30)
        monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
        monkeypatch.setenv("WATCHDOG_USEC", "3000000")
        process = start(zookeeper.hosts, root)
        heard = [systemd.recv(4096).decode()]
        assert heard[0].startswith("READY=1\nSTATUS=waiting for ZooKeeper")
        first_line(process)
        while heard.count("WATCHDOG=1") < 3 or not any("STATUS=up as host-a" in message for message in heard):
            heard.append(systemd.recv(4096).decode())
        process.send_signal(signal.SIGTERM)
        while not heard[-1].startswith("STOPPING=1"):
            heard.append(systemd.recv(4096).decode())
        assert process.wait(15) == 0
