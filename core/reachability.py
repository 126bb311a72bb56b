"""Checks whether this host reaches the source and the sink of each task in whose election it takes part.

Every Core publishes its answers, so that a leader that has lost its source or its sink knows which standby has not. The
requests need no account: MySQL greets every client, Kafka lists the requests that it supports.
"""

from __future__ import annotations

import socket
import struct
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

from replicator.config.addresses import Address, addresses

INTERVAL: Final = 5.0
_TIMEOUT: Final = 2.0
_API_VERSIONS: Final = struct.pack(">ihhih", 10, 18, 0, 1, -1)  # size, key, version, correlation id, no client id


def greets(address: Address) -> bool:
    """A MySQL or MariaDB server, or an error packet of one: it is there."""
    return _answers(address, b"")


def knows_requests(address: Address) -> bool:
    """A Kafka broker."""
    return _answers(address, _API_VERSIONS)


def _answers(address: Address, question: bytes) -> bool:
    try:
        with socket.create_connection(address, timeout=_TIMEOUT) as connection:
            if question:
                connection.sendall(question)
            return bool(connection.recv(1))
    except OSError:
        return False


def sources(config: Mapping[str, Any]) -> tuple[Address, ...]:
    source = config.get("source") or {}
    hosts = source.get("hosts") or [f"{source.get('host', '127.0.0.1')}:{source.get('port', 3306)}"]
    return addresses(hosts)


def sinks(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sinks that are on this host."""
    return addresses((config.get("sink") or {}).get("bootstrap_servers") or ())


class Reachability:
    """Asks in a thread of its own; each address once a round, however many tasks use it.

    Args:
        configs: of the tasks that this Core stands for, by name.
    """

    def __init__(self, configs: Callable[[], Mapping[str, Mapping[str, Any]]]) -> None:
        self._configs = configs
        self._known: dict[str, dict[str, bool]] = {}
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name="reach", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()

    def of(self, task: str) -> dict[str, bool]:
        """{"source": ..., "sink": ...} as of the last round; {} before the first one."""
        return self._known.get(task, {})

    def _run(self) -> None:
        with ThreadPoolExecutor(4, thread_name_prefix="reach") as pool:
            while not self._stopped.wait(INTERVAL):
                self._known = self.round(pool)

    def round(self, pool: ThreadPoolExecutor) -> dict[str, dict[str, bool]]:
        """One answer for each task. A sink without an address is on this host, and reached."""
        wanted = {task: (sources(config), sinks(config)) for task, config in self._configs().items()}
        greeting = {address for there, _ in wanted.values() for address in there}
        asking = {address for _, there in wanted.values() for address in there}
        greeted = dict(zip(greeting, pool.map(greets, greeting), strict=True))
        asked = dict(zip(asking, pool.map(knows_requests, asking), strict=True))
        return {
            task: {
                "source": any(greeted[address] for address in of_source),
                "sink": not of_sink or any(asked[address] for address in of_sink),
            }
            for task, (of_source, of_sink) in wanted.items()
        }
