"""The one place where TLS contexts for database servers are made."""

from __future__ import annotations

import ssl

from replicator.config.tls import Tls
from replicator.errors import SourceError


def context(tls: Tls | None) -> ssl.SSLContext | None:
    """A context that verifies certificate and host name; None where the task has no `tls`: then nothing is encrypted.

    Only `insecure: true` switches the verification off. Raises SourceError E2102 for files that can't be read.
    """
    if tls is None:
        return None
    try:
        made = ssl.create_default_context(cafile=tls.ca)
        made.minimum_version = ssl.TLSVersion.TLSv1_2
        # The certificates that MySQL makes for itself lack extensions which the strict check of newer Pythons wants.
        made.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if tls.cert is not None:
            made.load_cert_chain(tls.cert, tls.key)
    except (OSError, ValueError) as error:
        raise SourceError(
            "E2102",
            "the TLS files can't be used",
            found=f"{error} (ca={tls.ca}, cert={tls.cert}, key={tls.key})",
            wanted="readable PEM files",
        ) from error
    if tls.insecure:
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    return made
