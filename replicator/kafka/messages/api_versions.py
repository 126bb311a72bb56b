"""ApiVersions, versions 0 and 3: the requests that a broker knows, and the cluster's finalized features (KIP-584)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Final, NamedTuple

from replicator.kafka.wire import NO_TAGS, Reader, compact_string

KEY: Final = 18
VERSION: Final = 3
FLEXIBLE: Final = 3
"""From this version on the request has tagged fields. The header of the reply never has (KIP-511)."""
UNSUPPORTED_VERSION: Final = 35
"""Comes in a reply of version 0, whatever was asked for."""

_SOFTWARE: Final = "mysql-replicator"
_EPOCH_TAG: Final = 1
_FEATURES_TAG: Final = 2


class ApiVersions(NamedTuple):
    """versions: key -> lowest and highest version. features: name -> finalized level."""

    error_code: int
    versions: Mapping[int, tuple[int, int]]
    features: Mapping[str, int]
    features_epoch: int


def encode(version: int) -> bytes:
    if version < FLEXIBLE:
        return b""
    return compact_string(_SOFTWARE) + compact_string(_software_version()) + NO_TAGS


def _software_version() -> str:
    try:
        return metadata.version(_SOFTWARE)
    except metadata.PackageNotFoundError:
        return "0"


def decode(reader: Reader, version: int) -> ApiVersions:
    """Raises MalformedMessage."""
    error = reader.int16()
    if version < FLEXIBLE or error == UNSUPPORTED_VERSION:
        plain = reader.plain_array(lambda: _range(reader)) if reader.left else []
        return ApiVersions(error, dict(plain), {}, -1)
    versions = dict(reader.array(lambda: _tagged_range(reader)))
    reader.int32()  # throttle time
    tags = reader.tags()
    epoch = Reader(tags[_EPOCH_TAG]).int64() if _EPOCH_TAG in tags else -1
    return ApiVersions(error, versions, _features(tags.get(_FEATURES_TAG, b"")), epoch)


def _range(reader: Reader) -> tuple[int, tuple[int, int]]:
    return reader.int16(), (reader.int16(), reader.int16())


def _tagged_range(reader: Reader) -> tuple[int, tuple[int, int]]:
    found = _range(reader)
    reader.skip_tags()
    return found


def _features(data: bytes) -> dict[str, int]:
    if not data:
        return {}
    reader = Reader(data)
    return dict(reader.array(lambda: _feature(reader)))


def _feature(reader: Reader) -> tuple[str, int]:
    name, highest = reader.compact_string() or "", reader.int16()
    reader.int16()  # the lowest level
    reader.skip_tags()
    return name, highest
