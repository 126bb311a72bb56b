"""Keys of a task that cannot be changed because its position or its consumers depend on them."""

from __future__ import annotations

from replicator.config.mysql_sink import MySQLSink
from replicator.config.task import TaskConfig
from replicator.errors import ConfigError


def check_change(old: TaskConfig, new: TaskConfig) -> None:
    """A position of MySQL means nothing to MariaDB (other GTIDs), and another name is another task. Everything else may
    change: `source.host` moves to another replica of the same data, the sink goes on from the position reached, and
    `source.start` has no effect once a position is in lastCommit.

    The position of a MySQL target moves with its rows to another server, but not into another database: a table of
    positions that the task has left is behind the rows, and one that it has not used yet may be, so that rows would be
    written twice.

    Raises:
        ConfigError: E1009.
    """
    keys = [("name", old.name, new.name), ("source.type", old.source.type, new.source.type)]
    if isinstance(old.sink, MySQLSink) and isinstance(new.sink, MySQLSink):
        keys.append(("sink.position_database", old.sink.position_database, new.sink.position_database))
    for path, before, after in keys:
        if before != after:
            raise ConfigError("E1009", f"{path} of a task can't change", found=f"{after!r}", wanted=f"{before!r}")
