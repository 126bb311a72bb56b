"""Parses addresses that operators give: HOST:PORT, and lists of ZooKeeper servers with an optional chroot.

Every function raises ValueError with the reason, in words for the operator.
"""

from __future__ import annotations

import ipaddress
import re
from typing import Final, NamedTuple

_ADDRESS: Final = re.compile(r"(?:\[(?P<six>[^\[\]]*)\]|(?P<host>[^:\[\]]*))(?::(?P<port>[^:\[\]]*))?")
_LABEL: Final = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9_])?")
_NUMERIC: Final = re.compile(r"[0-9.]+")


class HostPort(NamedTuple):
    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class Ensemble(NamedTuple):
    """Servers of ZooKeeper. `chroot`: the znode that all paths are below; "" for none."""

    servers: tuple[HostPort, ...]
    chroot: str = ""

    def __str__(self) -> str:
        return ",".join(map(str, self.servers)) + self.chroot

    @property
    def key(self) -> str:
        """The same for the same servers, in whatever order and case they are given."""
        return ",".join(sorted(str(server).lower() for server in self.servers)) + self.chroot


def parse_address(text: str, *, lowest_port: int = 1) -> HostPort:
    """`HOST:PORT` or `[IPV6]:PORT`."""
    if "://" in text:
        raise ValueError(f"{text!r} has a scheme, and HOST:PORT has none")
    if any(char.isspace() for char in text):
        raise ValueError(f"{text!r} has white space in it; several servers are separated by commas")
    match = _ADDRESS.fullmatch(text)
    if match is None:
        six = " (an IPv6 address is written in brackets: [::1]:2181)" if text.count(":") > 1 else ""
        raise ValueError(f"{text!r} is not HOST:PORT{six}")
    host = _ipv6(match["six"]) if match["six"] is not None else _host(match["host"], text)
    if match["port"] is None:
        raise ValueError(f"{text!r} has no port")
    return HostPort(host, _port(match["port"], text, lowest_port))


def parse_ensemble(text: str) -> Ensemble:
    """`HOST:PORT[,HOST:PORT...][/CHROOT]`. White space around the parts, and a `/` at the end, are dropped."""
    listed, slash, chroot = text.strip().partition("/")
    if listed.endswith(":") and chroot.startswith("/"):
        raise ValueError(f"{text!r} has a scheme, and HOST:PORT has none")
    parts = [part.strip() for part in listed.split(",")]
    if not all(parts):
        raise ValueError("no server is given" if not any(parts) else f"{text!r} has an empty entry between its commas")
    servers = tuple(dict.fromkeys(parse_address(part) for part in parts))
    return Ensemble(servers, _chroot(slash + chroot))


def _host(host: str, text: str) -> str:
    if not host:
        raise ValueError(f"{text!r} has no host")
    if _NUMERIC.fullmatch(host):
        try:
            return str(ipaddress.IPv4Address(host))
        except ValueError:
            raise ValueError(f"{host!r} is not an IPv4 address") from None
    labels = host.removesuffix(".").split(".")
    if len(host) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{host!r} is not a host name")
    return host


def _ipv6(host: str) -> str:
    try:
        return str(ipaddress.IPv6Address(host))
    except ValueError:
        raise ValueError(f"[{host}] is not an IPv6 address") from None


def _port(port: str, text: str, lowest: int) -> int:
    if not port:
        raise ValueError(f"{text!r} has no port")
    if not (port.isascii() and port.isdigit()):
        raise ValueError(f"the port of {text!r} is not a number")
    if len(port) > 5 or not lowest <= int(port) <= 65535:
        raise ValueError(f"the port of {text!r} is not between {lowest} and 65535")
    return int(port)


def _chroot(path: str) -> str:
    path = path.rstrip("/")
    if not path:
        return ""
    if "," in path:
        raise ValueError(f"the chroot {path!r} has a comma: it is given once, behind the last server")
    names = path[1:].split("/")
    if not path.isprintable() or any(char.isspace() for char in path) or not {"", ".", ".."}.isdisjoint(names):
        raise ValueError(f"the chroot {path!r} is not the path of a znode")
    return path
