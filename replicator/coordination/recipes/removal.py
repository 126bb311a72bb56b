"""Ends the claim of another process by force."""

from __future__ import annotations

from replicator.coordination.layout import parse_claim, witness
from replicator.coordination.ports import Coordinator, Delete
from replicator.errors import NodeMissing


def remove_claim(coordinator: Coordinator, path: str) -> None:
    """Removes both nodes of a claim, so that the next one has the lock at once. Its holder may still be at work: only a
    resource that compares fencing tokens is protected from it. Fine where it is gone."""
    base, _, name = path.rpartition("/")
    claim = parse_claim(name)
    if claim is None:
        return
    try:
        coordinator.multi([Delete(path), Delete(witness(base, claim.guid))])
    except NodeMissing:
        return
