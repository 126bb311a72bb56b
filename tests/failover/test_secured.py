"""Core, Server and Monitor on three ZooKeepers with TLS: secured while they run, a take-over, and outsiders refused."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from dev.cluster import CLI, wait_for
from dev.servers.authority import Authority
from dev.servers.ensembles import ZooKeeperEnsemble
from dev.servers.secure_zookeeper import SecureZooKeeper, login
from replicator.coordination.layout import Layout
from replicator.coordination.rights import Guard
from replicator.coordination.secured_tree import SecuredTree
from replicator.errors import CoordinationError
from replicator.zookeeper.access import of_file
from replicator.zookeeper.client import connect
from tests.failover.bus import Bus

pytestmark = pytest.mark.timeout(240)
ROOT = "/secured_bus"


def test_a_secured_bus_takes_over_and_outsiders_are_refused(make_bus: Callable[..., Bus], tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ca")
    certificate, key = authority.leaf("127.0.0.2")
    key.chmod(0o600)
    files = {
        user: login(tmp_path, user, ca=authority.ca, cert=certificate, key=key)
        for user in ("core", "server", "monitor", "admin")
    }
    make = functools.partial(SecureZooKeeper, authority, clients="need")
    with ZooKeeperEnsemble(make=make) as ensemble:
        ensemble.leader()
        secure = ",".join(member.secure for member in ensemble.members if isinstance(member, SecureZooKeeper))
        _cluster("init", "/another_bus", secure, files)
        bus = _start(make_bus, secure, files)
        before = bus.look()
        _cluster("secure", ROOT, secure, files)
        _cluster("secure", ROOT, secure, files)
        bus.wait_delivered(20)
        assert bus.look().epoch == before.epoch, "nothing was taken over"
        leader = bus.look().host
        ensemble.leader().kill()
        bus.wait_delivered(20)
        bus.cluster.cores[leader].kill()
        bus.wait_running(other_than=leader)
        assert bus.cluster.cli("task", "pause", bus.name)
        wait_for(bus.monitored, "the task in the Monitor", 40)
        assert httpx.get(f"{bus.cluster.monitor_url}/healthz", timeout=30).text.count("WITHOUT") == 0
        wait_for(lambda: bus.look().state == "paused", "the pause", 40)
        _refuse_outsiders(bus, secure, files, ensemble)
        bus.cluster.cli("task", "resume", bus.name)
        bus.wait_delivered(20)
        verdict = bus.verdict()
        assert verdict.clean, str(verdict)


def _cluster(verb: str, root: str, secure: str, files: dict[str, Path]) -> None:
    given = [f"--{role}=@{files[role]}" for role in ("core", "server", "monitor")]
    _run("cluster", verb, "--zookeeper", secure, "--root", root, "--zookeeper-config", str(files["admin"]), *given)


def _start(make_bus: Callable[..., Bus], secure: str, files: dict[str, Path]) -> Bus:
    class Address:
        address = secure

    admin = functools.partial(connect, access=of_file(str(files["admin"])), guard=Guard(Layout(ROOT), "admin"))
    insecure = {"REPLICATOR_ZOOKEEPER_INSECURE": "1"}  # until there are identities
    logins = {role: {"REPLICATOR_ZOOKEEPER_CONFIG": str(path), **insecure} for role, path in files.items()}
    return make_bus(zookeeper=Address, root=ROOT, logins=logins, admin=admin, session_seconds=4.0)


def _refuse_outsiders(bus: Bus, secure: str, files: dict[str, Path], ensemble: ZooKeeperEnsemble) -> None:
    """At every kind of node that is there now."""
    guard = Guard(bus.layout, "admin")
    admin = connect(secure, 10, access=of_file(str(files["admin"])), guard=guard)
    tree = SecuredTree(admin, guard)
    record, _ = tree.read()
    assert [path for path, _ in tree.deviating(record)] == []
    anonymous = connect(",".join(member.hosts for member in ensemble.members), 10)
    for path in list(tree.paths()):
        for attempt in (lambda p: anonymous.set(p, b""), lambda p: anonymous.create(f"{p}/x"), anonymous.get):
            with pytest.raises(CoordinationError, match="E4007"):
                attempt(path)
    anonymous.close()
    admin.close()


def _run(*arguments: str) -> None:

    done = subprocess.run([str(CLI), *arguments], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
