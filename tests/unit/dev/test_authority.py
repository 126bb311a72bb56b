"""Certificates of tests and of the demo."""

from __future__ import annotations

import contextlib
import ssl
from pathlib import Path

from dev.servers.authority import Authority


def test_strict_verification_accepts_the_certificates(tmp_path: Path) -> None:
    """As the default contexts of Python 3.13 verify."""
    authority = Authority(tmp_path, "ca")
    trusting = ssl.create_default_context(cafile=str(authority.ca))
    trusting.verify_flags |= ssl.VERIFY_X509_STRICT
    serving = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serving.load_cert_chain(*authority.leaf("127.0.0.1"))
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = trusting.wrap_bio(back, there, server_hostname="127.0.0.1")
    server = serving.wrap_bio(there, back, server_side=True)
    for one in (client, server, client, server):
        with contextlib.suppress(ssl.SSLWantReadError):
            one.do_handshake()
    assert client.getpeercert()
