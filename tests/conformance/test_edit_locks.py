"""The lock to edit a task, over the memory twin and over a real ZooKeeper."""

from __future__ import annotations

import uuid
from collections.abc import Callable

import pytest

from replicator.coordination.layout import Layout
from replicator.coordination.ports import Coordinator
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.overview import locks as overview
from replicator.errors import CoordinationError
from server.edit_locks import EditLocks

ANN = Owner(by="ann", host="laptop", pid=1)
BEA = Owner(by="bea", host="desk", pid=2)


def test_two_servers_one_editor(session: Callable[[], Coordinator]) -> None:
    layout = Layout(f"/edits-{uuid.uuid4().hex}")
    here, there = session(), session()
    one, other = EditLocks(here, layout), EditLocks(there, layout)
    first = one.begin("copy", ANN)
    assert one.begin("copy", ANN) == first
    [shown] = overview(there, layout)
    assert (shown.name, shown.claims[0].by, shown.claims[0].host) == ("task/copy/edit", "ann", "laptop")
    with pytest.raises(CoordinationError) as error:
        other.begin("copy", BEA)
    assert error.value.code == "E4077" and error.value.found.startswith("ann, on laptop")
    taken = other.begin("copy", BEA, force=True)
    assert taken.token > first.token and other.proof("copy", taken.token)
    with pytest.raises(CoordinationError) as lost:
        one.proof("copy", first.token)
    assert lost.value.code == "E4078"
    there.close()  # the Server ends, and its locks with it
    assert one.begin("copy", ANN).token > taken.token
    one.end("copy", ANN)
    assert one.holder("copy") is None
