"""Logins with `caching_sha2_password` and `sha256_password` on unverified connections.

Without TLS both send the password under an RSA key of the server. The client library asks the server for that key and
believes it, so a server that is not the one we mean gets the password. MySQL's own clients do so only when they are
told to (get-server-public-key; else error 2061), and so do we: the key is the configured one, or there is no login.

Over TLS both send the password as it is, and MySQL does not accept an encrypted one there. Where TLS does not verify
the server, there is no login.

The short form of caching_sha2_password, a proof that we know the password, needs no key and is always allowed.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from replicator.errors import ReplicatorError
from replicator.mysql.packets import PacketSocket, malformed
from replicator.mysql.sides import Side
from replicator.net import tls

PLUGINS: Final = ("caching_sha2_password", "sha256_password")
_SALT_BYTES: Final = 20
_OK, _MORE = 0, 1
_SWITCH_TO_NATIVE: Final = b"\xfemysql_native_password\0"
_CONFIRMED, _ASKS_FOR_PASSWORD = 3, 4
"""Of caching_sha2_password: the proof was accepted; the server does not have the password in its cache."""


def public_key(side: Side, path: str) -> rsa.RSAPublicKey:
    """The RSA key in a PEM file. Raises `Side.refused`, `Side.unprotected`."""
    try:
        key = serialization.load_pem_public_key(tls.read(path, public=True)[1])
    except (tls.FilesUnusable, ValueError, UnsupportedAlgorithm) as error:
        raise _unusable(side, path, str(error)) from error
    if not isinstance(key, rsa.RSAPublicKey):
        raise _unusable(side, path, type(key).__name__)
    return key


def handlers(
    side: Side, where: str, packets: PacketSocket, key: rsa.RSAPublicKey | None, *, over_tls: bool = False
) -> dict[str, Any]:
    """For the library's `auth_plugin_map`.

    The library has no public call that reads a packet: from the first answer on the login goes over `packets`, and the
    library hears of its end alone.

    Args:
        side, where: of the errors; host:port.
        packets: of the connection that logs in.
        key: of the server; None: the password is not sent.
        over_tls: the connection is encrypted, to a server that is not verified.
    """
    unsent = unverified if over_tls else _unknown_key

    class CachingSha2:
        def __init__(self, connection: Any) -> None:
            self._connection = connection
            self._login = _Login(connection, packets)

        def authenticate(self, packet: Any) -> None:
            connection, login = self._connection, self._login
            if not connection.password:
                return login.end(login.ask(b""))
            said = bytes(packet.get_all_data())
            if packet.is_auth_switch_request():
                connection.salt = _salt(packet)
                said = login.ask(proof(connection.password, connection.salt))
            if said[0] != _MORE:
                return login.end(said)
            if said[1] == _CONFIRMED:
                return login.end(login.receive())
            if said[1] != _ASKS_FOR_PASSWORD:
                raise malformed(f"caching_sha2_password answers {said[1]}")
            return login.end(login.ask(_sealed(connection, key, unsent(side, where, "caching_sha2_password"))))

    class Sha256:
        def __init__(self, connection: Any) -> None:
            self._connection = connection
            self._login = _Login(connection, packets)

        def authenticate(self, packet: Any) -> None:
            """An extra packet holds the key of the server, which is not looked at."""
            connection, login = self._connection, self._login
            if packet.is_auth_switch_request():
                connection.salt = _salt(packet)
            if not connection.password:
                return login.end(login.ask(b"\0"))
            return login.end(login.ask(_sealed(connection, key, unsent(side, where, "sha256_password"))))

    return dict(zip(PLUGINS, (CachingSha2, Sha256), strict=True))


class _Login:
    """The packets of a login from the one that the client library has read last."""

    def __init__(self, connection: Any, packets: PacketSocket) -> None:
        self._connection = connection
        self._packets = packets
        self._ours = False

    def receive(self) -> bytes:
        self._ours = True
        return self._packets.receive()

    def ask(self, data: bytes) -> bytes:
        """Only who has read the last packet knows its number, and with it that of the next one."""
        (self._packets.reply if self._ours else self._connection.write_packet)(data)
        return self.receive()

    def end(self, said: bytes) -> None:
        """The library takes the login for complete when a plugin returns None. A router that has let us in may then ask
        for mysql_native_password, of the server behind it: a proof, which needs no key."""
        if said.startswith(_SWITCH_TO_NATIVE):
            password, salt = self._connection.password, said[len(_SWITCH_TO_NATIVE) :][:_SALT_BYTES]
            said = self.ask(native_proof(password, salt) if password else b"")
        if said[0] != _OK:
            raise malformed(f"a login is answered with {said[0]}")


def proof(password: bytes, salt: bytes) -> bytes:
    """SHA256(password) XOR SHA256(SHA256(SHA256(password)) + salt)."""
    once = hashlib.sha256(password).digest()
    mask = hashlib.sha256(hashlib.sha256(once).digest() + salt).digest()
    return bytes(left ^ right for left, right in zip(once, mask, strict=True))


def native_proof(password: bytes, salt: bytes) -> bytes:
    """SHA1(password) XOR SHA1(salt + SHA1(SHA1(password)))."""
    once = hashlib.sha1(password).digest()  # noqa: S324  (what the protocol has)
    mask = hashlib.sha1(salt + hashlib.sha1(once).digest()).digest()  # noqa: S324
    return bytes(left ^ right for left, right in zip(once, mask, strict=True))


def unverified(side: Side, where: str, plugin: str) -> ReplicatorError:
    """The error of a login that would send the password over TLS to a server that is not verified."""
    return side.refused(
        side.unprotected,
        f"{where} requests the password over TLS without verification of the server",
        found=f"{plugin} with {side.section}.tls.insecure",
        wanted="a server that is verified",
        fix=f"Set `{side.section}.tls.ca` to the CA of the server's certificate and remove "
        f"`{side.section}.tls.insecure`. `{side.section}.send_password_unverified: true` sends the password to any "
        "server that answers.",
    )


def _unknown_key(side: Side, where: str, plugin: str) -> ReplicatorError:
    return side.refused(
        side.unprotected,
        f"{where} requests the password encrypted with a key that it sends itself",
        found=f"{plugin} without TLS, and no {side.section}.server_public_key",
        wanted="a server that is verified or whose key is known",
        fix=f"Set `{side.section}.tls: {{ca: /path/to/ca.pem}}`, or `{side.section}.server_public_key` to the "
        "server's public_key.pem (SHOW STATUS LIKE '%rsa_public_key' on the server shows it). "
        f"`{side.section}.get_server_public_key: true` accepts any key.",
    )


def _sealed(connection: Any, key: rsa.RSAPublicKey | None, unsent: ReplicatorError) -> bytes:
    """The password under `key`. Raises `unsent` without one."""
    if key is None:
        raise unsent
    salt = connection.salt[:_SALT_BYTES]
    text = connection.password + b"\0"
    mixed = bytes(byte ^ salt[at % len(salt)] for at, byte in enumerate(text))
    sha1 = hashes.SHA1()  # noqa: S303  (what the protocol has)
    return key.encrypt(mixed, padding.OAEP(mgf=padding.MGF1(algorithm=sha1), algorithm=sha1, label=None))


def _salt(packet: Any) -> bytes:
    """Of an auth switch request, behind the plugin's name."""
    return bytes(packet.read_all()).removesuffix(b"\0")


def _unusable(side: Side, path: str, why: str) -> ReplicatorError:
    return side.refused(
        side.unprotected,
        f"the file of `{side.section}.server_public_key` can't be used",
        found=f"{path}: {why}",
        wanted="an RSA public key (PEM), as in public_key.pem of the server's data directory",
        fix="SHOW STATUS LIKE '%rsa_public_key' on the server shows it.",
    )
