"""Decides which address a worker connects to. Pure.

A task stays at the address that it has accepted until another one has passed the checks. Every start tries the address
of the book first, under the checks, unless that one was refused just now; a worker that runs checks a new address
beside its work, and is ended at a transaction boundary only when it passes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from replicator.coordination.addresses.task_addresses import TaskAddress
from replicator.errors import ProcessError


class AddressPlan(msgspec.Struct, frozen=True):
    """What a worker is to do with one address.

    Attributes:
        section, name: see `TaskAddress`.
        address: to connect to.
        former: the accepted one, to which the task returns if `address` is refused; "": there is none.
        proposal: to be checked while the worker runs; "": none.
        recorded: `address` is the accepted one already.
        cluster: id of the Kafka cluster of the accepted one, "" where it is not known.
    """

    section: str
    name: str
    address: str
    former: str = ""
    proposal: str = ""
    recorded: bool = False
    cluster: str = ""

    @property
    def on_trial(self) -> bool:
        return bool(self.former)


def plan(address: TaskAddress, refused: str = "") -> AddressPlan:
    """`refused`: an address that was refused since it was set. Raises ProcessError: there is none to connect to."""
    section, name, wanted, known = address.section, address.name, address.wanted, address.accepted
    if known is None:
        if not wanted:
            problem = address.problem or {}
            fields = {key: problem[key] for key in ("found", "wanted", "fix") if key in problem}
            raise ProcessError(
                problem.get("code", "E4101"), problem.get("what", f"there is no address {name}"), **fields
            )
        return AddressPlan(section, name, wanted)
    at_known = AddressPlan(section, name, known.address, recorded=True, cluster=known.cluster)
    if not wanted or wanted == known.address:
        return at_known
    if wanted == refused:
        return msgspec.structs.replace(at_known, proposal=wanted)
    return AddressPlan(section, name, wanted, former=known.address, cluster=known.cluster)


def plans(addresses: Sequence[TaskAddress], refused: Mapping[str, str]) -> tuple[AddressPlan, ...]:
    """`refused`: by section."""
    return tuple(plan(address, refused.get(address.section, "")) for address in addresses)


def proposed(plan: AddressPlan, wanted: str) -> str:
    """What a running worker is to check; "": nothing, it is where it should be."""
    return wanted if wanted and wanted != plan.address else ""


def unusable(addresses: Sequence[TaskAddress]) -> dict[str, str] | None:
    """Why the task can't be connected; None: it can."""
    return next((one.problem for one in addresses if one.problem is not None and one.accepted is None), None)
