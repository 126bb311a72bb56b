"""`replicator run --snapshot-only`: a task that ends when the rows that exist are delivered."""

from __future__ import annotations

from replicator.config.load import parse_task, to_data
from replicator.config.task import TaskConfig
from replicator.errors import ProcessError
from replicator.model.checkpoint import Checkpoint


def with_snapshot(config: TaskConfig) -> TaskConfig:
    """Raises ConfigError: the task begins in the past."""
    if config.source.snapshots.mode != "never":
        return config
    data = to_data(config)
    given = data["source"].get("snapshot")
    chosen = {**given, "mode": "initial"} if isinstance(given, dict) else "initial"
    return parse_task({**data, "source": {**data["source"], "snapshot": chosen}})


def check_new(known: Checkpoint | None) -> None:
    """Raises ProcessError E5007: the task has a position, and no snapshot in it."""
    if known is not None and known.position.snapshot is None:
        raise ProcessError(
            "E5007",
            "--snapshot-only: an earlier run has begun without a snapshot",
            found=f"position {known.position}",
            fix="Give the export a separate state: --state FILE.",
        )
