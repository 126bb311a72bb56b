"""TLS contexts for the servers that we are a client of, and the expiry of their certificates."""

from __future__ import annotations

import logging
import ssl
import time
from typing import Any, Final

from replicator.config.tls import Tls
from replicator.host import access, files

log = logging.getLogger(__name__)

EARLY_DAYS: Final = 14
"""So long before a certificate ends somebody is told."""
_DAY: Final = 86_400.0


_MOST: Final = 4 << 20
"""Bytes of a file: a system's whole store of authorities has a quarter of a megabyte."""


class FilesUnusable(Exception):
    """Files of a `tls` can't be read; the text says which, and why."""


def read(path: str, *, public: bool = False) -> tuple[str, bytes]:
    """The real path and the content of a file of a `tls`. It has to be where secrets are, or, for certificates of
    authorities (`public`), where the system keeps them. Raises FilesUnusable."""
    try:
        real, content = files.read(
            path, (*access.secrets_directories(), *(access.TRUST_STORES if public else ())), _MOST
        )
    except files.NotAllowed as error:
        raise FilesUnusable(f"tasks may not read {path}: {error}; see --secrets-directory") from None
    except files.NotUsable as error:
        raise FilesUnusable(f"{path}: {error}") from None
    return str(real), content


def context(tls: Tls) -> ssl.SSLContext:
    """A context that verifies certificate and host name; only `insecure: true` switches that off. The files are read
    anew each time. Raises FilesUnusable."""
    ca = read(tls.ca, public=True)[0] if tls.ca is not None else None
    cert = read(tls.cert)[0] if tls.cert is not None else None
    key = read(tls.key)[0] if tls.key is not None else None
    try:
        made = ssl.create_default_context(cafile=ca)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        # The certificates that MySQL makes for itself lack extensions which the strict check of newer Pythons wants.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if cert is not None:
            made.load_cert_chain(cert, key, password="")  # OpenSSL would ask the terminal for one
    except (OSError, ValueError) as error:
        raise FilesUnusable(f"{error} (ca={tls.ca}, cert={tls.cert}, key={tls.key})") from error
    if tls.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made


def days_left(connection: Any) -> float | None:
    """Until the certificate ends that the server has shown, by our clock; None without one that was verified.

    Args:
        connection: a socket.
    """
    shown = connection.getpeercert() if isinstance(connection, ssl.SSLSocket) else None
    if not shown or "notAfter" not in shown:
        return None
    return (ssl.cert_time_to_seconds(str(shown["notAfter"])) - time.time()) / _DAY


class Reminder:
    """Says in the log that a certificate ends soon, once a day for each server, however often we connect."""

    def __init__(self) -> None:
        self._told: dict[str, float] = {}

    def look(self, where: str, days: float | None) -> None:
        now = time.monotonic()
        if days is None or days > EARLY_DAYS or now - self._told.get(where, -_DAY) < _DAY:
            return
        self._told[where] = now
        log.warning("the certificate of %s ends in %.1f days: give the server a new one", where, days)
