"""Findings about the encryption of a connection: encrypted, verified, and until when."""

from __future__ import annotations

from collections.abc import Iterable

from replicator.config.tls import Tls
from replicator.host.network import is_loopback, numeric
from replicator.model.finding import Finding
from replicator.net import certificate_expiry
from replicator.net.tls import EARLY_DAYS


def encrypted(part: str, tls: Tls | None, hosts: Iterable[str]) -> Finding:
    """Args: part: "source" or "sink"; hosts: names or addresses, a port may follow."""
    which = f"{part}.tls"
    if tls is not None and tls.insecure:
        fix = f"Remove `{which}.insecure` and set `{which}.ca`."
        return Finding(which, "warn", "encrypted, the server's certificate is not verified", "verified", fix)
    if tls is not None:
        return Finding.ok(which, "encrypted and verified")
    if all(is_loopback(_host(each)) for each in hosts):
        return Finding.ok(which, "not encrypted, on this machine")
    found = "not encrypted: rows, and with some logins the password, can be read on the way"
    return Finding(which, "warn", found, "TLS", f"Add `{which}: {{ca: /path/to/ca.pem}}`.")


def _host(address: str) -> str:
    return address if numeric(address) else address.rpartition(":")[0] or address


def ending_files(part: str, tls: Tls | None) -> list[Finding]:
    """Only what ends soon."""
    fix = "Put a new one in its place; it is read when the next connection is made."
    found = [(f"{each.of} ends in {each.days:.1f} days", each.days) for each in certificate_expiry.of_files(tls)]
    return [_finding(f"{part}.certificate_files", said, days, fix) for said, days in found if days <= EARLY_DAYS]


def server_certificate(part: str, where: str, days: float | None, fix: str) -> list[Finding]:
    """Args: where: host:port; days: `tls.days_left`."""
    if days is None:
        return []
    return [_finding(f"{part}.certificate", f"the certificate of {where} ends in {days:.1f} days", days, fix)]


def _finding(which: str, found: str, days: float, fix: str) -> Finding:
    if days > EARLY_DAYS:
        return Finding.ok(which, found)
    return Finding(which, "warn", found, f"more than {EARLY_DAYS} days", fix)
