"""Certificates for one test, or one run of the demo."""

from __future__ import annotations

import datetime
import ipaddress
from pathlib import Path
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_HOUR = datetime.timedelta(hours=1)
_SIGNS = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Authority:
    """Certificates for this test alone, in `folder`. lasts: of its own certificate."""

    def __init__(self, folder: Path, name: str, lasts: datetime.timedelta = _HOUR) -> None:
        self.folder, self.name = folder, name
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._sign(name, self.key.public_key(), authority=True, lasts=lasts)
        self.ca = self._write("ca.pem", self.certificate.public_bytes(serialization.Encoding.PEM))

    def leaf(self, host: str, lasts: datetime.timedelta = _HOUR) -> tuple[Path, Path]:
        """Certificate and key for `host`, an address or a name, in files of its name. `lasts`: negative: it has
        expired."""
        key = ec.generate_private_key(ec.SECP256R1())
        pem = serialization.Encoding.PEM
        plain = serialization.NoEncryption()
        certificate = self._sign(f"{self.name} leaf", key.public_key(), host=host, lasts=lasts)
        return (
            self._write(f"{host}.pem", certificate.public_bytes(pem)),
            self._write(f"{host}.key", key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)),
        )

    def _sign(
        self, subject: str, key: Any, *, authority: bool = False, host: str = "", lasts: datetime.timedelta = _HOUR
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        own = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
        issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, self.name)])
        builder = x509.CertificateBuilder(issuer, own, key, x509.random_serial_number())
        builder = builder.not_valid_before(now - _HOUR)
        builder = builder.not_valid_after(now + lasts)
        builder = builder.add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        # Python 3.13 verifies strictly: with the identifiers of RFC 5280, and the usage of an authority's key.
        issued = x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key())
        builder = builder.add_extension(issued, critical=False)
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        if authority:
            builder = builder.add_extension(_SIGNS, critical=True)
        if host:
            builder = builder.add_extension(x509.SubjectAlternativeName([_general_name(host)]), critical=False)
        return builder.sign(self.key, hashes.SHA256())

    def _write(self, name: str, data: bytes) -> Path:
        path = self.folder / f"{self.name}-{name}"
        path.write_bytes(data)
        return path


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
