"""A check that is ordered reaches the Core that leads the task, and its result the znode of the task."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from replicator.coordination.tasks.checks import VERB, TaskCheckResults
from replicator.model.finding import Finding
from replicator.model.position import Position
from replicator.model.task_check import TaskCheck
from tests.support.site import TASK, Site, sessions_of
from tests.support.waiting import eventually


@pytest.fixture(params=["memory", pytest.param("zookeeper", marks=pytest.mark.servers)])
def site(request: pytest.FixtureRequest) -> Iterator[Site]:
    made = Site(sessions_of(request))
    made.registry.create(TASK, {"name": TASK}, "test")
    yield made
    made.close()


class Source:
    """What the check of a host finds."""

    def __init__(self, found: str) -> None:
        self.found = found
        self.asked: list[Position | None] = []

    def check(self, config: Mapping[str, Any], installation: str, position: Position | None) -> list[Finding]:
        assert config["name"] == TASK and installation
        self.asked.append(position)
        return [Finding("source.reachable", "fail", self.found, "an answer", "Start it.")]


def result(site: Site) -> TaskCheck | None:
    return TaskCheckResults(site.admin, site.layout).read(TASK, site.registry.read(TASK).record.uid)


def ordered(site: Site) -> TaskCheck:
    order = site.commands.submit(TASK, VERB, {}, "ann").id

    def there() -> TaskCheck | None:
        found = result(site)
        return found if found is not None and found.order == order else None

    return eventually(there)


def test_the_core_that_leads_checks(site: Site) -> None:
    first, second = Source("from a"), Source("from b")
    leader = site.start("host-a", check=first.check)
    worker = site.worker(leader)
    site.wait("host-a")
    site.start("host-b", check=second.check)
    site.standing_by(1)
    worker.deliver(5)
    eventually(lambda: worker.saved == 1)
    found = ordered(site)
    assert (found.host, found.by, found.result) == ("host-a", "ann", "fail")
    assert found.worst_finding is not None and found.worst_finding.found == "from a"
    assert first.asked[-1] is not None and second.asked == []
    assert site.worker(leader) is worker, "nothing was disturbed"
    assert not site.commands.pending(TASK)

    leader.stop()
    site.wait("host-b")
    assert ordered(site).host == "host-b" and len(second.asked) == 1


def test_a_failed_task_is_checked_too(site: Site) -> None:
    source = Source("from a")
    worker = site.worker(site.start("host-a", check=source.check))
    site.wait("host-a")
    worker.fail("E2104")
    site.wait("host-a", "failed")
    assert ordered(site).result == "fail"
