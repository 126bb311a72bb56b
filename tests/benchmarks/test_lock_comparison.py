"""`make locks` works, with one fault that takes no time, and a page of it."""

from __future__ import annotations

import pytest

from dev.locks.faults import Outcome, run
from dev.locks.page import page
from dev.locks.speed import summary

pytestmark = [pytest.mark.servers, pytest.mark.timeout(120)]


def test_a_redis_that_restarts_gives_its_lock_to_two_owners() -> None:
    outcome = run("redis", "restart")
    assert outcome.both and outcome.late_write and outcome.fenced is None
    ours = Outcome("zookeeper", "pause", 3.1, False, True, True)
    text = page([summary("redis", 1, 2.0, [1.0, 2.0, 3.0])], [outcome, ours], 2.0, 1.0)
    assert "| **yes** | accepted | no tokens |" in text
    assert "| 3.1 s | it is stopped | accepted | refused |" in text
    assert "| Redis, `SET NX PX` | 1 | 2 | 2.00 | 3.0 |" in text
