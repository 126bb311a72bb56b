"""The Core's agent when lastCommit is lost: the task stops, and no position is guessed."""

from __future__ import annotations

import time

from tests.integration.test_core_agent import site
from tests.support.site import TASK, TIMEOUT, end_session
from tests.support.waiting import eventually

__all__ = ["site"]


def test_a_position_that_was_lost_is_not_guessed(site):
    a = site.start("host-a")
    site.wait("host-a")
    b = site.start("host-b")
    site.standing_by(1)
    worker = site.worker(a)
    worker.deliver(5)
    eventually(lambda: worker.saved == 1)
    time.sleep(TIMEOUT / 2)  # the standby looks again now and then
    site.admin.delete(site.layout.last_commit(TASK))
    end_session(a.coordinator)
    view = site.wait("host-b", "failed")
    assert eventually(lambda: site.task().problems)[0]["code"] == "E4004"
    assert view.last_commit is None
    assert b.launcher.workers == []


def test_a_position_that_was_lost_while_nobody_ran_is_not_guessed(site):
    """lastCommit alone: the position history and the history are there."""
    a = site.start("host-a")
    site.wait("host-a")
    worker = site.worker(a)
    worker.deliver(5)
    eventually(lambda: worker.saved == 1)
    a.stop()
    site.admin.delete(site.layout.last_commit(TASK))
    b = site.start("host-b")
    site.wait("host-b", "failed")
    assert eventually(lambda: site.task().problems)[0]["code"] == "E4004"
    assert b.launcher.workers == []
