"""Encrypted sources: verified, refused, and unverified only on demand."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from dev.servers.authority import Authority
from dev.servers.database import Database
from replicator.config.task import MySQLSource as Config
from replicator.errors import SourceError
from replicator.mysql.hosts import candidates
from replicator.source.mysql import MySQLSource
from replicator.source.mysql.checks.check import check
from tests.support.binlog_reader import transactions


@pytest.fixture(params=["mysql", "mariadb"])
def encrypted(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Database, Authority, str]:
    """A server with a certificate for 127.0.0.1, its authority, and its kind."""
    make: Callable[..., Database] = request.getfixturevalue(f"make_{request.param}")
    authority = Authority(tmp_path, "ours")
    certificate, key = authority.leaf("127.0.0.1")
    options = [f"--ssl-ca={authority.ca}", f"--ssl-cert={certificate}", f"--ssl-key={key}"]
    return make(extra_args=options), authority, request.param


def source(server: Database, kind: str, **tls: Any) -> MySQLSource:
    data = {"type": kind, "port": server.port, "user": "replicator", "password": "env:X", "heartbeat_s": 1}
    return MySQLSource(Config.model_validate(data | ({"tls": tls} if tls else {})), "tls", "replicator")


def test_verified_refused_and_insecure(encrypted: tuple[Database, Authority, str], tmp_path: Path) -> None:
    server, authority, kind = encrypted
    server.execute("CREATE DATABASE d")
    server.execute("CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v LONGTEXT)")

    made = source(server, kind, ca=str(authority.ca))
    position = made.end_position()
    for size in (10, 300_000, 3_000_000):
        server.execute("INSERT INTO d.t (v) VALUES (REPEAT('x', %s))", (size,))
    stream = made.open(position)
    assert stream._encrypted
    assert transactions(stream, least=3) == 3
    server.execute("INSERT INTO d.t (v) VALUES ('while it is open')")
    assert transactions(stream, least=1) == 1
    stream.close()

    stranger = Authority(tmp_path, "stranger")
    for tls in ({"ca": str(stranger.ca)}, {"insecure": False}):  # another authority; the system's authorities
        with pytest.raises(SourceError) as raised:
            source(server, kind, **tls).end_position()
        assert raised.value.code == "E2102"
        assert "source.tls.ca" in raised.value.fix
        assert not raised.value.transient
    assert source(server, kind, insecure=True).end_position().offset > 4
    with pytest.raises(SourceError) as raised:
        source(server, kind, ca=str(tmp_path / "absent.pem")).end_position()
    assert raised.value.code == "E2102"


@pytest.mark.parametrize(("days", "severity"), [(13, "warn"), (30, "ok")])
def test_a_certificate_that_ends_soon_is_found_by_the_check(
    make_mysql: Callable[..., Database], tmp_path: Path, days: int, severity: str
) -> None:
    authority = Authority(tmp_path, "ours")
    certificate, key = authority.leaf("127.0.0.1", timedelta(days=days, hours=1))
    server = make_mysql(extra_args=[f"--ssl-ca={authority.ca}", f"--ssl-cert={certificate}", f"--ssl-key={key}"])
    data = {"port": server.port, "user": "replicator", "password": "env:X", "tls": {"ca": str(authority.ca)}}
    [member] = candidates(Config.model_validate({"type": "mysql", **data}))
    checked = check(member, "tls", "replicator", 77)
    [finding] = [finding for finding in checked.findings if finding.id == "source.certificate"]
    assert finding.severity == severity and f"{days}.0 days" in finding.found


def test_a_certificate_for_another_host(make_mysql: Callable[..., Database], tmp_path: Path) -> None:
    authority = Authority(tmp_path, "ours")
    certificate, key = authority.leaf("192.0.2.1")
    server = make_mysql(extra_args=[f"--ssl-ca={authority.ca}", f"--ssl-cert={certificate}", f"--ssl-key={key}"])
    with pytest.raises(SourceError) as raised:
        source(server, "mysql", ca=str(authority.ca)).end_position()
    assert raised.value.code == "E2102"
    assert "127.0.0.1" in raised.value.found


def test_a_server_that_takes_encrypted_connections_only(make_mysql: Callable[..., Database]) -> None:
    """With the certificates that MySQL makes for itself."""
    server = make_mysql()
    server.execute("SET GLOBAL require_secure_transport = ON")
    with pytest.raises(SourceError) as raised:
        source(server, "mysql").end_position()
    assert raised.value.code == "E2102"
    assert "source.tls" in raised.value.fix
    assert source(server, "mysql", insecure=True).end_position().offset > 4


def test_a_server_without_tls(mariadb: Database) -> None:
    if mariadb.execute("SELECT @@have_ssl")[0][0] == "YES":
        pytest.skip("this server has TLS by default")
    with pytest.raises(SourceError) as raised:
        source(mariadb, "mariadb", insecure=True).end_position()
    assert raised.value.code == "E2102"
