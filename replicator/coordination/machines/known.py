"""Which machines there are, and whether each is online, missing, or has ended on purpose. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

import msgspec

from replicator.coordination.machines.expected import Expectation
from replicator.coordination.machines.machines import MachineNode
from replicator.coordination.records import StoppedRecord

State = Literal["online", "silent", "offline", "stopped"]
SILENT_SECONDS: Final = 5.0
"""A machine reports once a second; five missed reports are worth a word."""
SHOWN_STOPPED_MS: Final = 24 * 3600 * 1000
"""For so long a machine is shown that has ended on purpose, unless an operator expects it."""


class KnownMachine(msgspec.Struct, frozen=True, kw_only=True):
    """
    Attributes:
        state: "online"; "silent": its znode is there, but it has stopped reporting; "offline": it is expected and not
            there; "stopped": it has ended on purpose.
        node: None unless it is online or silent.
        since_ms: when it ended on purpose, else 0.
    """

    name: str
    state: State
    node: MachineNode | None = None
    expectation: Expectation | None = None
    since_ms: int = 0


def all_online(cores: Iterable[MachineNode], agents: Iterable[MachineNode]) -> list[MachineNode]:
    """A host with both is shown once, as that of the Core."""
    return list({node.name: node for node in (*agents, *cores)}.values())


def known(
    online: Iterable[MachineNode],
    expected: Mapping[str, Expectation],
    stopped: Mapping[str, StoppedRecord],
    now_ms: int,
) -> list[KnownMachine]:
    """All machines by name: those that are there, and those that are expected or ended within a day."""
    nodes = {node.name: node for node in online}
    found = []
    for name in sorted({*nodes, *expected, *stopped}):
        expectation, node, end = expected.get(name), nodes.get(name), stopped.get(name)
        if node is not None:
            state: State = "silent" if node.age_s > SILENT_SECONDS else "online"
            found.append(KnownMachine(name=name, state=state, node=node, expectation=expectation))
        elif end is not None:
            if _is_shown(end, expectation, now_ms):
                found.append(KnownMachine(name=name, state="stopped", expectation=expectation, since_ms=end.time_ms))
        else:
            found.append(KnownMachine(name=name, state="offline", expectation=expectation))
    return found


def _is_shown(end: StoppedRecord, expectation: Expectation | None, now_ms: int) -> bool:
    ordered = expectation is not None and not expectation.record.learned
    return ordered or end.time_ms >= now_ms - SHOWN_STOPPED_MS
