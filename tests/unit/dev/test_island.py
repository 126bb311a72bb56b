from __future__ import annotations

import os
import socket
import subprocess
import sys

import pytest

from dev.faults.island import Island
from dev.servers.ports import free_port

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


def test_only_what_has_a_door_can_be_reached() -> None:
    port, other = free_port(), free_port()
    with socket.create_server(("127.0.0.1", port)) as server, socket.create_server(("127.0.0.1", other)):
        ask = (
            f"import socket; s = socket.create_connection(('127.0.0.1', {port}), 5); s.sendall(b'x'); print(s.recv(9))"
        )
        with Island({"one": port}) as island:
            child = subprocess.Popen([*island.enter, sys.executable, "-c", ask], stdout=subprocess.PIPE)
            connection, _ = server.accept()
            assert connection.recv(1) == b"x"
            connection.sendall(b"y")
            connection.close()
            assert child.communicate(timeout=10)[0] == b"b'y'\n"
            assert island.doors["one"].passed("up") == 1
            refused = f"import socket; socket.create_connection(('127.0.0.1', {other}), 2)"
            assert subprocess.run([*island.enter, sys.executable, "-c", refused], stderr=subprocess.DEVNULL).returncode
