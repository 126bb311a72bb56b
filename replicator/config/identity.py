"""Keys of a task that cannot be changed because its position or its consumers depend on them."""

from __future__ import annotations

from replicator.config.task import TaskConfig
from replicator.errors import ConfigError


def check_change(old: TaskConfig, new: TaskConfig) -> None:
    """A position of MySQL means nothing to MariaDB (other GTIDs), and another name is another task. Everything else may
    change: `source.host` moves to another replica of the same data, the sink goes on from the position reached, and
    `source.start` has no effect once a position stands in lastCommit.

    Raises:
        ConfigError: E1009.
    """
    for path, before, after in (("name", old.name, new.name), ("source.type", old.source.type, new.source.type)):
        if before != after:
            raise ConfigError("E1009", f"{path} of a task can't change", found=f"{after!r}", wanted=f"{before!r}")
