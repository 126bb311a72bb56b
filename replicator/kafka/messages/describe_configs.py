"""DescribeConfigs, of one topic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from replicator.kafka import wire
from replicator.kafka.wire import MalformedMessage, Reader

KEY: Final = 32
VERSIONS: Final = (4, 4)
_TOPIC: Final = b"\2"


class Settings(NamedTuple):
    """values: None for one that is not shown."""

    error: int
    message: str
    values: dict[str, str | None]


def request(topic: str, names: Sequence[str]) -> bytes:
    """names: of the settings."""
    wanted = wire.array_length(len(names)) + b"".join(map(wire.compact_string, names))
    resource = _TOPIC + wire.compact_string(topic) + wanted + wire.NO_TAGS
    no_synonyms, no_documentation = wire.boolean(False), wire.boolean(False)
    return wire.array_length(1) + resource + no_synonyms + no_documentation + wire.NO_TAGS


def reply(reader: Reader) -> Settings:
    """Raises MalformedMessage."""
    reader.int32()  # throttle time
    found = reader.array(lambda: _settings(reader))
    reader.skip_tags()
    if len(found) != 1:
        raise MalformedMessage(f"{len(found)} topics instead of one")
    return found[0]


def _settings(reader: Reader) -> Settings:
    error, message = reader.int16(), reader.compact_string() or ""
    reader.int8()  # kind of resource
    reader.compact_string()  # its name
    values = dict(reader.array(lambda: _value(reader)))
    reader.skip_tags()
    return Settings(error, message, values)


def _value(reader: Reader) -> tuple[str, str | None]:
    found = reader.compact_string() or "", reader.compact_string()
    reader.boolean()  # read-only
    reader.int8()  # source
    reader.boolean()  # sensitive
    reader.array(lambda: _synonym(reader))
    reader.int8()  # type
    reader.compact_string()  # documentation
    reader.skip_tags()
    return found


def _synonym(reader: Reader) -> None:
    reader.compact_string()  # name
    reader.compact_string()  # value
    reader.int8()  # source
    reader.skip_tags()
