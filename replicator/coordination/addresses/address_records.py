"""The payloads of the address book and of the addresses that tasks have accepted; read and written by `records`."""

from __future__ import annotations

import msgspec

from replicator.coordination.records import Record


class AddressChange(msgspec.Struct, frozen=True, omit_defaults=True):
    """One value of an address: role "primary" or "replica", and who set it, when and why."""

    address: str
    role: str = "primary"
    by: str = ""
    time_ms: int = 0
    reason: str = ""


class AddressRecord(Record):
    """/ddns/APP/DOMAIN: `earlier`: the values before the present one, newest first."""

    present: AddressChange
    earlier: list[AddressChange] = msgspec.field(default_factory=list)


class ProbeRecord(Record):
    """/ddns/APP/DOMAIN/probe: whether `address` answers, since when, and why not. Written when that changes."""

    address: str
    answers: bool
    since_ms: int
    code: str = ""
    found: str = ""
    by: str = ""


class AcceptedAddress(msgspec.Struct, frozen=True, omit_defaults=True):
    """The address that a task connects to, from its `name` in the book. `cluster`: id of the Kafka cluster behind it,
    "" for a database server."""

    name: str
    address: str
    time_ms: int = 0
    cluster: str = ""


class TaskAddressesRecord(Record):
    """/tasks/TASK/addresses: by "source" and "sink", the addresses that have passed the checks last. `uid`: of the
    task's incarnation."""

    uid: str = ""
    accepted: dict[str, AcceptedAddress] = msgspec.field(default_factory=dict)
