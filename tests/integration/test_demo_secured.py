"""What secures `make demo`: outsiders are refused, and `replicator check --security` says whether it is secured."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dev.cluster import Cluster, wait_for
from dev.demo.secured import Secured, SecurityCheck
from replicator.coordination.layout import Layout
from replicator.errors import CoordinationError
from replicator.zookeeper.access import Access, of_file
from replicator.zookeeper.client import connect

pytestmark = pytest.mark.servers


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[Secured]:
    made = Secured(tmp_path / "secured")
    try:
        made.establish()
        yield made
    finally:
        made.zookeeper.close()


def test_the_demo_is_secured_and_says_so(secured: Secured, tmp_path: Path) -> None:
    cluster = Cluster(secured.zookeeper.address, tmp_path, logins=secured.logins, ca=secured.ca)
    try:
        cluster.start_server()
        assert cluster.cli("task", "get", "-o", "json")
        well, said = SecurityCheck(secured).result()
        assert well, said
        wait_for(
            lambda: f"OK    server.listener       {cluster.server_url}" in secured.check()[1], "the Server's record", 30
        )
        assert cluster.server_url.startswith("https://")
        with pytest.raises(httpx.HTTPError):
            httpx.get(cluster.server_url.replace("https", "http"), timeout=10).raise_for_status()
    finally:
        cluster.close()


def test_outsiders_are_refused_and_an_open_node_is_found(secured: Secured) -> None:
    layout, address = Layout(), secured.zookeeper.address
    with pytest.raises(CoordinationError):
        connect(address, 4, 3, Access())
    anonymous = connect(address, 10, access=Access(ca=str(secured.ca), tls=True))
    with pytest.raises(CoordinationError, match="E4007"):
        anonymous.get(layout.root)
    anonymous.close()
    careless = connect(address, 10, access=of_file(secured.logins["core"]["REPLICATOR_ZOOKEEPER_CONFIG"]))
    careless.create(f"{layout.tasks}/open", b"{}")
    careless.close()
    well, said = secured.check()
    assert not well
    assert f"{layout.tasks}/open" in said
