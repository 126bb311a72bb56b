"""Which test files workers take first."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.support.file_order import in_order

TESTS = st.lists(
    st.tuples(st.sampled_from(["failover/a", "failover/b", "failover/c", *map(str, range(9))]), st.integers(1, 900)),
    max_size=60,
)


def ordered(tests: list[tuple[str, int]]) -> list[tuple[str, int]]:
    return in_order(tests, lambda test: test[0], lambda name: name.startswith("failover"), lambda test: test[1])


@given(TESTS)
def test_no_test_is_lost_and_files_stay_together(tests: list[tuple[str, int]]) -> None:
    found = ordered(tests)
    assert sorted(found) == sorted(tests)
    for name in {name for name, _ in tests}:
        places = [place for place, test in enumerate(found) if test[0] == name]
        assert places == list(range(places[0], places[0] + len(places)))
        assert [test for test in found if test[0] == name] == [test for test in tests if test[0] == name]


def test_those_that_wait_are_spread_and_the_longest_is_first() -> None:
    waiting = [("failover/short", 60), ("failover/long", 900), ("failover/other", 60)]
    found = ordered([*waiting, *((str(number), 1) for number in range(6))])
    assert [name for name, _ in found][:1] == ["failover/long"]
    assert [place for place, (name, _) in enumerate(found) if name.startswith("failover")] == [0, 3, 6]
