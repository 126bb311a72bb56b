"""Owners of locks over sessions that break, freeze and expire, while people delete claims: never two at once."""

from __future__ import annotations

import contextlib

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import WITNESS, Layout
from replicator.coordination.ports import Connection
from replicator.coordination.recipes.claim_nodes import Owner
from replicator.coordination.recipes.hold import Hold
from replicator.coordination.recipes.locks import Locks
from replicator.errors import CoordinationError, NodeMissing

OWNERS = 3
T = 10.0
LAYOUT = Layout("/r")
BASE = LAYOUT.lock("x")
owners = st.integers(0, OWNERS - 1)


class Owners(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.now = 1000.0
        self.ensemble = MemoryEnsemble(self.clock)
        self.zk = [self.ensemble.session(T) for _ in range(OWNERS)]
        self.people = self.ensemble.session(T)
        owner = Owner(by="o", host="h", pid=1)
        self.locks = [Locks(zk, LAYOUT, owner, clock=self.clock, wall=self.clock) for zk in self.zk]
        self.holds: list[Hold | None] = [None] * OWNERS
        self.highest = 0

    def clock(self) -> float:
        return self.now

    @rule(one=owners, shared=st.booleans())
    def acquire(self, one: int, shared: bool) -> None:
        if self.holds[one] is not None:
            return
        with contextlib.suppress(CoordinationError):
            hold = self.locks[one].acquire("x", "shared" if shared else "exclusive", wait=0)
            self.holds[one] = hold
            if not shared:
                assert hold.token > self.highest
            self.highest = max(self.highest, hold.token)

    @rule(one=owners)
    def release(self, one: int) -> None:
        hold = self.holds[one]
        if hold is not None:
            self.locks[one].release(hold)
            self.holds[one] = None

    @rule(one=owners)
    def keep(self, one: int) -> None:
        self.locks[one].keep()

    @rule(seconds=st.sampled_from([0.5, 2.0, 6.5, 11.0]))
    def time_passes(self, seconds: float) -> None:
        self.now += seconds
        self.ensemble.expire_overdue()

    @rule(one=owners, fault=st.sampled_from(["suspend", "silence", "expire", "lose_reply", "hold_write"]))
    def fault(self, one: int, fault: str) -> None:
        if self.zk[one].connection is Connection.CONNECTED:
            getattr(self.zk[one], fault)()

    @rule(one=owners)
    def recover(self, one: int) -> None:
        if self.zk[one].connection is not Connection.CONNECTED:
            self.zk[one].resume()
        self.zk[one].hear()

    @rule(which=st.integers(0, 5))
    def delete_a_claim_by_hand(self, which: int) -> None:
        with contextlib.suppress(NodeMissing):
            names = [name for name in self.people.children(BASE) if not name.startswith(WITNESS)]
            if names:
                self.people.delete(f"{BASE}/{names[which % len(names)]}")

    @invariant()
    def an_exclusive_owner_is_alone(self) -> None:
        kinds = [hold.kind for hold in self.holds if hold is not None and hold.valid(self.clock, self.clock)]
        assert "exclusive" not in kinds or len(kinds) == 1

    def teardown(self) -> None:
        """In the end the lock is free for the others: no claim is left behind."""
        for one in range(OWNERS):
            self.zk[one].lose_reply(0)
            self.zk[one].hold_write(0)
            self.recover(one)
            self.release(one)
            self.locks[one].keep()
        names = self.people.children(BASE) if self.people.exists(BASE) is not None else []
        assert names == [], names


TestOwners = Owners.TestCase
TestOwners.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
