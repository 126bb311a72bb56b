"""How old reports are, whatever the clocks of the hosts say."""

from __future__ import annotations

from replicator.coordination.machines.report_ages import ReportAges
from replicator.coordination.ports import Stat
from tests.support.cores import FakeClock


def written(mzxid: int, mtime_ms: int = 0) -> Stat:
    return Stat(version=mzxid, czxid=1, mzxid=mzxid, owner=7, mtime_ms=mtime_ms)


def test_a_node_that_changes_is_fresh_and_one_that_does_not_grows_old() -> None:
    clock = FakeClock()
    ages = ReportAges(clock)
    ages.see({"a": written(1), "b": written(2)})
    for step in range(1, 6):
        clock.now += 1
        ages.see({"a": written(10 + step), "b": written(2)})
    assert (ages.of("a"), ages.of("b")) == (0.0, 5.0)
    clock.now += 0.5
    assert ages.of("a") == 0.5


def test_the_clock_of_zookeeper_does_not_matter_once_a_node_was_seen_twice() -> None:
    """Another leader may stamp an earlier time."""
    clock = FakeClock()
    ages = ReportAges(clock)
    ages.see({"a": written(1, 9_000_000)})
    clock.now += 1
    ages.see({"a": written(2, 1_000)})
    assert ages.of("a") == 0.0


def test_a_node_that_is_seen_for_the_first_time_is_as_old_as_others_show() -> None:
    """A Server that starts while a host is dead."""
    ages = ReportAges(FakeClock())
    ages.see({"alive": written(9, 100_000), "dead": written(3, 92_500)})
    assert (ages.of("alive"), ages.of("dead")) == (0.0, 7.5)


def test_one_that_is_gone_is_forgotten() -> None:
    clock = FakeClock()
    ages = ReportAges(clock)
    ages.see({"a": written(1)})
    ages.see({})
    clock.now += 60
    ages.see({"a": written(5)})
    assert ages.of("a") == 0.0
    assert ages.of("unknown") == 0.0
