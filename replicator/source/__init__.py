"""Sources of transactions: one package or file per kind of source."""

from __future__ import annotations

from replicator.config.task import TaskConfig
from replicator.pipeline.ports import Source


def open_source(task: TaskConfig, password: str, server_id: int | None = None, *, statements: bool = False) -> Source:
    """The database server that `task` reads. Connects to nothing yet. `password`: resolved; `server_id`: our replica
    id, None: the configured one, or the one that follows from the task's name; `statements`: see `MySQLSource`."""
    from replicator.source.mysql import MySQLSource  # the database client is loaded by those who stream alone

    return MySQLSource(task.database, task.name, password, server_id, statements=statements)
