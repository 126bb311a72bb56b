"""A Server on a loopback port over any coordinator, and Cores that only look alive: for tests of API and CLI."""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn

from dev import plain_http
from replicator.assembly.table_definitions import TableDefinitions
from replicator.coordination.access import passwords
from replicator.coordination.clock import now_ms
from replicator.coordination.in_memory.coordinator import MemoryCoordinator, MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.coordination.leadership.election import Election
from replicator.coordination.machines.machines import Machines
from replicator.coordination.ports import Coordinator
from replicator.coordination.records import InstanceRecord, MachineRecord, TaskFigures
from replicator.telemetry import hosts
from replicator.telemetry.http import Address, bind, configuration
from replicator.telemetry.listen import DEFAULT_LIMITS, Limits
from replicator.telemetry.login_throttle import LoginThrottle
from replicator.telemetry.refusals import Note, nowhere
from replicator.telemetry.server_certificate import ServerCertificate
from server.app import Access, create_app

TOKEN = "test-token-0123456789"
CHEAP: passwords.Cost = (1 << 10, 8, 1)
"""Of passwords of tests, which are hashed for each test."""

TASK = """\
name: copy_hot_item
source:
  type: mysql
  host: 127.0.0.1
  port: 3306
  user: replicator
  password: env:REPL_PASSWORD
  tables: ["shop.*", "crm.customer"]
sink:
  type: kafka
  bootstrap_servers: ["127.0.0.1:9092"]
"""


@contextmanager
def serving(
    app: Any,
    *,
    certificate: ServerCertificate | None = None,
    limits: Limits = DEFAULT_LIMITS,
    free_logins: int = 1_000_000,
    refused: Note = nowhere,
) -> Iterator[str]:
    """The URL of `app`, served from a thread as `telemetry.http.serve` does it. free_logins: that may fail without a
    wait. refused: see there."""
    address = Address("127.0.0.1", 0, "https" if certificate is not None else "http")
    bound = bind(address)
    own = hosts.names("127.0.0.1", "127.0.0.1")
    throttle = LoginThrottle(free=free_logins)
    made = configuration(app, own, certificate, limits, lifespan="off", throttle=throttle, refused=refused)
    server = uvicorn.Server(made)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield address._replace(port=bound.getsockname()[1]).url
    finally:
        server.should_exit = True
        thread.join(timeout=10)
        bound.close()


class Bus:
    """An API over a coordinator, and what a test needs to play the Cores."""

    def __init__(self, coordinator: MemoryCoordinator, layout: Layout, url: str) -> None:
        self.coordinator = coordinator
        self.layout = layout
        self.url = url

    def client(self) -> httpx.Client:
        headers = {"authorization": f"Bearer {TOKEN}"}
        return plain_http.client(f"{self.url}/api/v1", headers=headers)


class World:
    """The API in memory, a client with the token, and Cores on demand."""

    def __init__(self, bus: Bus, ensemble: MemoryEnsemble, http: httpx.Client) -> None:
        self.bus = bus
        self.ensemble = ensemble
        self.http = http

    def core(self, host: str) -> FakeCore:
        return FakeCore(self.ensemble.session(), self.bus.layout, host)


class FakeCore:
    """Stands for a task and publishes figures, with a session of its own."""

    def __init__(self, coordinator: Coordinator, layout: Layout, host: str) -> None:
        self.coordinator = coordinator
        self.host = host
        self.guid = uuid.uuid4().hex
        self._election = Election(coordinator, layout)
        self._machines = Machines(coordinator, layout)

    def stand(self, task: str, state: str, online: bool = True, **figures: Any) -> FakeCore:
        record = InstanceRecord(host=self.host, pid=42, process=self.guid, since_ms=now_ms(), state=state)
        self._election.stand(task, self.guid, record)
        mine = self._election.field(task).own(self.guid, self.coordinator.session_id)
        assert mine is not None
        self._election.describe(task, mine.name, record)
        if online:
            self._machines.publish(
                self.host,
                MachineRecord(
                    host=self.host,
                    pid=42,
                    process=self.guid,
                    started_ms=now_ms(),
                    time_ms=now_ms(),
                    tasks={task: TaskFigures(state=state, guid=self.guid, **figures)},
                ),
            )
        return self

    def leave(self, task: str) -> None:
        self._election.withdraw(task, self.guid)


class Switch:
    """An application that hands on to another, so that one port serves a fresh API for each test."""

    app: Any = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.app(scope, receive, send)


@contextmanager
def memory_worlds() -> Iterator[Callable[[], World]]:
    """Gives a function that makes a world of its own, in memory, behind the one port."""
    switch = Switch()
    with serving(switch) as url, plain_http.client() as http:

        def make() -> World:
            ensemble = MemoryEnsemble()
            coordinator, layout = ensemble.session(), Layout()
            switch.app = create_app(coordinator, layout, Access(TOKEN), TableDefinitions)
            http.base_url = f"{url}/api/v1"
            http.headers["authorization"] = f"Bearer {TOKEN}"
            return World(Bus(coordinator, layout, url), ensemble, http)

        yield make
