"""The measurement of a Monitor works from end to end, over so few browsers that its figures are of no interest here."""

from __future__ import annotations

import pytest

from dev.bench.monitor import monitor

pytestmark = [pytest.mark.servers, pytest.mark.timeout(180)]


def test_a_tiny_monitor() -> None:
    found = {entry.name: entry.value for entry in monitor(tasks=6, browsers=4, busy=2, seconds=2)}
    assert (found["monitor.tasks"], found["monitor.browsers"]) == (6, 4)
    for state in ("idle", "busy"):
        assert found[f"monitor.{state}.kb_per_browser"], state
        assert found[f"monitor.{state}.events_per_browser"], state
        assert found[f"monitor.{state}.cpu"] is not None, state
    assert (found["monitor.busy.kb_per_browser"] or 0) > (found["monitor.idle.kb_per_browser"] or 0)
    assert (found["monitor.memory"] or 0) > 20
