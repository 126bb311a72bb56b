from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from core.reachability import Reachability, sinks, sources
from dev.servers.ports import free_port


@pytest.fixture
def greeting() -> Iterator[int]:
    """Says something to whoever connects."""
    port = free_port()
    with socket.create_server(("127.0.0.1", port)) as server:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.sendall(b"hello")
                    connection.close()

        threading.Thread(target=serve, daemon=True).start()
        yield port


def config(port: int, sink: int | None = None) -> dict[str, object]:
    where: dict[str, object] = {"bootstrap_servers": [f"127.0.0.1:{sink}"]} if sink else {"path": "/x"}
    return {"source": {"host": "127.0.0.1", "port": port}, "sink": where}


def test_addresses() -> None:
    assert sources({"source": {"hosts": ["a:1", "[::1]:2"]}}) == (("a", 1), ("::1", 2))
    assert sources({"source": {}}) == (("127.0.0.1", 3306),)
    assert sinks({"sink": {"bootstrap_servers": ["b:9", "rubbish"]}}) == (("b", 9),)
    assert sinks({}) == ()


def test_a_round_says_for_each_task_what_is_reached(greeting: int) -> None:
    nobody = free_port()
    tasks = {"one": config(greeting, greeting), "two": config(nobody), "three": config(greeting, nobody)}
    with ThreadPoolExecutor(2) as pool:
        found = Reachability(lambda: tasks).round(pool)
    assert found == {
        "one": {"source": True, "sink": True},
        "two": {"source": False, "sink": True},
        "three": {"source": True, "sink": False},
    }
