"""The servers that a task connects to, by its configuration as data: source, brokers, target and schema registry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from replicator.config.addresses import Address, addresses

_DATABASES: Final = ("mysql", "mariadb")


class Destination(NamedTuple):
    """key: of the configuration, that has the address."""

    key: str
    host: str
    port: int


def destinations(config: Mapping[str, Any]) -> list[Destination]:
    """Those that the configuration names; servers of these may name others."""
    found = []
    for section, places in (("source", sources(config)), ("sink", targets(config))):
        key = "hosts" if _section(config, section).get("hosts") else "host"
        found += [Destination(f"{section}.{key}", *place) for place in places]
    for section, places in (("source", source_brokers(config)), ("sink", brokers(config))):
        found += [Destination(f"{section}.bootstrap_servers", *place) for place in places]
    key = "sink.debezium.schema_registry.url"
    return found + [Destination(key, *url_address(url)) for url in registries(config)]


def sources(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sources that are no database server."""
    section = _section(config, "source")
    return _servers(section) if section.get("type", "mysql") in _DATABASES else ()


def source_brokers(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sources that are no Kafka cluster."""
    return addresses(_section(config, "source").get("bootstrap_servers") or ())


def brokers(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sinks that are no Kafka cluster."""
    return addresses(_section(config, "sink").get("bootstrap_servers") or ())


def targets(config: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for sinks that are no database server."""
    section = _section(config, "sink")
    return _servers(section) if section.get("type") in _DATABASES else ()


def registries(config: Mapping[str, Any]) -> tuple[str, ...]:
    """URLs of the schema registry's servers; () where there is none."""
    options = _section(config, "sink").get("debezium") or {}
    url = (options.get("schema_registry") or {}).get("url") or ()
    return (url,) if isinstance(url, str) else tuple(url)


def url_address(url: str) -> Address:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)


def _section(config: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    return config.get(name) or {}


def _servers(section: Mapping[str, Any]) -> tuple[Address, ...]:
    """() for a name of the address book that has no address."""
    if section.get("address"):
        return ()
    hosts = section.get("hosts") or [f"{section.get('host') or '127.0.0.1'}:{section.get('port') or 3306}"]
    return addresses(hosts)
