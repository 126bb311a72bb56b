"""Names and values of the address book: `ddns:APP/DOMAIN` in a configuration means a host:port in ZooKeeper."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from replicator.errors import ConfigError

PREFIX: Final = "ddns:"
PART: Final = r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}"
REFERENCE: Final = rf"^{PREFIX}{PART}/{PART}$"
ROLES: Final = ("primary", "replica")
SECTIONS: Final = ("source", "sink")
_NAME: Final = re.compile(rf"(?P<app>{PART})/(?P<domain>{PART})")
_HOST: Final = re.compile(r"[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?\.?")
_DIGITS: Final = re.compile(r"[0-9.]+")


class Name(NamedTuple):
    app: str
    domain: str

    def __str__(self) -> str:
        return f"{self.app}/{self.domain}"


def parse_name(text: str) -> Name:
    """Of APP/DOMAIN, also with `ddns:` in front. Raises ConfigError E4100."""
    match = _NAME.fullmatch(text.removeprefix(PREFIX))
    if match is None:
        raise ConfigError(
            "E4100", "the name is not one of the address book", found=repr(text[:150]), wanted="APP/DOMAIN"
        )
    return Name(match["app"], match["domain"])


def parse_role(text: str) -> str:
    """Raises ConfigError E4100."""
    if text not in ROLES:
        raise ConfigError(
            "E4100", "there is no such role of a server", found=repr(text[:40]), wanted=" or ".join(ROLES)
        )
    return text


def parse_address(text: str) -> tuple[str, int]:
    """Host, without brackets, and port. Raises ConfigError E4100."""
    host, colon, port = text.rpartition(":")
    valid = bool(colon) and port.isascii() and port.isdigit() and len(port) <= 5 and 1 <= int(port) <= 65535
    if not valid or not _is_host(host):
        raise ConfigError("E4100", "the value is not an address", found=repr(text[:300]), wanted="host:port")
    return host.strip("[]"), int(port)


def _is_host(text: str) -> bool:
    bracketed = text.startswith("[") and text.endswith("]")
    try:
        address = ipaddress.ip_address(text[1:-1] if bracketed else text)
    except ValueError:
        return not bracketed and bool(_HOST.fullmatch(text)) and ".." not in text and not _DIGITS.fullmatch(text)
    return (address.version == 6) == bracketed and "%" not in text


def canonical(text: str) -> str:
    """The same address in its usual form, so that two texts of one address are equal. Raises ConfigError E4100."""
    host, port = parse_address(text)
    if ":" in host:
        return f"[{ipaddress.ip_address(host).compressed}]:{port}"
    return f"{host.lower().rstrip('.')}:{port}"


def references(config: Mapping[str, Any]) -> Iterator[tuple[str, Name]]:
    """Section and name of each address of the book in a task's configuration; damaged ones are left out."""
    for section in SECTIONS:
        part = config.get(section)
        text = part.get("address") if isinstance(part, Mapping) else None
        if isinstance(text, str) and text.startswith(PREFIX):
            match = _NAME.fullmatch(text.removeprefix(PREFIX))
            if match is not None:
                yield section, Name(match["app"], match["domain"])


def placed(section: Mapping[str, Any], address: str) -> dict[str, Any]:
    """A source or sink with this address in place of its own. Raises ConfigError E4100."""
    part = {key: value for key, value in section.items() if key not in ("address", "hosts")}
    host, port = parse_address(address)
    if part.get("type") == "kafka":
        return {**part, "bootstrap_servers": [address]}
    return {**part, "host": host, "port": port}


def resolved(config: Mapping[str, Any], addresses: Mapping[str, str]) -> dict[str, Any]:
    """The configuration with host and port, or bootstrap_servers, in place of `address`.

    Args:
        addresses: by section, valid ones.
    """
    found = dict(config)
    for section, _ in references(config):
        if section in addresses:
            found[section] = placed(found[section], addresses[section])
    return found
