"""Decides whether a task may connect to an address: lists of host names and networks. Pure, nothing is looked up.

A list has three kinds of entries, each with or without a port:

    10.0.0.0/8   192.0.2.7:3306   [2001:db8::/32]:9092      addresses, whatever name leads to them
    db1.example.com   kafka.example.com:9092                names as configurations have them
    *.example.com                                           every name below, at any depth

A name permits the addresses that it has, apart from those of this host and of its network segment (loopback,
link-local, metadata services of clouds): the zone of the name may be another's, and they answer every process here.
They are permitted as networks alone; `localhost` stands for 127.0.0.0/8 and ::1.
"""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple, TypeAlias

from replicator.errors import ConfigError

IpAddress: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

NOTHING: Final = "none"
"""The only entry of a list that permits nothing: an empty list is easily made by mistake."""
MOST_ENTRIES: Final = 1000
_SHOWN: Final = 6
_BRACKETS: Final = re.compile(r"\[(?P<inner>[^\[\]]*)\](?::(?P<port>.*))?")
_LABEL: Final = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER: Final = re.compile(r"[0-9]+|0x[0-9a-f]*")
_LOCALHOST: Final = "localhost"
_LOOPBACK: Final[tuple[Network, ...]] = (ipaddress.IPv4Network("127.0.0.0/8"), ipaddress.IPv6Network("::1/128"))
_NEVER_BY_NAME: Final[tuple[Network, ...]] = (
    ipaddress.IPv4Network("0.0.0.0/8"),  # this host, in Linux
    ipaddress.IPv4Network("100.100.100.200/32"),  # metadata of Alibaba Cloud
    ipaddress.IPv4Network("168.63.129.16/32"),  # of Azure
    ipaddress.IPv6Network("fd00:ec2::/32"),  # of AWS; 169.254.169.254 is link-local
)


class Entry(NamedTuple):
    """text: as it was given; networks: () for a name; name: lower-case, `.example.com` for all names below it, "" for
    networks; port: None for all."""

    text: str
    networks: tuple[Network, ...] = ()
    name: str = ""
    port: int | None = None

    def takes(self, port: int) -> bool:
        return self.port is None or self.port == port


class AllowList(NamedTuple):
    """origin: whose list it is, for errors."""

    origin: str
    entries: tuple[Entry, ...]

    def permits(self, host: str, address: IpAddress, port: int) -> bool:
        """host: as the configuration, or a server, names it; address: what is connected to."""
        found = unwrapped(address)
        entries = [entry for entry in self.entries if entry.takes(port)]
        if any(found in network for entry in entries for network in entry.networks):
            return True
        if literal(host) is not None or _is_local(found):
            return False
        name = normalized(host)
        return any(_names(entry, name) for entry in entries)

    def may_permit(self, host: str, port: int) -> bool:
        """False: it never does, whatever address a name has."""
        entries = [entry for entry in self.entries if entry.takes(port)]
        networks = [network for entry in entries for network in entry.networks]
        address, name = literal(host), normalized(host)
        if address is not None:
            return any(address in network for network in networks)
        if name == _LOCALHOST:
            return any(network.overlaps(own) for network in networks for own in _LOOPBACK if _same(network, own))
        return bool(networks) or any(_names(entry, name) for entry in entries)


def parse_list(texts: Iterable[str], origin: str) -> AllowList:
    """Raises ConfigError E1051 for an entry that is not valid, and for a list without entries."""
    given = list(dict.fromkeys(text.strip() for text in texts))
    wanted = "HOST, *.DOMAIN, ADDRESS or NETWORK, each with or without :PORT; or `none` alone"
    if not given or (NOTHING in given and len(given) > 1) or len(given) > MOST_ENTRIES:
        found = f"{len(given)} entries" if given else "no entries, or a record that is not readable"
        raise ConfigError("E1051", f"the list of outgoing addresses {origin} is not valid", found=found, wanted=wanted)
    if given == [NOTHING]:
        return AllowList(origin, ())
    try:
        return AllowList(origin, tuple(parse_entry(text) for text in given))
    except ValueError as error:
        what = f"the list of outgoing addresses {origin} has an invalid entry"
        raise ConfigError("E1051", what, found=str(error), wanted=wanted) from None


def parse_entry(text: str) -> Entry:
    """Raises ValueError with the reason, in words for the operator."""
    shown = repr(text[:80])
    if "://" in text:
        raise ValueError(f"{shown} has a scheme")
    match = _BRACKETS.fullmatch(text)
    if match is not None:
        return Entry(text, (_network(match["inner"], shown, six=True),), port=_port(match["port"], shown))
    if text.count(":") > 1:
        return Entry(text, (_network(text, shown, six=True),))
    host, colon, number = text.partition(":")
    port = _port(number if colon else None, shown)
    if "/" in host or _numeric(host):
        return Entry(text, (_network(host, shown),), port=port)
    name = normalized(host)
    if name == _LOCALHOST:
        return Entry(text, _LOOPBACK, port=port)
    suffix = name.startswith("*.")
    labels = name.removeprefix("*.").split(".")
    if len(name) > 253 or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{shown} is neither a host name nor an address")
    return Entry(text, (), name[1:] if suffix else name, port)


def refusal(host: str, port: int, found: Sequence[IpAddress], by: AllowList) -> ConfigError:
    """found: the addresses of the name; () where it was not looked up."""
    place = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    listed = [entry.text for entry in by.entries] or [NOTHING]
    more = len(listed) - _SHOWN
    shown = ", ".join(listed[:_SHOWN]) + (f" and {more} more" if more > 0 else "")
    addresses = ", ".join(dict.fromkeys(str(unwrapped(each)) for each in found))
    return ConfigError(
        "E1050",
        f"the list of outgoing addresses {by.origin} does not allow {place}",
        found=f"{host} is {addresses}" if addresses and addresses != host else place,
        wanted=f"an address of the list: {shown}",
    )


def literal(host: str) -> IpAddress | None:
    """The address that `host` is, in each form that the resolver takes without looking it up: `[::1]`, `fe80::1%eth0`,
    `0177.0.0.1`, `2130706433`. None for a name."""
    text = normalized(host.strip("[]")).partition("%")[0]
    try:
        return unwrapped(ipaddress.ip_address(text))
    except ValueError:
        if not _numeric(text):
            return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(text))
    except (OSError, ValueError):
        return None


def unwrapped(address: IpAddress) -> IpAddress:
    """`::ffff:10.0.0.1` is 10.0.0.1; without the zone of a link-local address."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    return address.ipv4_mapped or ipaddress.IPv6Address(int(address))


def normalized(host: str) -> str:
    """A name as the resolver sees it: `DB1.Example.com.` is db1.example.com."""
    try:
        name = host.encode("idna").decode() if not host.isascii() else host
    except UnicodeError:
        name = host
    return name.lower().removesuffix(".")


def _names(entry: Entry, name: str) -> bool:
    return bool(entry.name) and (name.endswith(entry.name) if entry.name[0] == "." else name == entry.name)


def _is_local(address: IpAddress) -> bool:
    """Of this host or its network segment, also where IPv6 carries it."""
    if isinstance(address, ipaddress.IPv6Address):
        carried = address.sixtofour or (address.teredo or (None, None))[1]
        if carried is not None and _is_local(carried):
            return True
    kinds = (address.is_loopback, address.is_link_local, address.is_multicast, address.is_reserved)
    return any(kinds) or address.is_unspecified or any(address in network for network in _NEVER_BY_NAME)


def _numeric(host: str) -> bool:
    """Whether resolvers read it as an IPv4 address, or refuse it."""
    return _NUMBER.fullmatch(host.lower().rpartition(".")[2]) is not None


def _network(text: str, shown: str, *, six: bool = False) -> Network:
    try:
        found = ipaddress.IPv6Network(text) if six else ipaddress.IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"{shown} is not an address or a network: {_short(error)}") from None
    if isinstance(found, ipaddress.IPv6Network) and found.network_address.ipv4_mapped and found.prefixlen >= 96:
        raise ValueError(f"{shown} is written as IPv6; give the IPv4 network")
    return found


def _short(error: ValueError) -> str:
    return str(error)[:120]


def _port(text: str | None, shown: str) -> int | None:
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 5 and 1 <= int(text) <= 65535):
        raise ValueError(f"the port of {shown} is not between 1 and 65535")
    return int(text)


def _same(one: Network, other: Network) -> bool:
    return one.version == other.version
