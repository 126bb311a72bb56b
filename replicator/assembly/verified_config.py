"""What an interrupted verification has to have in common with the one that continues it."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from replicator.config.task import TaskConfig


def fingerprint(config: TaskConfig, compared: Iterable[str]) -> str:
    """Of the task and of what is chosen of it. `compared`: options of the verification."""
    parts = (config.name, config.source.model_dump_json(), config.sink.model_dump_json(), *compared)
    return hashlib.sha256("\0".join((*parts, config.transforms.model_dump_json())).encode()).hexdigest()
