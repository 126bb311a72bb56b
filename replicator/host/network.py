"""Network addresses of this host."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Whether a name or address (no port) never leaves this machine. Names are not looked up: `localhost` alone is."""
    address = numeric(host.strip("[]"))
    if address is None:
        return host.lower().rstrip(".") == "localhost"
    mapped = getattr(address, "ipv4_mapped", None)
    return bool((mapped or address).is_loopback)


def numeric(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address that `host` is; None for a name."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        return None
