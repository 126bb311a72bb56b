"""The certificate of a listener, loaded again when its files change, without a restart or dropped connections.

Each new connection uses the context that was loaded last. Files that can't be used leave the former context in place;
the log, the health check and a metric say so.
"""

from __future__ import annotations

import ssl
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from cryptography import x509

from replicator.errors import ProcessError
from replicator.host.files import check_private
from replicator.telemetry.listen import TlsFiles
from replicator.telemetry.log import get_logger

EARLY_DAYS: Final = 14
"""So long before the certificate expires somebody is told."""
INTERVAL: Final = 2.0
"""Seconds between two looks at the files. Files are loaded when two looks have seen the same, as certificate and key
are replaced one after the other."""
_DAY_MS: Final = 86_400_000
_log = get_logger("listener")

_Signature = tuple[tuple[int, int, int] | None, ...]


class ServerCertificate:
    """Call `start` to look at the files from then on, in a thread. Thread-safe.

    Attributes:
        context: for new connections.
        expires_ms: end of the first to expire of the chain in use.
        problem: why newer files are not in use; "" if they are.
    """

    def __init__(self, files: TlsFiles, clock_ms: Callable[[], int] = lambda: int(time.time() * 1000)) -> None:
        """Raises ProcessError E5080, E5081."""
        self._files = files
        self._clock_ms = clock_ms
        self._tried = self._pending = _signature(files)
        self.context, self.expires_ms = _load(files)
        self.problem = ""
        self._told_ms = 0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="server-certificate", daemon=True)

    @property
    def days_left(self) -> float:
        return (self.expires_ms - self._clock_ms()) / _DAY_MS

    def warnings(self) -> list[str]:
        """For health checks, which everybody may read: no paths and no names."""
        found = ["the new TLS certificate can't be used, the former one is in use; see the log"] if self.problem else []
        if self.days_left <= 0:
            found.append("the TLS certificate has expired")
        elif self.days_left < EARLY_DAYS:
            found.append(f"the TLS certificate expires in {self.days_left:.1f} days")
        return found

    def start(self) -> None:
        self._remind()
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(timeout=5)

    def _run(self) -> None:
        while not self._stop.wait(INTERVAL):
            self.look()

    def look(self) -> None:
        """Loads files that have changed. Raises nothing."""
        seen = _signature(self._files)
        if seen == self._tried or seen != self._pending:
            self._pending = seen
        else:
            self._tried = seen
            self._reload()
        self._remind()

    def _reload(self) -> None:
        try:
            self.context, self.expires_ms = _load(self._files)
        except ProcessError as error:
            self.problem = str(error)
            _log.error("new TLS files not used, the former certificate stays in use", code=error.code, error=str(error))
            return
        self.problem, self._told_ms = "", 0
        _log.info("TLS certificate loaded", file=str(self._files.certificate), days_left=round(self.days_left, 1))

    def _remind(self) -> None:
        """Once a day."""
        now = self._clock_ms()
        if self.days_left >= EARLY_DAYS or now - self._told_ms < _DAY_MS:
            return
        self._told_ms = now
        _log.warning(
            "TLS certificate expires soon", file=str(self._files.certificate), days_left=round(self.days_left, 1)
        )


def _signature(files: TlsFiles) -> _Signature:
    return tuple(_seen(path) for path in (files.certificate, files.key, files.client_ca) if path is not None)


def _seen(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_size


def _load(files: TlsFiles) -> tuple[ssl.SSLContext, int]:
    """A context and the time at which the certificate expires. Raises ProcessError E5080, E5081."""
    check_private(files.key)
    expires_ms = _expiry(files.certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(files.certificate, files.key, password="")  # OpenSSL would ask the terminal for one
    except (OSError, ValueError) as error:
        what = f"the TLS certificate {files.certificate} can't be used with the key {files.key}"
        wanted = "a certificate and its key, PEM, the key without a password"
        raise ProcessError("E5080", what, found=_reason(error), wanted=wanted) from None
    if files.client_ca is not None:
        required = files.client_certificates == "required"
        context.verify_mode = ssl.CERT_REQUIRED if required else ssl.CERT_OPTIONAL
        try:
            context.load_verify_locations(cafile=files.client_ca)
        except (OSError, ValueError) as error:
            what = f"the authorities of client certificates in {files.client_ca} can't be used"
            raise ProcessError("E5080", what, found=_reason(error), wanted="certificates, PEM") from None
    return context, expires_ms


def _expiry(path: Path) -> int:
    try:
        chain = x509.load_pem_x509_certificates(path.read_bytes())
    except (OSError, ValueError) as error:
        what = f"the TLS certificate {path} can't be read"
        raise ProcessError("E5080", what, found=_reason(error), wanted="a certificate, PEM") from None
    return int(min(each.not_valid_after_utc for each in chain).timestamp() * 1000)


def _reason(error: Exception) -> str:
    """Nothing of a file's content."""
    if isinstance(error, ssl.SSLError):
        return (error.reason or "no PEM file").lower().replace("_", " ")
    return (error.strerror if isinstance(error, OSError) else "") or "no PEM file, or a key with a password"
