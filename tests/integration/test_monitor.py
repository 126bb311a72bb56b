"""`replicator monitor` as a process of its own, on a real ZooKeeper that goes and comes back."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dev import plain_http
from replicator.coordination.layout import DEFAULT_ROOT, Layout
from replicator.coordination.tasks.registry import Registry
from replicator.zookeeper.client import connect
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers
PROGRAM = "from monitor.cli import command; command()"


@contextmanager
def monitor(hosts: str, *more: str, root: str = DEFAULT_ROOT) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """The process and its address."""
    arguments = [sys.executable, "-c", PROGRAM, "--zookeeper", hosts, "--listen", "127.0.0.1:0", "--root", root]
    arguments += ["--session-timeout", "3", *more]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield process, process.stdout.readline().strip()
        finally:
            process.kill()


def read(url: str, path: str) -> str:
    return plain_http.get(url + path).text


def status(url: str, path: str) -> int:
    return plain_http.get(url + path).status_code


def test_zookeeper_goes_and_comes_back(make_zookeeper: Any) -> None:
    zookeeper = make_zookeeper(tick_time=500)
    coordinator = connect(zookeeper.hosts, session_timeout=3.0)
    Registry(coordinator, Layout()).create("copy_hot_item", {"name": "copy_hot_item"}, "test")
    coordinator.close()
    with monitor(zookeeper.hosts) as (process, url):
        eventually(lambda: status(url, "/healthz/ready") == 200)
        assert "copy_hot_item" in plain_http.get(url).text
        zookeeper.kill()
        eventually(lambda: status(url, "/healthz/ready") == 503)
        page = eventually(lambda: text if "No data from ZooKeeper since" in (text := read(url, "/")) else None)
        assert "copy_hot_item" in page and f'<span class="mono">{zookeeper.hosts}</span>' in page
        assert status(url, "/healthz") == 200 and "zookeeper: no data since " in read(url, "/healthz")
        assert "bus_zookeeper_connected 0.0" in read(url, "/metrics") and "bus_task_state" not in read(url, "/metrics")
        zookeeper.start()
        eventually(lambda: status(url, "/healthz/ready") == 200)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
        assert process.stderr is not None
        log = process.stderr.read()
        assert log.index("no data from zookeeper") < log.index("zookeeper answers again")


def test_zookeeper_down_at_start() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
    with monitor(f"127.0.0.1:{port}") as (process, url):
        assert status(url, "/healthz") == 200
        assert status(url, "/healthz/ready") == 503
        assert "zookeeper: nothing was ever read since the start at " in read(url, "/healthz")
        process.send_signal(signal.SIGINT)
        assert process.wait(15) == 0


def test_port_in_use() -> None:
    program = "from replicator.cli.main import main; import sys; sys.exit(main())"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        listen = f"127.0.0.1:{taken.getsockname()[1]}"
        arguments = ["monitor", "--zookeeper", "127.0.0.1:1", "--listen", listen]
        done = subprocess.run(
            [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=60, check=False
        )
    assert done.returncode == 1
    assert "E5001" in done.stderr and "Traceback" not in done.stderr
