"""Fingerprint of the configuration keys that determine the records of a transaction, and thereby the meaning of a
record's number in its transaction."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from typing import Any, Final

from replicator.config.mysql_sink import MySQLSink
from replicator.config.task import Records, TaskConfig

VERSION: Final = 1
"""Raised when a format gives more or fewer records for the same events, or rows are numbered in another way."""

_EVENT_FORMATS: Final = frozenset({"canal"})
"""One record is one row event, and statements behind rows have records of their own, where a server logs them."""

_SOURCE: Final = frozenset({"type", "tables", "online_schema_change", "row_image"})
_LENGTH: Final = 16


def rule(config: TaskConfig, left_out: Collection[str] = (), only: str = "") -> str:
    """16 hexadecimal digits. The order of the tables' patterns does not matter, as it does not for what they choose.

    Keys that only change what a record says are in it where that is not obvious: a fingerprint that differs without
    need costs little, one that does not differ loses rows.

    Args:
        left_out: tables in quarantine, whoever put them there.
        only: the one table whose rows are delivered at the moment.
    """
    source = config.source.model_dump(mode="json", include=set(_SOURCE))
    source["tables"] = sorted(source["tables"])
    if config.database.skip_replicated != "none":
        source["skip_replicated"] = sorted(config.database.skip_replicated)
    options = {} if isinstance(config.sink, MySQLSink) else _options(config.sink)
    known = {
        "version": VERSION,
        "source": source,
        "left_out": sorted(left_out),
        "only": only,
        "format": config.sink.format,
        "options": options,
        "transforms": config.transforms.model_dump(mode="json"),
    }
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:_LENGTH]


def _options(sink: Records) -> dict[str, Any]:
    found: dict[str, Any] = getattr(sink, sink.format).model_dump(mode="json")
    return found


def follows_events(config: TaskConfig) -> bool:
    """Whether the numbers also depend on how a server has cut a transaction into events, so that they mean other rows
    in the log of another server of the group."""
    return config.sink.format in _EVENT_FORMATS
