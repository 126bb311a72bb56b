from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from core.reachability import Reachability, speaks_http
from dev.servers.authority import Authority
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


def test_a_round_says_for_each_task_what_is_reached(greeting: int) -> None:
    nobody = free_port()
    tasks = {"one": config(greeting, greeting), "two": config(nobody), "three": config(greeting, nobody)}
    for name, port in (("four", greeting), ("five", nobody)):
        registry = {"url": [f"http://127.0.0.1:{nobody}", f"http://127.0.0.1:{port}/registry"]}
        tasks[name] = {**config(greeting), "sink": {"debezium": {"schema_registry": registry}}}
    with ThreadPoolExecutor(2) as pool:
        found = Reachability(lambda: tasks).round(pool)
    assert found == {
        "one": {"source": True, "sink": True},
        "two": {"source": False, "sink": True},
        "three": {"source": True, "sink": False},
        "four": {"source": True, "sink": True, "registry": True},
        "five": {"source": True, "sink": True, "registry": False},
    }


def test_a_registry_with_tls(tmp_path: Path) -> None:
    """One that no Core trusts and one without TLS are there; one that closes or refuses connections is not."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*Authority(tmp_path, "ours").leaf("127.0.0.1"))
    with socket.create_server(("127.0.0.1", 0)) as server:
        url = f"https://127.0.0.1:{server.getsockname()[1]}"

        def serve() -> None:
            connection, _ = server.accept()
            with contextlib.suppress(OSError), context.wrap_socket(connection, server_side=True) as wrapped:
                wrapped.recv(1)
            connection, _ = server.accept()
            connection.recv(100)
            connection.sendall(b"HTTP/1.0 400 Bad Request\r\n\r\n")
            connection.close()
            server.accept()[0].close()

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert [speaks_http(url) for _ in range(3)] == [True, True, False]
        thread.join(10)
    assert not speaks_http(f"https://127.0.0.1:{free_port()}")
