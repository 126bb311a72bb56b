"""The one place where TLS contexts for servers that we are a client of are made, and their certificates looked at."""

from __future__ import annotations

import logging
import ssl
import time
from typing import Any, Final

from replicator.config.tls import Tls

log = logging.getLogger(__name__)

EARLY_DAYS: Final = 14
"""So long before a certificate ends somebody is told."""
_DAY: Final = 86_400.0


class FilesUnusable(Exception):
    """Files of a `tls` can't be read; the text says which there are, and why."""


def context(tls: Tls) -> ssl.SSLContext:
    """A context that verifies certificate and host name; only `insecure: true` switches that off. The files are read
    anew each time. Raises FilesUnusable."""
    try:
        made = ssl.create_default_context(cafile=tls.ca)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        # The certificates that MySQL makes for itself lack extensions which the strict check of newer Pythons wants.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if tls.cert is not None:
            made.load_cert_chain(tls.cert, tls.key)
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
