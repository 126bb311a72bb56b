"""The suite of test_source.py for sources on older and newer releases of the servers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dev.fetch.releases import OLDER
from tests.conformance import test_source as suite
from tests.conformance.test_source import Real
from tests.servers import started
from tests.support.releases import server_of

pytestmark = pytest.mark.servers

globals().update({name: test for name, test in vars(suite).items() if name.startswith("test_")})


@pytest.fixture(scope="module", params=OLDER, ids=lambda release: release.name, name="rig")
def make_rig(request: pytest.FixtureRequest) -> Iterator[Real]:
    """One server at a time."""
    server = started(server_of(request.param))
    try:
        yield Real(server)
    finally:
        server.close()


@pytest.fixture(name="live")
def make_live(rig: Real) -> Real:
    return rig
