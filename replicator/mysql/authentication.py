"""Authentication methods that are accepted from a server: never a clear-text password to an unverified server, never a
local file.

The server chooses how an account logs in. One that is not the one we mean, or somebody on the way, could choose a way
that gives him the password.
"""

from __future__ import annotations

import struct
from typing import Any, Final, Never

from replicator.config.database_server import DatabaseServer
from replicator.config.tls import Tls
from replicator.errors import ReplicatorError
from replicator.host.network import is_loopback
from replicator.mysql import sha2
from replicator.mysql.packets import PacketSocket
from replicator.mysql.sides import Side, side_of

CLEAR: Final = ("mysql_clear_password", "dialog", "mysql_old_password")
"""Plugins that send the password as it is; the last one a hash of it that is found by trying within minutes."""

PROTOCOL_ERRORS: Final = (RuntimeError, struct.error, IndexError, UnicodeDecodeError, AssertionError)
"""What the client library raises for packets that no server sends, and for a server that asks for one of our files."""


def auth_plugins(config: DatabaseServer, where: str, packets: PacketSocket) -> dict[str, Any]:
    """For the library's `auth_plugin_map`: what takes the place of its own logins, over the connection of `packets`.

    Raises `Side.refused`, `Side.unprotected`: the file of `server_public_key` can't be used.
    """
    side = side_of(config.section)
    if config.tls is not None:
        return _over_tls(config, config.tls, where, packets)
    if config.server_public_key is not None:
        return {
            **refusing_plugins(side, where),
            **sha2.handlers(side, where, packets, sha2.public_key(side, config.server_public_key)),
        }
    if config.get_server_public_key or is_loopback(config.host or ""):
        return refusing_plugins(side, where)
    return {**refusing_plugins(side, where), **sha2.handlers(side, where, packets, None)}


def _over_tls(config: DatabaseServer, tls: Tls, where: str, packets: PacketSocket) -> dict[str, Any]:
    """MySQL reads the password as it is over any TLS: a key of the server can't be used there."""
    if not tls.insecure:
        return {}
    side = side_of(config.section)
    if config.send_password_unverified or is_loopback(config.host or ""):
        return refusing_plugins(side, where)
    return {**refusing_plugins(side, where), **sha2.handlers(side, where, packets, None, over_tls=True)}


class Password(bytes):
    """A password that can't be sent as it is.

    To a server that greets with sha256_password, PyMySQL answers over TLS with the password and a zero byte, before it
    asks `auth_plugin_map`. It appends that byte wherever it sends the password as it is, and nowhere else.

    Args:
        side, where: of the errors; host:port.
    """

    side: Side
    where: str

    def __new__(cls, password: bytes, side: Side, where: str) -> Password:
        made = super().__new__(cls, password)
        made.side, made.where = side, where
        return made

    def __add__(self, other: object) -> Never:
        raise sha2.unverified(self.side, self.where, "sha256_password")


def password(config: DatabaseServer, text: str, where: str) -> bytes:
    """What the client library gets as the password."""
    encoded = text.encode()  # PyMySQL would encode text as latin-1
    unverified = config.tls is not None and config.tls.insecure
    if encoded and unverified and not config.send_password_unverified and not is_loopback(config.host or ""):
        return Password(encoded, side_of(config.section), where)
    return encoded


def refusing_plugins(side: Side, where: str) -> dict[str, Any]:
    """For the library's `auth_plugin_map` of a connection whose server (`where`: host:port) is not verified."""

    class Refused:
        def __init__(self, connection: object) -> None:
            pass

        def authenticate(self, packet: object) -> None:
            raise side.refused(
                side.unprotected,
                f"{where} requests the password in clear text",
                found="one of " + ", ".join(CLEAR),
                wanted="an encrypted connection to a verified server",
                fix=f"Add `{side.section}.tls: {{ca: /path/to/ca.pem}}`, or use another authentication plugin for the "
                "account.",
            )

    return dict.fromkeys(CLEAR, Refused)


def protocol_error(side: Side, error: Exception, where: str) -> ReplicatorError:
    asks = isinstance(error, RuntimeError)  # PyMySQL: this, or a missing package that we require
    found = "the server requests a local file (LOAD DATA LOCAL)" if asks else type(error).__name__
    return side.refused(side.other, f"the protocol of {where} is not supported", found=found)
