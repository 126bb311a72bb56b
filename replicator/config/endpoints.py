"""Source and destination of a task in one line each, for lists: what matters most first, hosts last.

Made from the configuration as data, so that a list of tasks loads no models.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

_DATABASES = ("mysql", "mariadb")
_SHORTEST = 9
"""Characters of an address that still say something: `kaf…:9092`."""


def topic_template(topic: str | None, form: str, debezium_prefix: str | None) -> str:
    """`sink.topic`, or the format's own default: one topic per table, or a single one."""
    return topic or ((debezium_prefix or "{task}") + ".{database}.{table}" if form == "debezium" else "{task}")


def source(config: Mapping[str, Any] | None) -> str:
    """`mysql db1:3306`, `shop.*, crm.item, kafka k1:9092`; "" without a configuration."""
    section = _section(config, "source")
    topics = section.get("topics") if section.get("type") == "kafka" else None
    named = ", ".join(map(str, topics)) if isinstance(topics, Sequence) and not isinstance(topics, str) else ""
    return ", ".join(part for part in (named, _place(section)) if part)


def destination(config: Mapping[str, Any] | None, limit: int | None = None) -> str:
    """`{task}.{database}.{table}, debezium, kafka k1:9092`, `mysql db2:3306`; "" without a configuration.

    Longer than `limit` characters it is cut: the address in its middle, then the last parts, then the first in its
    middle.
    """
    section = _section(config, "sink")
    parts = [part for part in (*_records(section), _place(section)) if part]
    whole = ", ".join(parts)
    if limit is None or len(whole) <= limit:
        return whole
    kind, _, address = parts[-1].partition(" ")
    left = limit - len(whole) + len(address)
    if address and left >= min(_SHORTEST, len(address)):
        return ", ".join((*parts[:-1], f"{kind} {shortened(address, left)}"))
    if len(parts) > 1:
        parts[-1] = kind
    while len(parts) > 1 and len(", ".join(parts)) > limit:
        parts.pop()
    return shortened(", ".join(parts), limit)


def sink_type(config: Mapping[str, Any] | None) -> str:
    """`kafka`, `mysql`; "" without one."""
    return str(_section(config, "sink").get("type", ""))


def registry(config: Mapping[str, Any] | None) -> str:
    """`http://r1:8081`, of several the first and how many more; "" without a schema registry."""
    url = _section(_section(_section(config, "sink"), "debezium"), "schema_registry").get("url")
    return re.sub(r"//[^/@]*@", "//", url if isinstance(url, str) else _first(url))


def shortened(text: str, limit: int) -> str:
    """`text` in at most `limit` characters, cut in its middle. The end of an address is its port."""
    if len(text) <= limit:
        return text
    tail = max((limit - 1) // 2, 0)
    return f"{text[: max(limit - 1 - tail, 0)]}…{text[len(text) - tail :]}"


def _section(config: Mapping[str, Any] | None, key: str) -> Mapping[str, Any]:
    section = config.get(key) if isinstance(config, Mapping) else None
    return section if isinstance(section, Mapping) else {}


def _records(section: Mapping[str, Any]) -> tuple[str, ...]:
    """Topic and format, of a sink that has records."""
    if not section or section.get("type") in _DATABASES:
        return ()
    form = str(section.get("format") or "debezium")
    if section.get("type") != "kafka":
        return (form,)
    topic, prefix = section.get("topic"), _section(section, "debezium").get("topic_prefix")
    return topic_template(str(topic) if topic else None, form, str(prefix) if prefix else None), form


def _place(section: Mapping[str, Any]) -> str:
    """Type and address, of several the first and how many more."""
    if not section:
        return ""
    kind = str(section.get("type") or "mysql")
    if section.get("address"):
        return f"{kind} {section['address']}"
    if kind in _DATABASES:
        single = f"{section.get('host') or '127.0.0.1'}:{section.get('port') or 3306}"
        return f"{kind} {_first(section.get('hosts')) or single}"
    return f"{kind} {_first(section.get('bootstrap_servers')) or section.get('path') or ''}".strip()


def _first(servers: object) -> str:
    if not isinstance(servers, Sequence) or isinstance(servers, str) or not servers:
        return ""
    return f"{servers[0]}" + (f" +{len(servers) - 1}" if len(servers) > 1 else "")
