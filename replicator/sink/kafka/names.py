"""Names that the sink itself gives in Kafka."""

from __future__ import annotations

import hashlib

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_MOST = 249


def position_topic(task: str) -> str:
    """`replicator.position.TASK`. Bytes of the UTF-8 name that a topic can't carry become `_XX` (hexadecimal); a name
    that is too long then ends in a part of its SHA-256 instead. Two tasks whose names meet there share the topic
    without harm: its records are keyed by the task's real name."""
    name = "replicator.position." + "".join(chr(byte) if byte in _PLAIN else f"_{byte:02X}" for byte in task.encode())
    if len(name) <= _MOST:
        return name
    return f"{name[: _MOST - 17]}.{hashlib.sha256(task.encode()).hexdigest()[:16]}"


def transactional_id(task: str) -> str:
    """`replicator.TASK`: whoever leads the task uses it, so that Kafka itself fences out who led before."""
    return f"replicator.{task}"
