"""ZooKeepers with a port for TLS and one without, logins by SASL, and the login files of each role."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from dev.servers.authority import Authority
from dev.servers.ports import free_port
from dev.servers.zookeeper import ZooKeeper

USERS: Final = ("core", "server", "monitor", "admin", "core2", "agent")
_PROVIDERS: Final = "org.apache.zookeeper.server.auth."


class SecureZooKeeper(ZooKeeper):
    """
    Args:
        authority: of servers and clients.
        certificate: certificate and key of the server, each a PEM file; default: a valid one for 127.0.0.1.
        clients: "need": a client needs a certificate; "none": it is not asked for one.
        passwords: by user; default: those that `login` writes.
    """

    def __init__(
        self,
        authority: Authority,
        certificate: tuple[Path, Path] | None = None,
        clients: str = "none",
        passwords: Mapping[str, str] | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.secure_port = free_port()
        self.authority, self._clients = authority, clients
        self._passwords = passwords or {name: password(name) for name in USERS}
        self._certificate = certificate or authority.leaf("127.0.0.1")

    @property
    def secure(self) -> str:
        return f"{self.host}:{self.secure_port}"

    def _settings(self) -> dict[str, object]:
        store = self.folder / "server.pem"
        store.write_bytes(self._certificate[1].read_bytes() + self._certificate[0].read_bytes())
        users = " ".join(f'user_{name}="{word}"' for name, word in self._passwords.items())
        module = "org.apache.zookeeper.server.auth.DigestLoginModule required"
        (self.folder / "jaas.conf").write_text(f"Server {{ {module} {users}; }};\n")
        return super()._settings() | {
            "secureClientPort": self.secure_port,
            "secureClientPortAddress": self.host,
            "serverCnxnFactory": "org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location": store,
            "ssl.keyStore.type": "PEM",
            "ssl.trustStore.location": self.authority.ca,
            "ssl.trustStore.type": "PEM",
            "ssl.clientAuth": self._clients,
            "ssl.hostnameVerification": "false",
            "authProvider.sasl": f"{_PROVIDERS}SASLAuthenticationProvider",
            "authProvider.x509": f"{_PROVIDERS}X509AuthenticationProvider",
        }

    def _java_options(self) -> list[str]:
        return [f"-Djava.security.auth.login.config={self.folder / 'jaas.conf'}"]


def password(user: str) -> str:
    return f"s3cret-of-{user}"


def login(folder: Path, user: str, kind: str = "sasl", *, ca: Path | None = None, **more: Any) -> Path:
    """A --zookeeper-config of mode 0600."""
    values = {"login": kind, "user": user, "password": password(user)} | ({"ca": ca} if ca else {}) | more
    path = folder / f"{user}-{kind}.conf"
    path.touch(mode=0o600)
    path.write_text("".join(f"{key} = {value}\n" for key, value in values.items()))
    return path
