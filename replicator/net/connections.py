"""Opens the connections of tasks: to sources, brokers, schema registries and targets. No other module opens one.

A host name is looked up once, its addresses are compared with the lists of allowed ones, and what was compared is
connected to: a name whose address changes between the two cannot lead elsewhere. There are two lists, and both have to
permit an address: that of this host, which its operator gives by options, and that of the cluster, from ZooKeeper.
Without a list everything is allowed.
"""

from __future__ import annotations

import functools
import ipaddress
import socket
from typing import Any, Final, NamedTuple

from replicator.host import access
from replicator.net.outgoing import AllowList, IpAddress, parse_list, refusal

OF_CLUSTER: Final = "of the cluster"


class Address(NamedTuple):
    """One address of a host, as `socket.getaddrinfo` describes it."""

    family: int
    kind: int
    protocol: int
    sockaddr: tuple[Any, ...]


class _Cluster:
    """The list of the cluster, as this process knows it."""

    entries: tuple[str, ...] | None = None


def set_cluster_list(entries: tuple[str, ...] | None) -> None:
    """For all connections that this process opens from now on. None: the cluster has no list."""
    _Cluster.entries = entries


def cluster_list() -> tuple[str, ...] | None:
    return _Cluster.entries


def lists() -> tuple[AllowList, ...]:
    """Raises ConfigError E1051."""
    return (*host_lists(), *((_parsed(_Cluster.entries, OF_CLUSTER),) if _Cluster.entries is not None else ()))


def host_lists() -> tuple[AllowList, ...]:
    """That of the options of this process; () without one. Raises ConfigError E1051."""
    given = access.outgoing_entries()
    origin = f"of {access.process_name()}" if access.is_service() else "of this host"
    return (_parsed(given, origin),) if given else ()


def is_limited() -> bool:
    return bool(access.outgoing_entries()) or _Cluster.entries is not None


@functools.lru_cache(maxsize=8)
def _parsed(entries: tuple[str, ...], origin: str) -> AllowList:
    return parse_list(entries, origin)


def resolve(host: str, port: int, by: tuple[AllowList, ...] | None = None) -> list[Address]:
    """The allowed addresses of a host, in the order that the system prefers. Blocks as long as the system's resolver.

    Args:
        by: the lists that have to permit an address; default: all.

    Raises:
        OSError, UnicodeError: the name can't be looked up.
        ConfigError: E1050, no address is allowed; E1051.
    """
    needed = lists() if by is None else by
    for each in needed:  # before a resolver is asked: names carry data out, too
        if not each.may_permit(host, port):
            raise refusal(host, port, (), each)
    found = [
        Address(int(family), int(kind), protocol, sockaddr)
        for family, kind, protocol, _, sockaddr in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    ]
    for each in needed:
        permitted = [one for one in found if each.permits(host, _ip(one), port)]
        if found and not permitted:
            raise refusal(host, port, [_ip(one) for one in found], each)
        found = permitted
    return found


def connect(host: str, port: int, timeout: float) -> socket.socket:
    """A TCP connection; takes at most `timeout` seconds for each address. Raises as `resolve`; OSError."""
    failed: OSError | None = None
    for address in resolve(host, port):
        made = socket.socket(address.family, address.kind, address.protocol)
        try:
            made.settimeout(timeout)
            made.connect(address.sockaddr)
        except OSError as error:
            made.close()
            failed = error
        except BaseException:
            made.close()
            raise
        else:
            return made
    raise failed or OSError(f"{host} has no address")


def _ip(address: Address) -> IpAddress:
    return ipaddress.ip_address(str(address.sockaddr[0]))
