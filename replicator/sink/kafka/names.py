"""Names of topics and transactional ids that the sink itself uses in Kafka.

The installation's id stands in all of them: two installations that have a task of one name on one Kafka neither fence
each other out nor read each other's position. `installation` "" gives the names from before there were such ids.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Final

from replicator.errors import ConfigError

_PLAIN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
_MOST: Final = 249
_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]")
_POSITION: Final = "replicator.position."
_COUNTS: Final = "replicator.partitions."
_INSTALLATION: Final = re.compile(r"replicator\.position\.([0-9a-f]{12})_?\.")
"""As `coordination.installation` makes them."""


def position_topic(task: str, installation: str = "") -> str:
    """`replicator.position.INSTALLATION.TASK`; for a name that a topic can't carry
    `replicator.position.INSTALLATION_.ESCAPED`: no other task has the same topic. There `_` and bytes of the UTF-8 name
    that a topic can't carry are `_XX` (hexadecimal), and a name that is too long ends in a part of its SHA-256. The
    topic's records are keyed by the task's real name."""
    return _own(_POSITION, task, installation)


def former_position_topic(task: str, installation: str) -> str:
    """What the topic was called before names were escaped so that none is another's: `a/` and `a_2F` had one."""
    return _former(_POSITION, task, installation)


def former_counts_topics(task: str, installation: str) -> list[str]:
    """What the topic of numbers was called before, and before installations had ids, where that is another name."""
    names = counts_topic(task), _former(_COUNTS, task, installation)
    return [name for name in names if name != counts_topic(task, installation)]


def _former(prefix: str, task: str, installation: str) -> str:
    return _fit(f"{prefix}{installation}.{_escaped(task, _PLAIN)}", task) if installation else _own(prefix, task, "")


def position_topics(task: str, topics: Iterable[str]) -> list[str]:
    """Those of `topics` that are the position topic of a task of this name, of whichever installation; also those that
    were so before."""
    found = [(name, _INSTALLATION.match(name)) for name in topics]
    plain = position_topic(task)
    return [
        name
        for name, match in found
        if name == plain or (match and name in (position_topic(task, match[1]), former_position_topic(task, match[1])))
    ]


def counts_topic(task: str, installation: str = "") -> str:
    """`replicator.partitions.INSTALLATION.TASK`, made likewise. Its records are keyed by topic."""
    return _own(_COUNTS, task, installation)


def counts_topics(topics: Iterable[str]) -> list[str]:
    """Those of `topics` that are the counts topic of some task."""
    return [name for name in topics if name.startswith(_COUNTS)]


def _own(prefix: str, task: str, installation: str) -> str:
    if not installation:
        return _fit(prefix + _escaped(task, _PLAIN), task)
    if _PLAIN.issuperset(task.encode()):
        return _fit(f"{prefix}{installation}.{task}", task)
    return _fit(f"{prefix}{installation}_.{_escaped(task, _PLAIN - {ord('_')})}", task)


def _escaped(task: str, plain: frozenset[int]) -> str:
    return "".join(chr(byte) if byte in plain else f"_{byte:02X}" for byte in task.encode())


def _fit(name: str, task: str) -> str:
    if len(name) <= _MOST:
        return name
    return f"{name[: _MOST - 17]}.{hashlib.sha256(task.encode()).hexdigest()[:16]}"


def transactional_id(task: str, installation: str = "") -> str:
    """`replicator.INSTALLATION.TASK`: used by whoever leads the task, so that Kafka fences out who led before."""
    return f"replicator.{installation}.{task}" if installation else f"replicator.{task}"


def dead_letter_topic(template: str, task: str) -> str:
    """The task's name filled in as topics of tables have it: `_` for what a topic can't carry. Raises ConfigError E1007
    for a name that is too long."""
    name = template.replace("{task}", _UNFIT.sub("_", task))
    if len(name) > _MOST:
        raise ConfigError(
            "E1007",
            "`sink.dead_letter_topic` gives a topic name that Kafka does not allow",
            found=f"'{name[:60]}' ({len(name)} characters)",
            wanted=f"1 to {_MOST} characters",
        )
    return name
