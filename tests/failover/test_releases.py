"""A fail-over on each older and newer release of the servers, under load; the history checker judges."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from dev.fetch.releases import OLDER
from dev.servers import Database
from tests.failover.bus import Bus
from tests.servers import started
from tests.support.releases import server_of

pytestmark = pytest.mark.timeout(180)


@pytest.fixture(params=OLDER, ids=lambda release: release.name)
def server(request: pytest.FixtureRequest) -> Iterator[Database]:
    found = started(server_of(request.param))
    yield found
    found.close()


def test_01_sigkill_on_each_release(server: Database, make_bus: Callable[..., Bus]) -> None:
    """The Core that leads is killed, and its successor meets a server that was killed, too."""
    bus = make_bus(database=server)
    leader = bus.look().host
    bus.cluster.cores[leader].kill()
    server.kill()
    server.start()
    bus.wait_running(other_than=leader)
    bus.wait_delivered(50)
    verdict = bus.verdict()
    assert verdict.clean, str(verdict)
    assert len(bus.epochs()) == 2
