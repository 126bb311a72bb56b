"""Login and TLS files of a process: what is read, and what is refused."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dev.servers.authority import Authority
from replicator.coordination.layout import Layout
from replicator.coordination.ports import Identity
from replicator.coordination.records import SecurityRecord
from replicator.coordination.rights import Guard
from replicator.errors import ConfigError
from replicator.zookeeper.access import (
    Access,
    digest_identity,
    of_environment,
    of_file,
    read_private,
    require_secured,
    subject,
)
from replicator.zookeeper.file_watch import FileWatch
from replicator.zookeeper.security_checks import version


def write(path: Path, text: str, mode: int = 0o600) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


def test_a_digest_is_named_as_by_zookeeper() -> None:
    """The example of ZooKeeper's manual."""
    assert digest_identity("super", "admin").id == "super:xQJmxLMiHGwaqBvst5y6rkB6HQs="


def test_the_environment_wins_over_the_file(tmp_path: Path) -> None:
    write(tmp_path / "secret", "s3cret\n")
    path = write(tmp_path / "c", "# of the Core\nlogin = sasl\nuser = core\npassword_file = secret\nca = ca.pem\n")
    access = of_environment({"REPLICATOR_ZOOKEEPER_CONFIG": path, "REPLICATOR_ZOOKEEPER_USER": "other"})
    assert (access.login, access.user, access.secret(), access.tls) == ("sasl", "other", "s3cret", True)
    assert access.ca == str(tmp_path / "ca.pem"), "relative to the file"
    given = of_environment({"REPLICATOR_ZOOKEEPER_CONFIG": path, "REPLICATOR_ZOOKEEPER_PASSWORD": "mine"})
    assert given.secret() == "mine"
    assert "mine" not in repr(given)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("login = ldap\nuser = a\npassword = b", "ldap"),
        ("login = sasl\nuser = a", "without user and password"),
        ("user = a", "without login"),
        ("login = digest\nuser = a:b\npassword = c", "colon"),
        ("key = k.pem", "key without cert"),
        ("pasword = secret-value", "'pasword'"),
        ("secret-value", "no `key = value`"),
    ],
)
def test_a_file_that_cannot_be_used(tmp_path: Path, text: str, found: str) -> None:
    with pytest.raises(ConfigError, match=f"E4036.*{found}") as caught:
        of_file(write(tmp_path / "c", text))
    assert "secret-value" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o620])
def test_files_that_others_read_or_write(tmp_path: Path, mode: int) -> None:
    with pytest.raises(ConfigError, match=r"E4036.*chmod 600"):
        read_private(write(tmp_path / "c", "login = sasl", mode))


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="E4036"):
        read_private(str(tmp_path))
    with pytest.raises(ConfigError, match="E4036"):
        read_private(str(tmp_path / "none"))


def test_off_loopback_tls_and_a_login_are_required() -> None:
    secured = Access(login="sasl", user="u", password="p", tls=True)
    for hosts in ("127.0.0.1:2181", "localhost:2181,[::1]:2182"):
        assert require_secured(hosts, Access()) == []
    assert require_secured("zk1:2181", secured) == []
    for access in (Access(), Access(tls=True), Access(login="sasl", user="u", password="p")):
        with pytest.raises(ConfigError, match=r"E4034.*no "):
            require_secured("localhost:2181,zk1:2181", access)
    assert "WITHOUT" in require_secured("zk1:2181", Access(insecure=True))[0]


def test_a_certificate_names_its_subject(tmp_path: Path) -> None:
    certificate, _ = Authority(tmp_path, "ca").leaf("127.0.0.1")
    assert subject(str(certificate)) == "CN=ca leaf"


def test_a_new_login_counts_when_it_is_recorded(tmp_path: Path, monkeypatch: Any) -> None:
    path = tmp_path / "c"
    monkeypatch.setenv("REPLICATOR_ZOOKEEPER_CONFIG", write(path, "login = sasl\nuser = a\npassword = b"))
    guard = Guard(Layout("/r"), "core")
    guard.record = SecurityRecord(core=[Identity("sasl", "a")])
    seen = SimpleNamespace(count=0)
    watch = FileWatch(of_environment(), guard, lambda: setattr(seen, "count", seen.count + 1))
    watch.look()
    write(path, "login = sasl\nuser = new\npassword = longer")
    watch.look()
    write(path, "login = ")
    watch.look()
    write(path, "login = sasl\nuser = new\npassword = longer than before")
    watch.look()
    assert seen.count == 0
    guard.record.core.append(Identity("sasl", "new"))
    watch.look()
    watch.look()
    assert seen.count == 1


@pytest.mark.parametrize(
    ("release", "weak"),
    [((3, 8, 0), 3), ((3, 8, 6), 0), ((3, 9, 2), 2), ((3, 9, 5), 0), ((3, 7, 2), 2), ((3, 5, 9), 2), ((4, 0, 0), 0)],
)
def test_versions_with_known_weaknesses(release: tuple[int, int, int], weak: int) -> None:
    assert version("zk:1", release).found.count("CVE") == weak
