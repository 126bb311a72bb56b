"""Logins by caching_sha2_password and sha256_password at a MySQL server that is not verified.

127.1 is 127.0.0.1 to the system and a name like any other to us: a server that may be elsewhere.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from dev.servers import MySQL
from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.mysql.session import Session

PASSWORD = "the password of this account"


@pytest.fixture(params=["caching_sha2_password", "sha256_password"])
def account(request: pytest.FixtureRequest, mysql: MySQL) -> Iterator[tuple[str, str]]:
    """Name and plugin. The server has nobody in its cache."""
    name, plugin = f"u{uuid.uuid4().hex[:8]}", str(request.param)
    mysql.execute(f"CREATE USER {name} IDENTIFIED WITH {plugin} BY '{PASSWORD}'")
    mysql.execute("FLUSH PRIVILEGES")
    yield name, plugin
    mysql.execute(f"DROP USER {name}")


def login(mysql: MySQL, user: str, host: str = "127.1", password: str = PASSWORD, **more: Any) -> str:
    """CURRENT_USER()."""
    config = {"type": "mysql", "host": host, "port": mysql.port, "user": user, "password": "env:X", **more}
    with Session(MySQLSource.model_validate(config), password) as session:
        return str(session.value("SELECT CURRENT_USER()"))


def key_of(mysql: MySQL) -> str:
    return str(mysql.folder / "data" / "public_key.pem")


def test_the_key_that_the_server_sends_is_not_believed(mysql: MySQL, account: tuple[str, str]) -> None:
    user, plugin = account
    with pytest.raises(SourceError) as raised:
        login(mysql, user)
    error = raised.value
    assert (error.code, error.transient) == ("E2105", False)
    assert plugin in error.found
    assert "source.tls" in error.fix and "source.server_public_key" in error.fix


def test_a_proof_without_the_password_needs_no_key(mysql: MySQL, account: tuple[str, str]) -> None:
    """Once the server has the password in its cache, which its restart empties."""
    user, plugin = account
    assert login(mysql, user, "127.0.0.1") == f"{user}@%"
    with contextlib.nullcontext() if plugin == "caching_sha2_password" else pytest.raises(SourceError):
        assert login(mysql, user) == f"{user}@%"
    with pytest.raises(SourceError) as raised:
        login(mysql, user, password="another")
    assert raised.value.code in ("E2101", "E2105")


@pytest.mark.parametrize("password", [PASSWORD, "", "\u00fc" * 30])
def test_with_the_key_of_the_server(mysql: MySQL, account: tuple[str, str], password: str) -> None:
    user, plugin = account
    mysql.execute(f"ALTER USER {user} IDENTIFIED WITH {plugin} BY '{password}'")
    for _ in range(2):
        assert login(mysql, user, password=password, server_public_key=key_of(mysql)) == f"{user}@%"
    with pytest.raises(SourceError) as raised:
        login(mysql, user, password="another", server_public_key=key_of(mysql))
    assert raised.value.code == "E2101"


def test_the_key_of_another_server(mysql: MySQL, account: tuple[str, str], tmp_path: Path) -> None:
    other = tmp_path / "other.pem"
    public = rsa.generate_private_key(65537, 2048).public_key()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    other.write_bytes(public.public_bytes(serialization.Encoding.PEM, form))
    with pytest.raises(SourceError) as raised:
        login(mysql, account[0], server_public_key=str(other))
    assert raised.value.code == "E2101"


def test_believing_the_server_and_loopback(mysql: MySQL, account: tuple[str, str]) -> None:
    user, _ = account
    assert login(mysql, user, get_server_public_key=True) == f"{user}@%"
    mysql.execute("FLUSH PRIVILEGES")
    assert login(mysql, user, "127.0.0.1") == f"{user}@%"


def test_tls_that_does_not_verify_the_server(mysql: MySQL, account: tuple[str, str]) -> None:
    """MySQL does not take a password under its RSA key there, so only the named option and loopback send it."""
    user, plugin = account
    unverified: dict[str, Any] = {"tls": {"insecure": True}}
    keys: tuple[dict[str, Any], ...] = ({}, {"server_public_key": key_of(mysql)}, {"get_server_public_key": True})
    for more in keys:
        with pytest.raises(SourceError) as raised:
            login(mysql, user, **unverified, **more)
        error = raised.value
        assert (error.code, error.transient) == ("E2105", False)
        assert plugin in error.found and "source.tls.ca" in error.fix
    assert login(mysql, user, "127.0.0.1", **unverified) == f"{user}@%"
    with contextlib.nullcontext() if plugin == "caching_sha2_password" else pytest.raises(SourceError):
        assert login(mysql, user, **unverified) == f"{user}@%", "by a proof, while the password is in the cache"
    mysql.execute("FLUSH PRIVILEGES")
    assert login(mysql, user, **unverified, send_password_unverified=True) == f"{user}@%"


@pytest.mark.parametrize(
    "content", [None, b"", b"-----BEGIN PUBLIC KEY-----\nAAAA\n-----END PUBLIC KEY-----\n", b"ed25519"]
)
def test_a_key_that_is_none(mysql: MySQL, tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "key.pem"
    if content == b"ed25519":
        from cryptography.hazmat.primitives.asymmetric import ed25519

        public = ed25519.Ed25519PrivateKey.generate().public_key()
        form = serialization.PublicFormat.SubjectPublicKeyInfo
        content = public.public_bytes(serialization.Encoding.PEM, form)
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(SourceError) as raised:
        login(mysql, "root", server_public_key=str(path))
    assert raised.value.code == "E2105" and str(path) in raised.value.found
