"""Counts the connections of a listener, in all and by client address, and decides about one more. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable

from replicator.host.network import is_loopback, numeric
from replicator.telemetry.listen import Limits


class Connections:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._addresses: dict[Hashable, str] = {}
        self._counted: Counter[str] = Counter()

    def __len__(self) -> int:
        return len(self._addresses)

    @property
    def full(self) -> bool:
        return len(self._addresses) >= self._limits.connections

    def too_many_of(self, address: str) -> bool:
        most = self._limits.connections_per_address
        return not is_loopback(address) and self._counted[network(address)] >= most

    def enter(self, connection: Hashable, address: str) -> None:
        self._addresses[connection] = key = network(address)
        self._counted[key] += 1

    def leave(self, connection: Hashable) -> None:
        """May be called more than once."""
        key = self._addresses.pop(connection, None)
        if key is None:
            return
        self._counted[key] -= 1
        if not self._counted[key]:
            del self._counted[key]


def network(address: str) -> str:
    """What counts as one client: an IPv4 address, or the /64 of an IPv6 address, of which a host has all."""
    found = numeric(address)
    if found is None:
        return address
    if found.version == 6:
        mapped = found.ipv4_mapped
        return str(mapped) if mapped is not None else found.exploded[:19]
    return str(found)
