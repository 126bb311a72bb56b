"""A server that is none: what it asks for it does not get, and what it says can't be mistaken for ours."""

from __future__ import annotations

import contextlib
import hashlib
import socket
import ssl
import struct
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from dev.servers.authority import Authority
from replicator.config.task import MySQLSource
from replicator.errors import SourceError
from replicator.mysql.session import Session

PASSWORD = "the-password-of-the-bus"
_OK = b"\0\0\0\2\0\0\0"
_DENIED = b"\xff" + struct.pack("<H", 1045) + b"#28000denied"
_SSL, _PLUGIN = 1 << 11, 1 << 19


class Rogue:
    """Greets like MySQL, then does what the test says; `heard` is all that it was told after its greeting, `disorder`
    the numbers of packets that a server would refuse, each with the one that was due.

    Args:
        act: (say, hear) -> what happens: `say(payload)`, `hear() -> payload`.
    """

    def __init__(self, act: Callable[[Callable[[bytes], None], Callable[[], bytes]], object], **options: Any) -> None:
        self.heard = b""
        self.disorder: list[tuple[int, int]] = []
        self._act = act
        self._connection: socket.socket | None = None
        self._tls: ssl.SSLContext | None = options.get("tls")
        self._plugin: bytes = options.get("plugin", b"mysql_native_password")
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._listener.close()
        self._thread.join(5)
        if self._connection is not None:
            self._connection.close()

    def _serve(self) -> None:
        with contextlib.suppress(OSError):
            connection, _ = self._listener.accept()
            self._connection = connection
            connection.settimeout(3)
            self._number = 0
            flags = 0x00FF_FFFF & ~_SSL | (_SSL if self._tls else 0) | _PLUGIN
            low, high = flags & 0xFFFF, flags >> 16
            head = b"\x0a8.4.0\0" + struct.pack("<I8sxHBHHB10x", 7, b"saltsalt", low, 45, 2, high, 21)
            self._say(head + b"saltsaltsalt\0" + self._plugin + b"\0")
            first = self._hear()
            if self._tls and len(first) == 32:
                self._connection = self._tls.wrap_socket(connection, server_side=True)
                self._hear()
            self._act(self._say, self._hear)
            while self._hear():
                pass

    def _say(self, payload: bytes) -> None:
        assert self._connection is not None
        self._connection.sendall(struct.pack("<I", len(payload))[:3] + bytes([self._number]) + payload)
        self._number = (self._number + 1) % 256

    def _hear(self) -> bytes:
        assert self._connection is not None
        head = self._connection.recv(4)
        if len(head) < 4:
            return b""
        payload, size = b"", int.from_bytes(head[:3], "little")
        while len(payload) < size and (part := self._connection.recv(size - len(payload))):
            payload += part
        if head[3] not in (0, self._number):  # 0: a command
            self.disorder.append((head[3], self._number))
        self._number = head[3] + 1
        self.heard += payload
        return payload


@pytest.fixture
def rogue() -> Iterator[Callable[..., Rogue]]:
    made: list[Rogue] = []

    def make(*arguments: Any, **options: Any) -> Rogue:
        made.append(Rogue(*arguments, **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def refused(server: Rogue, **how: Any) -> SourceError:
    with pytest.raises(SourceError) as raised:
        login(server, **how)
    server.close()
    return raised.value


def login(
    server: Rogue, *, host: str = "127.0.0.1", key: str | None = None, unverified: bool = False, **tls: Any
) -> Session:
    config = {"type": "mysql", "host": host, "port": server.port, "user": "bus", "password": "env:X"}
    config |= {"connect_timeout_s": 3, "tls": tls or None, "server_public_key": key}
    config |= {"send_password_unverified": unverified}
    return Session(MySQLSource.model_validate(config), PASSWORD)


def switch(plugin: bytes, *more: bytes) -> Any:
    def act(say: Callable[[bytes], None], hear: Callable[[], bytes]) -> None:
        say(b"\xfe" + plugin + b"\0" + (b"\4Password: " if plugin == b"dialog" else b"saltsaltsaltsaltsalt\0"))
        hear()
        for each in more:
            say(each)

    return act


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog", b"mysql_old_password"])
def test_the_password_is_not_sent_in_clear(rogue: Callable[..., Rogue], plugin: bytes) -> None:
    server = rogue(switch(plugin))
    assert refused(server).code == "E2105"
    server.close()
    assert PASSWORD.encode() not in server.heard
    assert b"bus" in server.heard, "it was asked"
    greets = rogue(lambda say, hear: say(b"\1more"), plugin=plugin)
    refused(greets)
    greets.close()
    assert PASSWORD.encode() not in greets.heard


def test_nor_over_tls_that_is_not_verified(rogue: Callable[..., Rogue], tmp_path: Path) -> None:
    authority = Authority(tmp_path, "a")
    certificate, key = authority.leaf("127.0.0.1")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(certificate, key)
    server = rogue(switch(b"mysql_clear_password"), tls=tls)
    assert refused(server, insecure=True).code == "E2105"
    server.close()
    assert PASSWORD.encode() not in server.heard
    verified = rogue(switch(b"mysql_clear_password", _OK, _OK), tls=tls)
    with contextlib.suppress(SourceError):
        login(verified, ca=str(authority.ca)).close()
    verified.close()
    assert PASSWORD.encode() in verified.heard, "which is what the plugin is for"


@pytest.mark.parametrize("host", ["127.1", "127.0.0.1"])
@pytest.mark.parametrize("greeting", [b"mysql_native_password", b"caching_sha2_password", b"sha256_password"])
@pytest.mark.parametrize("plugin", [b"caching_sha2_password", b"sha256_password"])
def test_unverified_tls_does_not_carry_the_password(
    rogue: Callable[..., Rogue], tmp_path: Path, plugin: bytes, greeting: bytes, host: str
) -> None:
    """127.1 is a name to us: no loopback address. On loopback it is sent, so this test would see it."""

    def act(say: Callable[[bytes], None], hear: Callable[[], bytes]) -> None:
        if plugin != greeting:
            say(b"\xfe" + plugin + b"\0" + b"saltsaltsaltsaltsalt\0")
            hear()
        if plugin == b"caching_sha2_password":
            say(b"\1\4")
            hear()
        say(_DENIED)

    server = rogue(act, plugin=greeting, tls=server_tls(tmp_path, "192.0.2.1"))
    error = refused(server, host=host, insecure=True)
    assert error.code == ("E2105" if host == "127.1" else "E2101")
    assert (PASSWORD.encode() in server.heard) is (host == "127.0.0.1")


@pytest.mark.parametrize("given", [False, True])
def test_the_option_sends_it_over_unverified_tls(rogue: Callable[..., Rogue], tmp_path: Path, given: bool) -> None:
    """And never by the plugins that are made for clear text."""
    tls = server_tls(tmp_path, "192.0.2.1")
    server = rogue(lambda say, hear: say(_DENIED), plugin=b"sha256_password", tls=tls)
    refused(server, host="127.1", unverified=given, insecure=True)
    assert (PASSWORD.encode() in server.heard) is given
    for plugin in (b"mysql_clear_password", b"dialog", b"mysql_old_password"):
        server = rogue(switch(plugin), tls=tls)
        assert refused(server, host="127.1", unverified=given, insecure=True).code == "E2105"
        assert PASSWORD.encode() not in server.heard


def server_tls(folder: Path, address: str) -> ssl.SSLContext:
    """What a server shows that has a certificate for another host."""
    made = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    made.load_cert_chain(*Authority(folder, "a").leaf(address))
    return made


def test_a_server_without_tls_does_not_get_past_it(rogue: Callable[..., Rogue]) -> None:
    server = rogue(switch(b"mysql_clear_password"))
    assert refused(server, insecure=True).code == "E2102"
    server.close()
    assert b"bus" not in server.heard


@pytest.mark.parametrize("configured", [False, True])
@pytest.mark.parametrize("greeting", [b"mysql_native_password", b"caching_sha2_password", b"sha256_password"])
@pytest.mark.parametrize("plugin", [b"caching_sha2_password", b"sha256_password"])
def test_a_key_of_the_rogue_is_not_used(
    rogue: Callable[..., Rogue], tmp_path: Path, plugin: bytes, greeting: bytes, configured: bool
) -> None:
    """127.1 is a name to us: no loopback address. Whatever it was sent it can't open."""
    own = rsa.generate_private_key(65537, 2048)
    given: list[bytes] = []

    def act(say: Callable[[bytes], None], hear: Callable[[], bytes]) -> None:
        if plugin != greeting:
            say(b"\xfe" + plugin + b"\0" + b"saltsaltsaltsaltsalt\0")
            given.append(hear())
        if plugin == b"caching_sha2_password":
            say(b"\1\4")
            given.append(hear())
        say(b"\1" + pem(own.public_key()))
        given.append(hear())

    path = tmp_path / "key.pem"
    path.write_bytes(pem(rsa.generate_private_key(65537, 2048).public_key()))
    server = rogue(act, plugin=greeting)
    error = refused(server, host="127.1", key=str(path) if configured else None)
    assert error.code in (("E2001", "E2002", "E2211") if configured else ("E2105",))
    for sent in (server.heard, *given):
        assert PASSWORD.encode() not in sent
    assert any(len(each) == 256 for each in given) is configured
    assert PASSWORD.encode() not in [opened(own, each) for each in given]


def test_the_key_of_the_rogue_opens_what_is_meant_for_it(rogue: Callable[..., Rogue]) -> None:
    """So the test above would see it: on loopback the key that the server sends is used."""
    own = rsa.generate_private_key(65537, 2048)
    given: list[bytes] = []

    def act(say: Callable[[bytes], None], hear: Callable[[], bytes]) -> None:
        say(b"\1\4")
        hear()
        say(b"\1" + pem(own.public_key()))
        given.append(hear())

    server = rogue(act, plugin=b"caching_sha2_password")
    refused(server)
    assert [opened(own, each) for each in given] == [PASSWORD.encode()]


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("greeting", [b"mysql_native_password", b"caching_sha2_password"])
def test_a_login_goes_on_at_the_server_behind_a_router(
    rogue: Callable[..., Rogue], tmp_path: Path, greeting: bytes, full: bool
) -> None:
    """The numbers of packets are in order, whether the client library or we send them: MySQL refuses others."""
    own = rsa.generate_private_key(65537, 2048)
    path = tmp_path / "key.pem"
    path.write_bytes(pem(own.public_key()))
    given: list[bytes] = []
    salt = b"the-server-behind-it"

    def act(say: Callable[[bytes], None], hear: Callable[[], bytes]) -> None:
        if greeting == b"mysql_native_password":
            say(b"\xfecaching_sha2_password\0saltsaltsaltsaltsalt\0")
            hear()
        say(b"\1\4" if full else b"\1\3")
        if full:
            given.append(hear())
        say(b"\xfemysql_native_password\0" + salt + b"\0")
        given.append(hear())
        say(_OK)
        while hear():  # SET NAMES
            say(_OK)

    server = rogue(act, plugin=greeting)
    login(server, host="127.1", key=str(path)).close()
    server.close()
    once = hashlib.sha1(PASSWORD.encode()).digest()  # noqa: S324  (what the protocol has)
    mask = hashlib.sha1(salt + hashlib.sha1(once).digest()).digest()  # noqa: S324
    assert bytes(a ^ b for a, b in zip(given[-1], mask, strict=True)) == once
    assert [opened(own, each) for each in given[:-1]] == [PASSWORD.encode()] * full
    assert not server.disorder and PASSWORD.encode() not in server.heard


def pem(key: rsa.RSAPublicKey) -> bytes:
    return key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)


def opened(key: rsa.RSAPrivateKey, sealed: bytes) -> bytes:
    """The password in it; b"" where it is for another key."""
    sha1 = hashes.SHA1()  # noqa: S303  (what the protocol has)
    try:
        mixed = key.decrypt(sealed, padding.OAEP(mgf=padding.MGF1(algorithm=sha1), algorithm=sha1, label=None))
    except ValueError:
        return b""
    salt = b"saltsaltsaltsaltsalt"
    return bytes(byte ^ salt[at % 20] for at, byte in enumerate(mixed)).removesuffix(b"\0")


def test_no_file_is_sent_to_a_server_that_asks_for_one(rogue: Callable[..., Rogue], tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("content of a file of this machine")

    def act(say: Callable[[bytes], None], hear: Callable[[], bytes]) -> None:
        say(_OK)
        hear()  # SET NAMES
        say(_OK)
        hear()
        say(b"\xfb" + str(secret).encode())

    server = rogue(act)
    session = login(server)
    with pytest.raises(SourceError) as raised:
        session.rows("SELECT 1")
    error = raised.value
    session.close()
    assert error.code == "E2211" and "LOAD DATA LOCAL" in error.found
    server.close()
    assert b"content of a file" not in server.heard


def test_what_it_says_is_cut_and_cleaned(rogue: Callable[..., Rogue]) -> None:
    text = b"\x1b[2J\xe2\x80\xaeE0000 all is well" + b"x" * 100_000
    error = refused(rogue(lambda say, hear: say(b"\xff" + struct.pack("<H", 1045) + b"#28000" + text)))
    assert error.code == "E2101" and "all is well" in error.found
    assert error.found.isprintable() and len(str(error)) < 1500


@pytest.mark.parametrize("answer", [b"", b"\xfe", b"\x01", b"\x01\x09", b"\x0b" * 50, b"\xff", b"\xfb/etc/passwd"])
def test_nonsense_is_an_error_with_a_code(rogue: Callable[..., Rogue], answer: bytes) -> None:
    assert refused(rogue(lambda say, hear: say(answer))).code in ("E2211", "E2001", "E2101", "E2105")
