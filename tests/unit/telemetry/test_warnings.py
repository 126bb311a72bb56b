"""That a listener is open to the network without TLS stands in log and health checks of Server and Monitor."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable

import httpx
import pytest

from monitor.app import create_app as create_monitor
from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.telemetry.hosts import WITHOUT_TLS, App, guarded, names
from server.app import Access
from server.app import create_app as create_server

PROGRAM = """
import os, signal, sys
from starlette.applications import Starlette
from replicator.telemetry.http import Listen, serve
serve(Starlette(), Listen(sys.argv[1], (), True), "probe", ready=lambda address: os.kill(os.getpid(), signal.SIGTERM))
"""


def server() -> App:
    return create_server(MemoryEnsemble().session(), Layout(), Access("token"), TableDefinitions)


def monitor() -> App:
    return create_monitor(MemoryEnsemble().session(), Layout())


def asked(app: App, path: str, listen: str) -> str:
    """The answer of a process that listens there, to a health check on its own machine."""

    async def ask() -> str:
        transport = httpx.ASGITransport(guarded(app, names(listen, listen)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8080") as client:
            return (await client.get(path)).text

    return asyncio.run(ask())


@pytest.mark.parametrize(("make", "path"), [(server, "/api/v1/health"), (monitor, "/healthz")])
@pytest.mark.parametrize(
    ("listen", "told"), [("127.0.0.1", False), ("::1", False), ("0.0.0.0", True), ("192.0.2.7", True)]
)
def test_health_says_that_a_listener_is_open(make: Callable[[], App], path: str, listen: str, told: bool) -> None:
    assert (WITHOUT_TLS in asked(make(), path, listen)) is told


@pytest.mark.parametrize(("listen", "told"), [("127.0.0.1:0", False), ("0.0.0.0:0", True)])
def test_so_does_the_log(listen: str, told: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, listen], capture_output=True, text=True, timeout=60, check=False, env=os.environ
    )
    assert "probe: listening on" in done.stderr
    assert (f"probe: {WITHOUT_TLS}" in done.stderr) is told
