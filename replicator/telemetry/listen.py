"""Options of a listener of Server and Monitor: address, TLS files, limits. Imports nothing slow."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal, NamedTuple, TypeAlias

ClientCertificates: TypeAlias = Literal["required", "wanted"]

MAX_CONNECTIONS: Final = 500
MAX_CONNECTIONS_PER_ADDRESS: Final = 100


class TlsFiles(NamedTuple):
    """Of a listener.

    Attributes:
        certificate: PEM, the chain behind the certificate itself.
        client_ca: authorities of client certificates; None: none are asked for.
        client_certificates: "wanted": clients without one are served, too.
    """

    certificate: Path
    key: Path
    client_ca: Path | None = None
    client_certificates: ClientCertificates = "required"


class Limits(NamedTuple):
    """connections: in all; connections_per_address: of each client address except this machine's own, behind which a
    proxy may serve many clients."""

    connections: int = MAX_CONNECTIONS
    connections_per_address: int = MAX_CONNECTIONS_PER_ADDRESS


DEFAULT_LIMITS: Final = Limits()


class Listen(NamedTuple):
    """
    Attributes:
        where: for `http.parse_listen`.
        allowed_hosts: names that requests may call us by, besides our address (`hosts.Names`).
        insecure_http: listen without TLS where others can read along.
        tls: None: plain HTTP.
    """

    where: str
    allowed_hosts: tuple[str, ...] = ()
    insecure_http: bool = False
    tls: TlsFiles | None = None
    limits: Limits = DEFAULT_LIMITS
