"""Types of options that take an address: what can't be one is wrong usage, before anything is started or sent."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import click

from replicator.host.addresses import parse_address, parse_ensemble
from replicator.net.outgoing import NOTHING, parse_entry

_SERVER_PORTS = {"http": 80, "https": 443}


class ZookeeperType(click.ParamType[str]):
    """`HOST:PORT[,...][/CHROOT]`, without white space afterwards."""

    name = "HOST:PORT[,...][/CHROOT]"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        try:
            return str(parse_ensemble(str(value)))
        except ValueError as error:
            self.fail(f"{error}. Wanted: {self.name}, such as zk1:2181,zk2:2181", param, ctx)


class ServerUrlType(click.ParamType[str]):
    """`http://HOST[:PORT]` or `https://HOST[:PORT]`, with the path of a proxy behind it or none."""

    name = "URL"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        url = str(value).strip()
        try:
            _check_url(url)
        except ValueError as error:
            self.fail(f"{error}. Wanted: http://HOST:PORT or https://HOST:PORT", param, ctx)
        return url


class OutgoingType(click.ParamType[str]):
    """An entry of a list of outgoing addresses."""

    name = "HOST|NETWORK[:PORT]"

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        text = str(value).strip()
        try:
            return text if text == NOTHING else parse_entry(text).text
        except ValueError as error:
            wanted = "db1.example.com, *.example.com, 10.0.0.0/8 or [2001:db8::/32]:9092"
            self.fail(f"{error}. Wanted: one such as {wanted}", param, ctx)


def _check_url(url: str) -> None:
    """Raises ValueError."""
    scheme, separator, rest = url.partition("://")
    default = _SERVER_PORTS.get(scheme.lower())
    if not separator or default is None:
        raise ValueError(f"{url!r} does not begin with http:// or https://")
    authority = urlsplit(url).netloc
    if "@" in authority:
        raise ValueError("the address of a Server has no user or password; the token comes from --token-file")
    if any(char.isspace() for char in rest):
        raise ValueError(f"{url!r} has white space in it")
    bare = authority.rpartition("]")[2]
    parse_address(authority if ":" in bare else f"{authority}:{default}")


ZOOKEEPER = ZookeeperType()
SERVER_URL = ServerUrlType()
OUTGOING = OutgoingType()
