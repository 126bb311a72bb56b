"""How a database server is reached: the keys that sources and targets have in common."""

from __future__ import annotations

from typing import Annotated, ClassVar, Final, Literal, Self, TypeAlias

from pydantic import Field, model_validator

from replicator.config.annotated import SecretRef, own_check
from replicator.config.base import Model
from replicator.config.ddns import REFERENCE
from replicator.config.tls import Tls
from replicator.errors import ConfigError

Port = Annotated[int, Field(ge=1, le=65535)]
Address = Annotated[str, Field(pattern=r"^(\[[0-9A-Fa-f:.]+\]|[^\s:\[\]]+):\d{1,5}$", description="host:port")]
BookReference = Annotated[str, Field(pattern=REFERENCE, description="ddns:APP/DOMAIN")]
DEFAULT_ADDRESS: Final = ("127.0.0.1", 3306)
"""Of a server without host, port and hosts."""

Section: TypeAlias = Literal["source", "sink"]


class DatabaseServer(Model):
    """`section`: of the configuration, in which these keys are; errors name it."""

    section: ClassVar[Section]

    type: Literal["mysql", "mariadb"] = Field(description="type of the server")
    host: str | None = Field(
        None, min_length=1, description="name or address of the server; default without hosts: 127.0.0.1"
    )
    port: Port | None = Field(None, description="TCP port of the server; default without hosts: 3306")
    hosts: tuple[Address, ...] = Field(
        (), max_length=20, description="instead of host and port: host:port of the servers of one replication group"
    )
    address: BookReference | None = Field(
        None, description="instead of host and port: ddns:APP/DOMAIN, a name of the address book (`replicator ddns`)"
    )
    user: str = Field(min_length=1, description="account")
    password: SecretRef
    connect_timeout_s: float = Field(10, gt=0, le=300, description="seconds to wait for a connection")
    tls: Tls | None = Field(None, description="encrypt the connection and verify the server")
    server_public_key: str | None = Field(
        None,
        description="path of the server's public_key.pem, for caching_sha2_password and sha256_password without tls",
    )
    get_server_public_key: bool = Field(
        False, description="for these logins, trust the key that the server sends; always true on loopback"
    )
    send_password_unverified: bool = Field(
        False,
        description=(
            "for these logins with tls.insecure, send the password to an unverified server; always true on loopback"
        ),
    )

    @model_validator(mode="after")
    def _one_address(self) -> Self:
        return own_check(self, _check_address)


def _check_address(server: DatabaseServer) -> None:
    given = [name for name in ("host", "port") if getattr(server, name) is not None]
    written = (server.host, server.port) == DEFAULT_ADDRESS  # as earlier versions did beside hosts; it is not used
    if server.address and (server.hosts or given):
        given = [*given, *(["hosts"] if server.hosts else [])]
        raise ConfigError(
            "E1003",
            f"{server.section}.address and {server.section}.{given[0]} are both given",
            found=f"address: {server.address}",
            wanted="address, or one of host with port, and hosts",
            fix="Remove one of them: the address book has host and port.",
        )
    if server.hosts and given and not written:
        raise ConfigError(
            "E1003",
            f"{server.section}.{given[0]} and {server.section}.hosts are both given",
            found=f"{given[0]}: {getattr(server, given[0])}",
            wanted="hosts, or host and port",
            fix="Remove one of them. `hosts` includes the port of each server.",
        )
