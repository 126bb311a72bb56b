"""The lists of outgoing addresses, as the Server reads and writes them, and compares configurations with them.

The Server connects to no server of a task. It refuses configurations whose addresses no Core could connect to, before
they are stored; names that a network may permit are for the Cores to look up.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from replicator.config.destinations import Destination, destinations
from replicator.coordination.layout import Layout
from replicator.coordination.outgoing import Found, OutgoingList
from replicator.coordination.ports import Coordinator
from replicator.errors import ConfigError
from replicator.net.connections import OF_CLUSTER, host_lists, set_cluster_list
from replicator.net.outgoing import AllowList, parse_list, refusal


class Refused(NamedTuple):
    task: str
    destination: Destination


class OutgoingOperations:
    """Thread-safe. Every method raises NotConnected while ZooKeeper is away."""

    def __init__(self, coordinator: Coordinator, layout: Layout) -> None:
        self._list = OutgoingList(coordinator, layout)

    def read(self) -> Found:
        return self._list.read()

    def write(self, entries: Sequence[str] | None, by: str, reason: str, version: int | None) -> Found:
        """None: the list is removed. Raises ConfigError E1051; VersionConflict E4006."""
        if entries is not None:
            parse_list(entries, OF_CLUSTER)
        return self._list.write(entries, by, reason, version)

    def check(self, config: Mapping[str, Any]) -> None:
        """Raises ConfigError E1050 for an address that the list of this Server or of the cluster never allows."""
        for each in self._lists():
            for destination in _never(each, config):
                error = refusal(destination.host, destination.port, (), each)
                raise ConfigError(
                    error.code, error.what, found=f"{destination.key}: {error.found}", wanted=error.wanted
                )

    def check_address(self, host: str, port: int) -> None:
        """Raises ConfigError E1050 likewise."""
        for each in self._lists():
            if not each.may_permit(host, port):
                raise refusal(host, port, (), each)

    def obey(self) -> None:
        """Connections that this process opens from now on obey the list of the cluster."""
        set_cluster_list(self._list.entries())

    def _lists(self) -> tuple[AllowList, ...]:
        entries = self._list.entries()
        return (*host_lists(), *((parse_list(entries, OF_CLUSTER),) if entries is not None else ()))


def refused_by(entries: Sequence[str], configs: Iterable[tuple[str, Mapping[str, Any] | None]]) -> list[Refused]:
    """What tasks connect to and a list of these entries never allows. Raises ConfigError E1051."""
    given = parse_list(entries, OF_CLUSTER)
    return [Refused(name, each) for name, config in configs for each in _never(given, config or {})]


def _never(by: AllowList, config: Mapping[str, Any]) -> list[Destination]:
    return [each for each in destinations(config) if not by.may_permit(each.host, each.port)] if config else []
