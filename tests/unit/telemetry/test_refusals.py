"""Counts of refused requests: each is in one report, and reports are bounded."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from replicator.telemetry.refusals import KEPT, OTHERS, SECONDS, Refusal, Refusals


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_the_first_is_reported_at_once_and_the_rest_once_a_minute() -> None:
    clock = Clock()
    refusals = Refusals(clock)
    refusals.note("10.0.0.7", 400, "E5082")
    assert refusals.take() == [Refusal("10.0.0.7", 400, "E5082", 1)]
    for _ in range(50):
        refusals.note("10.0.0.7", 400, "E5082")
    refusals.note("10.0.0.7", 421, "E5020")  # another kind
    assert refusals.take() == [Refusal("10.0.0.7", 421, "E5020", 1)]
    clock.now += SECONDS
    assert refusals.take() == [Refusal("10.0.0.7", 400, "E5082", 50)]
    clock.now += SECONDS
    assert refusals.take() == []


def test_a_network_of_ipv6_is_one_client_and_its_last_address_is_shown() -> None:
    refusals = Refusals()
    for host in ("2001:db8::1", "2001:db8::ffff", "::ffff:10.0.0.7", "10.0.0.7"):
        refusals.note(host, 400, "E5082")
    assert [(each.address, each.requests) for each in refusals.take()] == [("2001:db8::ffff", 2), ("10.0.0.7", 2)]


def test_memory_is_bounded_and_forgotten() -> None:
    clock = Clock()
    refusals = Refusals(clock)
    for number in range(KEPT + 1000):
        refusals.note(f"10.{number // 256}.{number % 256}.1", 400, "E5082")
    found = refusals.take()
    assert len(found) == KEPT + 1
    assert found[-1] == Refusal(OTHERS, 400, "E5082", 1000)
    clock.now += SECONDS
    assert refusals.take() == []
    refusals.note("192.0.2.1", 400, "E5082")
    assert refusals.take() == [Refusal("192.0.2.1", 400, "E5082", 1)]


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("note"), st.integers(0, 400)),
            st.tuples(st.just("take"), st.integers(0, 20)),
            st.tuples(st.just("wait"), st.integers(1, 90)),
        ),
        max_size=200,
    )
)
def test_none_is_lost_or_reported_twice(steps: list[tuple[str, int]]) -> None:
    clock = Clock()
    refusals = Refusals(clock)
    noted = reported = 0
    for what, number in steps:
        if what == "note":
            refusals.note(f"10.0.{number // 256}.{number % 256}", 400, "E5082")
            noted += 1
        elif what == "wait":
            clock.now += number
        else:
            left = iter(range(number))
            found = refusals.take(lambda left=left: next(left, None) is not None)  # type: ignore[misc]
            assert len(found) <= number
            reported += sum(each.requests for each in found)
    clock.now += SECONDS
    assert reported + sum(each.requests for each in refusals.take()) == noted
