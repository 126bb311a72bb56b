"""Server and Monitor as processes with HTTPS: the command line, a login of the Monitor, a renewed certificate."""

from __future__ import annotations

import datetime
import os
import shutil
import signal
import ssl
import subprocess
from pathlib import Path

import httpx
import pytest

from dev.servers import ZooKeeper
from dev.servers.authority import Authority
from tests.integration.test_monitor import monitor
from tests.integration.test_server import REPLICATOR, started
from tests.support.waiting import eventually

pytestmark = pytest.mark.servers


class Files:
    def __init__(self, folder: Path) -> None:
        self.folder, self.authority = folder, Authority(folder, "bus")
        self.renew()
        certificate, key = str(folder / "tls.pem"), str(folder / "tls.key")
        self.options = ("--tls-certificate", certificate, "--tls-key", key)

    def renew(self) -> None:
        for made, name in zip(
            self.authority.leaf("127.0.0.1", datetime.timedelta(days=30)), ("tls.pem", "tls.key"), strict=True
        ):
            made.chmod(0o600)
            shutil.move(made, self.folder / name)

    def client(self) -> httpx.Client:
        context = ssl.create_default_context(cafile=str(self.authority.ca))
        return httpx.Client(verify=context, trust_env=False, timeout=30)

    def number(self, url: str) -> str:
        """Serial number of the certificate that a new connection gets."""
        with self.client() as client, client.stream("GET", f"{url}/healthz") as answer:
            shown = answer.extensions["network_stream"].get_extra_info("ssl_object").getpeercert()
            return str(shown["serialNumber"])


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def test_server_and_monitor(zookeeper: ZooKeeper, files: Files, tmp_path: Path) -> None:
    root = f"/https-{os.getpid()}"
    ca = ("--ca-file", str(files.authority.ca))
    with started(zookeeper.hosts, tmp_path, root, *files.options) as server:
        server.cli("get", *ca)
        assert "E5086" in server.cli("get", status=5)
        made = [*REPLICATOR, "token", "create", "prometheus", "--role", "viewer", "--server", server.url, *ca]
        made += ["--token-file", str(server.token_file)]
        token = subprocess.run(made, capture_output=True, text=True, timeout=60, check=True).stdout.strip()
        with files.client() as client:
            health = client.get(f"{server.url}/api/v1/health").json()
        assert (health["status"], health["warnings"]) == ("ok", [])
        with monitor(zookeeper.hosts, *files.options, "--require-login", root=root) as (process, url):
            assert url.startswith("https://")
            with files.client() as client:
                login = {"authorization": f"Bearer {token}"}
                assert client.get(f"{url}/metrics").status_code == 401
                metrics = lambda: client.get(f"{url}/metrics", headers=login).text  # noqa: E731
                text = eventually(lambda: found if 'process="server"' in (found := metrics()) else "")
                assert "bus_listener_certificate_expiry_timestamp_seconds" in text
                before = files.number(url)
                files.renew()
                eventually(lambda: files.number(url) != before)
                assert client.get(f"{url}/metrics", headers=login).status_code == 200, "over the same connection"
            process.send_signal(signal.SIGTERM)
            assert process.wait(20) == 0
