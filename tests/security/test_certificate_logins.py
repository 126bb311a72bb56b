"""Client certificates that are logins: verified by TLS, with a role by the common name of their subject."""

from __future__ import annotations

import ssl
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dev.servers.authority import Authority
from replicator.assembly.table_definitions import TableDefinitions
from replicator.cli import contexts
from replicator.cli.task.client import Client, find_token
from replicator.config.certificate_logins import common_name, read_certificate_logins
from replicator.coordination.in_memory.coordinator import MemoryEnsemble
from replicator.coordination.layout import Layout
from replicator.errors import ProcessError
from replicator.telemetry.listen import TlsFiles
from replicator.telemetry.server_certificate import ServerCertificate
from server.app import Access, create_app
from tests.support.api import TASK, TOKEN, serving


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "own")


@pytest.fixture
def url(tmp_path: Path, authority: Authority) -> Iterator[str]:
    """`own leaf`, the name of all certificates of the authority, is a viewer."""
    given = tmp_path / "logins.yaml"
    given.write_text("own leaf: {role: viewer}\n")
    certificate, key = authority.leaf("127.0.0.1")
    key.chmod(0o600)
    files = TlsFiles(certificate, key, authority.ca, "wanted")
    access = Access(TOKEN, certificates=read_certificate_logins(given))
    app = create_app(MemoryEnsemble().session(), Layout(), access, TableDefinitions)
    with serving(app, certificate=ServerCertificate(files)) as url:
        yield url


def client(url: str, authority: Authority, *, certificate: bool) -> httpx.Client:
    context = ssl.create_default_context(cafile=str(authority.ca))
    if certificate:
        context.load_cert_chain(*map(str, authority.leaf("127.0.0.9")))
    return httpx.Client(base_url=f"{url}/api/v1", verify=context, trust_env=False, timeout=20)


def test_roles(url: str, authority: Authority) -> None:
    with client(url, authority, certificate=True) as http:
        assert http.get("/tasks").status_code == 200
        refused = http.post("/tasks", content=TASK)
        assert (refused.status_code, refused.json()["error"]["code"]) == (403, "E5072")
        assert "certificate:own leaf" in refused.text
        login = {"authorization": f"Bearer {TOKEN}"}
        assert http.post("/tasks", content=TASK, headers=login).status_code == 201, "a login in the request counts"
        assert http.get("/tasks", headers={"authorization": "Bearer wrong"}).status_code == 401
    with client(url, authority, certificate=False) as http:
        assert http.get("/tasks").status_code == 401


def test_the_command_line(url: str, authority: Authority, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    certificate, key = authority.leaf("127.0.0.9")
    key.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("REPLICATOR_TOKEN", "REPLICATOR_TOKEN_FILE", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv(contexts.CA_FILE, str(authority.ca))
    monkeypatch.setenv(contexts.CERTIFICATE, str(certificate))
    monkeypatch.setenv(contexts.KEY, str(key))
    with Client(url, find_token(None, url)) as made:
        assert made.tasks()["items"] == []


@pytest.mark.parametrize(
    "text", ["a: {role: root}", "a: viewer", "[a]", "a: {role: viewer, selector: '=='}", "a: {role: viewer, x: 1}", "{"]
)
def test_files_that_are_not_valid(tmp_path: Path, text: str) -> None:
    (tmp_path / "logins.yaml").write_text(text)
    with pytest.raises(ProcessError, match="logins of certificates"):
        read_certificate_logins(tmp_path / "logins.yaml")


def test_a_subject_with_two_names_is_no_login() -> None:
    name = ((("commonName", "a"),),)
    assert common_name({"subject": name}) == "a" and common_name(None) == common_name({}) == ""
    assert common_name({"subject": (*name, (("commonName", "b"),))}) == ""
