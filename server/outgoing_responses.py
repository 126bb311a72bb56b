"""Response types of the list of outgoing addresses."""

from __future__ import annotations

import msgspec

from replicator.config.destinations import Destination
from replicator.host.addresses import HostPort
from server.responses import View


class RefusedAddress(msgspec.Struct, kw_only=True):
    """An address that a list never allows, and the key of the task's configuration that has it."""

    task: str
    key: str
    address: str


class Outgoing(View, kw_only=True):
    """The cluster's list of outgoing addresses. `limited` false: there is none, and every address is allowed;
    `version`: -1 for a list that was never written."""

    kind: str = "Outgoing"
    limited: bool
    entries: list[str]
    version: int
    changed_by: str
    changed_ms: int
    reason: str
    refused: list[RefusedAddress]


def refused_address(task: str, destination: Destination) -> RefusedAddress:
    address = str(HostPort(destination.host, destination.port))
    return RefusedAddress(task=task, key=destination.key, address=address)
