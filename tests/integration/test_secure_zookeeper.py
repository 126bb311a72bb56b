"""Logins and TLS on a real ZooKeeper, and what is said when one of them is refused."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest

from dev.servers.authority import Authority
from dev.servers.secure_zookeeper import SecureZooKeeper, login, password
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Connection, Coordinator
from replicator.coordination.records import SecurityRecord, ServerRecord, dump
from replicator.coordination.rights import Guard, Role
from replicator.coordination.secured_tree import SecuredTree
from replicator.errors import CoordinationError, NotConnected
from replicator.zookeeper.access import Access, of_environment
from replicator.zookeeper.client import ZookeeperCoordinator, connect
from replicator.zookeeper.file_watch import FileWatch
from replicator.zookeeper.security_checks import check
from tests.security.secured import quiet, recorded
from tests.servers import started
from tests.support.waiting import eventually

LAYOUT = Layout("/secured")


class Site:
    def __init__(self, folder: Path) -> None:
        self.authority, self.other = Authority(folder, "ca"), Authority(folder, "other")
        self.server = SecureZooKeeper(self.authority, clients="need", fast=True)

    def tls(self, **changes: str) -> Access:
        certificate, key = self.authority.leaf("127.0.0.2")
        return msgspec.structs.replace(
            Access(ca=str(self.authority.ca), cert=str(certificate), key=str(private(key)), tls=True), **changes
        )


def private(key: Path) -> Path:
    key.chmod(0o600)
    return key


def sasl(user: str, secret: str = "") -> Access:
    return Access(login="sasl", user=user, password=secret or password(user))


def open_as(hosts: str, access: Access, role: Role = "core") -> ZookeeperCoordinator:
    return connect(hosts, 4.0, 15.0, access, Guard(LAYOUT, role))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    made = Site(tmp_path_factory.mktemp("authority"))
    started(made.server)
    yield made
    made.server.close()


@pytest.fixture(scope="module")
def tree(site: Site) -> Iterator[SecuredTree]:
    """Secured for logins by SASL."""
    guard = Guard(LAYOUT, "admin")
    admin = connect(site.server.hosts, 4.0, access=sasl("admin"), guard=guard)
    record = recorded(sasl)
    made = SecuredTree(admin, guard)
    made.establish(record, quiet, existing=False)
    yield made
    admin.close()


def test_sasl_and_a_certificate_over_tls(site: Site, tree: SecuredTree) -> None:
    both = msgspec.structs.replace(site.tls(), login="sasl", user="core", password=password("core"))
    core = open_as(site.server.secure, both)
    core.create(LAYOUT.machine("h"), bytes(300_000), ephemeral=True)
    assert core.get(LAYOUT.machine("h")).data == bytes(300_000), "more than one record of TLS"
    assert [grant.id for grant in core.acl(LAYOUT.machine("h")).grants] == ["admin", "core", "monitor", "server"]
    core.close()


def test_the_subject_of_a_certificate_is_an_identity(site: Site) -> None:
    access = site.tls()
    identity = access.identities()[0]
    layout = Layout("/by-certificate")
    guard = Guard(layout, "admin")
    admin = connect(site.server.secure, 4.0, access=access, guard=guard)
    record = SecurityRecord(core=[identity], server=[identity], monitor=[identity], admin=[identity])
    assert not SecuredTree(admin, guard).establish(record, quiet, existing=False).refused
    admin.set(layout.security, admin.get(layout.security).data)
    assert admin.acl(layout.root).grants[0].id == "CN=ca leaf"
    admin.close()


Refusal = Callable[[Site], tuple[str, Access]]
REFUSALS: dict[str, tuple[str, str, Refusal]] = {
    "password": ("E4030", "refuses user or password", lambda s: (s.server.hosts, sasl("core", "wrong"))),
    "unknown": ("E4030", "not at /security", lambda s: (s.server.hosts, Access("digest", "x", "y"))),
    "no-login": ("E4030", "has no login", lambda s: (s.server.hosts, Access())),
    "role": ("E4037", "that of monitor", lambda s: (s.server.hosts, sasl("monitor"))),
    "authority": ("E4031", "its certificate is not accepted", lambda s: (s.server.secure, s.tls(ca=str(s.other.ca)))),
    "no-certificate": ("E4032", "certificate of this client", lambda s: (s.server.secure, s.tls(cert="", key=""))),
    "foreign": ("E4032", "certificate of this client", lambda s: (s.server.secure, foreign(s))),
    "tls-to-plain": ("E4033", "without TLS", lambda s: (s.server.hosts, s.tls())),
    "plain-to-tls": ("E4033", "one with TLS", lambda s: (s.server.secure, sasl("core"))),
    "open-key": ("E4036", "mode 0644", lambda s: (s.server.secure, open_key(s))),
}


def foreign(site: Site) -> Access:
    certificate, key = site.other.leaf("127.0.0.2")
    return site.tls(cert=str(certificate), key=str(private(key)))


def open_key(site: Site) -> Access:
    certificate, key = site.authority.leaf("127.0.0.3")
    key.chmod(0o644)
    return site.tls(cert=str(certificate), key=str(key))


@pytest.mark.parametrize("name", REFUSALS)
def test_each_refusal_has_its_code_and_reason(site: Site, tree: SecuredTree, name: str) -> None:
    code, reason, make = REFUSALS[name]
    hosts, access = make(site)
    refused(hosts, access, code, reason)


def refused(hosts: str, access: Access, code: str, reason: str) -> None:
    """And it never counts as connected meanwhile."""
    coordinator = ZookeeperCoordinator(hosts, 4.0, access, Guard(LAYOUT, "core"))
    states: list[Connection] = []
    coordinator.on_connection(states.append)
    try:
        eventually(lambda: reason in coordinator.reasons() and coordinator.code == code)
        assert Connection.CONNECTED not in states
        with pytest.raises(NotConnected, match=reason) as caught:
            coordinator.wait_connected(0.01)
        assert caught.value.code == code
    finally:
        coordinator.close()


def test_a_certificate_that_has_expired_or_is_of_another_host(tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ca")
    for host, lasts, reason in (
        ("127.0.0.1", -datetime.timedelta(minutes=5), "certificate has expired"),
        ("127.0.0.9", datetime.timedelta(hours=1), "IP address mismatch"),
    ):
        server = SecureZooKeeper(authority, authority.leaf(host, lasts), fast=True)
        started(server)
        try:
            refused(server.secure, Access(ca=str(authority.ca), tls=True), "E4031", reason)
        finally:
            server.close()


def test_a_process_changes_its_login_without_a_new_session(
    site: Site, tree: SecuredTree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "core.conf"
    config.touch(mode=0o600)
    config.write_text(f"login = sasl\nuser = core\npassword = {password('core')}\n")
    monkeypatch.setenv("REPLICATOR_ZOOKEEPER_CONFIG", str(config))
    access, guard = of_environment(), Guard(LAYOUT, "core", required=True)
    core = connect(site.server.hosts, 4.0, access=access, guard=guard)
    watch = FileWatch(access, guard, core.reconnect)
    session = core.session_id
    core.create(LAYOUT.machine("rotating"), b"1", ephemeral=True)

    config.write_text(f"login = sasl\nuser = core2\npassword = {password('core2')}\n")
    watch.look()
    assert core.connection is Connection.CONNECTED, "it waits until the new identity is recorded"
    tree.change("core", sasl("core2").identities()[0], quiet, add=True)
    eventually(lambda: guard.record and len(guard.record.core) == 2)
    watch.look()
    tree.change("core", sasl("core").identities()[0], quiet, add=False)
    eventually(lambda: _writes(core))
    assert core.session_id == session
    assert core.get(LAYOUT.machine("rotating")).stat.owner == session
    tree.change("core", sasl("core").identities()[0], quiet, add=True)
    core.close()


def _writes(core: Coordinator) -> bool:
    try:
        core.set(LAYOUT.machine("rotating"), b"2")
    except Exception:
        return False
    return True


def test_check_names_what_is_open(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    layout = Layout("/checked")
    guard = Guard(layout, "admin")
    admin = connect(site.server.hosts, 4.0, access=sasl("admin"), guard=guard)
    SecuredTree(admin, guard).establish(recorded(sasl), quiet, existing=False)
    unaware = connect(site.server.hosts, 4.0, access=sasl("core"))
    unaware.create(layout.machine("late"), b"")
    unaware.close()
    address = dump(ServerRecord(host="h", pid=1, address="http://10.0.0.1:8080", since_ms=0))
    admin.create(layout.server_prefix("h", "b" * 32), address, ephemeral=True, sequential=True)
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "wide").write_text("x")
    (secrets / "wide").chmod(0o644)
    monkeypatch.setenv("REPLICATOR_SECRETS_DIRECTORY", str(secrets))
    config = login(tmp_path, "admin")
    monkeypatch.setenv("REPLICATOR_ZOOKEEPER_CONFIG", str(config))
    findings = check(site.server.hosts, layout.root, 4.0)
    wrong = {finding.id: finding for finding in findings if finding.severity != "ok"}
    assert set(wrong) == {"zookeeper.connection", "zookeeper.rights", "server.listener", "files.mode"}
    assert layout.machine("late") in wrong["zookeeper.rights"].found and "open" in wrong["zookeeper.rights"].found
    assert all(finding.fix for finding in wrong.values())
    assert "3.9.5" in next(finding.found for finding in findings if finding.id == "zookeeper.version")
    empty = check(site.server.hosts, "/not-there", 4.0)
    assert "zookeeper.identities" in {finding.id for finding in empty if finding.severity == "fail"}
    admin.close()


def test_a_core_waits_for_the_record_and_stops_writing_without_it(site: Site) -> None:
    layout = Layout("/recorded-later")
    guard = Guard(layout, "core", required=True)
    core = ZookeeperCoordinator(site.server.hosts, 4.0, sasl("core"), guard)
    eventually(lambda: core.code == "E4035")
    admin_guard = Guard(layout, "admin")
    admin = connect(site.server.hosts, 4.0, access=sasl("admin"), guard=admin_guard)
    SecuredTree(admin, admin_guard).establish(recorded(sasl), quiet, existing=False)
    core.wait_connected(20)
    core.create(layout.machine("h"), b"", ephemeral=True)
    admin.delete(layout.security)
    eventually(lambda: guard.record is None)
    with pytest.raises(CoordinationError, match=r"E4035|E4002"):
        core.create(layout.machine("open"), b"")
    core.close()
    admin.close()
