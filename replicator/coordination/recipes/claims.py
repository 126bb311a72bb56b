"""Decides which claim has a lock, from the names below the lock's node. Pure.

A claim is two ephemeral nodes that are created in one transaction: `KIND-GUID-SEQUENCE`, which gives its place in the
queue, and `witness-GUID`. Both go in one transaction when the claim is given up or its session ends. When a person has
deleted the first one, the witness still shows that the holder may be at work, and nobody else gets the lock.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from enum import Enum
from typing import Literal, TypeAlias

from replicator.coordination.layout import WITNESS, ClaimName, parse_claim

Kind: TypeAlias = Literal["exclusive", "shared"]


class Place(Enum):
    """FIRST: nothing is in front of the claim. ABSENT: the claim is not there, or its witness."""

    FIRST = "first"
    ABSENT = "absent"


def claims(names: Iterable[str]) -> list[ClaimName]:
    """In the order of the queue."""
    return sorted(filter(None, map(parse_claim, names)), key=lambda claim: claim.sequence)


def of(names: Iterable[str], guid: str) -> list[str]:
    """The nodes of one claim."""
    return [name for name in names if name == WITNESS + guid or _guid(name) == guid]


def _guid(name: str) -> str:
    parsed = parse_claim(name)
    return parsed.guid if parsed else ""


def place(names: Sequence[str], guid: str, ignored: Collection[str] = ()) -> Place | str:
    """FIRST, ABSENT, or the name of the one node whose end the claim has to wait for.

    An exclusive claim waits for the one just in front of it, a shared one for the last exclusive one in front of it: a
    release wakes those who can use it, and no others.

    Args:
        ignored: names that do not count, because they are not ephemeral.
    """
    queue = [claim for claim in claims(names) if claim.name not in ignored]
    own = next((claim for claim in queue if claim.guid == guid), None)
    if own is None or WITNESS + guid not in names:
        return Place.ABSENT
    front = [claim for claim in queue if claim.sequence < own.sequence and conflict(own.kind, claim.kind)]
    if front:
        return front[-1].name
    present = {claim.guid for claim in queue}
    orphans = [name for name in sorted(names) if name.startswith(WITNESS) and name not in ignored]
    return next((name for name in orphans if name.removeprefix(WITNESS) not in present), Place.FIRST)


def conflict(one: Kind, other: Kind) -> bool:
    return "exclusive" in (one, other)
