"""Which claim has a lock, decided from names alone."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from replicator.coordination.layout import WITNESS, claim_prefix
from replicator.coordination.recipes.claims import Place, place


def guid(number: int) -> str:
    return f"{number:032x}"


class Locking(RuleBasedStateMachine):
    """Claims come and go, people delete single nodes, and holders that have lost theirs notice it later."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.kinds: dict[str, str] = {}
        self.holding: set[str] = set()
        self.sequence = 0

    @rule(shared=st.booleans())
    def request(self, shared: bool) -> None:
        one, kind = guid(self.sequence), "shared" if shared else "exclusive"
        self.kinds[one] = kind
        self.names |= {f"{claim_prefix('', kind, one)[1:]}{self.sequence:010d}", WITNESS + one}
        self.sequence += 1

    @precondition(lambda self: self.kinds)
    @rule(data=st.data())
    def look(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(sorted(self.kinds)))
        if place(sorted(self.names), one) is Place.FIRST:
            self.holding.add(one)

    @precondition(lambda self: self.kinds)
    @rule(data=st.data())
    def release_or_expire(self, data: st.DataObject) -> None:
        one = data.draw(st.sampled_from(sorted(self.kinds)))
        self.names = {name for name in self.names if one not in name}
        self.holding.discard(one)
        del self.kinds[one]

    @precondition(lambda self: self.names)
    @rule(data=st.data())
    def delete_a_claim_by_hand(self, data: st.DataObject) -> None:
        claims = sorted(name for name in self.names if not name.startswith(WITNESS))
        if claims:
            self.names.discard(data.draw(st.sampled_from(claims)))

    @invariant()
    def an_exclusive_holder_is_alone(self) -> None:
        kinds = [self.kinds[one] for one in self.holding]
        assert "exclusive" not in kinds or len(kinds) == 1

    @invariant()
    def each_claim_waits_for_a_node_that_is_there_and_never_for_itself(self) -> None:
        for one in self.kinds:
            found = place(sorted(self.names), one)
            if isinstance(found, str):
                assert found in self.names and one not in found

    @invariant()
    def some_claim_is_first_where_no_node_was_deleted(self) -> None:
        whole = all(sum(one in name for name in self.names) == 2 for one in self.kinds)
        if whole and self.kinds:
            assert any(place(sorted(self.names), one) is Place.FIRST for one in self.kinds)


TestLocking = Locking.TestCase


@given(st.integers(2, 30))
def test_a_release_wakes_one_exclusive_claim(number: int) -> None:
    """No two wait for the same node."""
    names = [f"exclusive-{guid(n)}-{n:010d}" for n in range(number)] + [WITNESS + guid(n) for n in range(number)]
    waited = [place(names, guid(n)) for n in range(1, number)]
    assert len(set(waited)) == number - 1


def test_shared_claims_wait_for_the_last_exclusive_one() -> None:
    kinds = ["shared", "exclusive", "shared", "shared", "exclusive"]
    names = [f"{kind}-{guid(n)}-{n:010d}" for n, kind in enumerate(kinds)] + [WITNESS + guid(n) for n in range(5)]
    found = [place(names, guid(n)) for n in range(5)]
    assert found == [Place.FIRST, names[0], names[1], names[1], names[3]]


def test_a_node_that_does_not_count() -> None:
    names = [f"exclusive-{guid(n)}-{n:010d}" for n in range(2)] + [WITNESS + guid(n) for n in range(2)]
    assert place(names, guid(1), {names[0]}) == WITNESS + guid(0)
    assert place(names, guid(1), {names[0], WITNESS + guid(0)}) is Place.FIRST
    assert place(names, guid(7)) is Place.ABSENT
