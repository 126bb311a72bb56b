"""The tables of error codes. docs/errors.md is made from them; a code that is not in one cannot be raised."""

from __future__ import annotations

from replicator.codes import (
    access,
    addresses,
    alerts,
    backup,
    config,
    conflicts,
    filling,
    monitor,
    process,
    recipes,
    sink,
    source,
    target,
    topics,
    zookeeper,
)
from replicator.codes.entry import Entry
from replicator.codes.scopes import Scope, scope_of

__all__ = ["CODES", "Entry", "Scope", "scope_of"]

_TABLES = (
    config.CODES,
    source.CODES,
    topics.CODES,
    sink.CODES,
    target.CODES,
    conflicts.CODES,
    filling.CODES,
    zookeeper.CODES,
    process.CODES,
    access.CODES,
    backup.CODES,
    recipes.CODES,
    addresses.CODES,
    monitor.CODES,
    alerts.CODES,
)
CODES: dict[str, Entry] = dict(sorted((code, entry) for table in _TABLES for code, entry in table.items()))
