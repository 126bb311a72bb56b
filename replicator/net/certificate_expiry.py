"""Expiry dates of the TLS certificates that a task uses: of servers, and in files of its configuration."""

from __future__ import annotations

import time

import msgspec
from cryptography import x509

from replicator.config.tls import Tls
from replicator.net.tls import FilesUnusable, read

_DAY_MS = 86_400_000


class Certificate(msgspec.Struct, frozen=True):
    """`end_ms`: since the epoch; `of`: its owner, for messages."""

    end_ms: int
    of: str

    @property
    def days(self) -> float:
        return (self.end_ms - time.time() * 1000) / _DAY_MS


def of_server(where: str, days: float | None) -> list[Certificate]:
    """`where`: host:port; `days`: `tls.days_left`."""
    return [] if days is None else [Certificate(int(time.time() * 1000 + days * _DAY_MS), where)]


def of_files(tls: Tls | None) -> list[Certificate]:
    """Ours ends with the first of its chain; the authorities with the last, as an old one may stand beside its heir.
    A file that can't be read is left out: the connection refuses it, and says so (E2102)."""
    if tls is None:
        return []
    found = []
    for path, which, public in ((tls.cert, min, False), (tls.ca, max, True)):
        ends = _ends(path, public) if path is not None else []
        if path is not None and ends:
            found.append(Certificate(which(ends), path))
    return found


def _ends(path: str, public: bool) -> list[int]:
    try:
        certificates = x509.load_pem_x509_certificates(read(path, public=public)[1])
    except (FilesUnusable, ValueError):
        return []
    return [int(each.not_valid_after_utc.timestamp() * 1000) for each in certificates]
