"""Names that the sink itself gives in Kafka."""

from __future__ import annotations

import hashlib
import re

from replicator.errors import ConfigError

_PLAIN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_MOST = 249
_UNFIT = re.compile(r"[^A-Za-z0-9._-]")


def position_topic(task: str) -> str:
    """`replicator.position.TASK`. Bytes of the UTF-8 name that a topic can't carry become `_XX` (hexadecimal); a name
    that is too long then ends in a part of its SHA-256 instead. Two tasks whose names meet there share the topic
    without harm: its records are keyed by the task's real name."""
    return _own("replicator.position.", task)


def counts_topic(task: str) -> str:
    """`replicator.partitions.TASK`, made likewise. Its records are keyed by topic."""
    return _own("replicator.partitions.", task)


def _own(prefix: str, task: str) -> str:
    name = prefix + "".join(chr(byte) if byte in _PLAIN else f"_{byte:02X}" for byte in task.encode())
    if len(name) <= _MOST:
        return name
    return f"{name[: _MOST - 17]}.{hashlib.sha256(task.encode()).hexdigest()[:16]}"


def transactional_id(task: str) -> str:
    """`replicator.TASK`: whoever leads the task uses it, so that Kafka itself fences out who led before."""
    return f"replicator.{task}"


def dead_letter_topic(template: str, task: str) -> str:
    """The task's name filled in as topics of tables have it: `_` for what a topic can't carry. Raises ConfigError E1007
    for a name that is too long."""
    name = template.replace("{task}", _UNFIT.sub("_", task))
    if len(name) > _MOST:
        raise ConfigError(
            "E1007",
            "`sink.dead_letter_topic` makes a name that Kafka refuses",
            found=f"'{name[:60]}' ({len(name)} characters)",
            wanted=f"1 to {_MOST} characters",
        )
    return name
