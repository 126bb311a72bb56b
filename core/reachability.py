"""Checks whether this host reaches the source and the sink of each task in whose election it takes part.

Every Core publishes its answers, so that a leader that has lost its source, its sink or its schema registry knows which
standby has not. The requests need no account: MySQL greets every client, Kafka lists the requests that it supports, and
a registry refuses in HTTP or in TLS.
"""

from __future__ import annotations

import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

from replicator.config.addresses import Address, addresses
from replicator.net.greetings import unanswered

T = TypeVar("T")

INTERVAL: Final = 5.0
_TIMEOUT: Final = 2.0
_HEAD: Final = b"HEAD / HTTP/1.0\r\n\r\n"


def greets(address: Address) -> bool:
    """A MySQL or MariaDB server, or an error packet of one: it is there."""
    return not unanswered(address, "database")


def knows_requests(address: Address) -> bool:
    """A Kafka broker."""
    return not unanswered(address, "kafka")


def speaks_http(url: str) -> bool:
    """A server of a schema registry. Of one with TLS any answer in TLS counts: whether we trust each other is for the
    worker to say."""
    parts = urlsplit(url)
    address = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
    if parts.scheme != "https":
        return _answers(address, _HEAD)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(address, timeout=_TIMEOUT) as connection,
            context.wrap_socket(connection, server_hostname=parts.hostname),
        ):
            return True
    except ssl.SSLEOFError:
        return False
    except ssl.SSLError:
        return True  # an alert, or something else than TLS
    except OSError:
        return False


def _answers(address: Address, question: bytes) -> bool:
    try:
        with socket.create_connection(address, timeout=_TIMEOUT) as connection:
            connection.sendall(question)
            return bool(connection.recv(1))
    except OSError:
        return False


def sources(config: Mapping[str, Any]) -> tuple[Address, ...]:
    return _servers(config.get("source") or {})


def brokers(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sinks that are no Kafka cluster."""
    return addresses((config.get("sink") or {}).get("bootstrap_servers") or ())


def targets(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sinks that are no database server."""
    sink = config.get("sink") or {}
    return _servers(sink) if sink.get("type") in ("mysql", "mariadb") else ()


def _servers(section: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for a name of the address book that has no address."""
    if section.get("address"):
        return ()
    hosts = section.get("hosts") or [f"{section.get('host', '127.0.0.1')}:{section.get('port', 3306)}"]
    return addresses(hosts)


def _unresolved(config: Mapping[str, Any], section: str) -> bool:
    return bool((config.get(section) or {}).get("address"))


def registries(config: Mapping[str, Any]) -> tuple[str, ...]:
    """URLs of the schema registry's servers; () where there is none."""
    options = (config.get("sink") or {}).get("debezium") or {}
    url = (options.get("schema_registry") or {}).get("url") or ()
    return (url,) if isinstance(url, str) else tuple(url)


class Reachability:
    """Probes in a separate thread; each address once a round, however many tasks use it.

    Args:
        configs: of the tasks that this Core takes part in, by name.
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
        """{"source": ..., "sink": ...}, with "registry" where the task has one, as of the last round; {} before the
        first one."""
        return self._known.get(task, {})

    def _run(self) -> None:
        with ThreadPoolExecutor(4, thread_name_prefix="reach") as pool:
            while not self._stopped.wait(INTERVAL):
                self._known = self.round(pool)

    def round(self, pool: ThreadPoolExecutor) -> dict[str, dict[str, bool]]:
        """One answer for each task. A sink without an address is on this host, and reached."""
        configs = self._configs()
        servers = [*map(sources, configs.values()), *map(targets, configs.values())]
        greeted = _asked(pool, greets, servers)
        asked = _asked(pool, knows_requests, map(brokers, configs.values()))
        spoke = _asked(pool, speaks_http, map(registries, configs.values()))
        found = {}
        for task, config in configs.items():
            of_sink = [asked[address] for address in brokers(config)]
            of_sink += [greeted[address] for address in targets(config)]
            of_registry = registries(config)
            found[task] = {
                "source": any(greeted[address] for address in sources(config)),
                "sink": (not of_sink and not _unresolved(config, "sink")) or any(of_sink),
            }
            if of_registry:
                found[task]["registry"] = any(spoke[url] for url in of_registry)
        return found


def _asked(pool: ThreadPoolExecutor, question: Callable[[T], bool], places: Iterable[tuple[T, ...]]) -> dict[T, bool]:
    """The answer of each place, which is asked once."""
    different = {place for each in places for place in each}
    return dict(zip(different, pool.map(question, different), strict=True))
