"""Preloads the data path in a process from which workers are forked, so that no worker imports or builds it again."""

from __future__ import annotations

import importlib
from typing import Any, Final

from replicator import compiled
from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.sink.kafka.preload import build_codecs
from replicator.source import open_source

MODULES: Final = (
    # Modules of the data path that are imported on first use, so that other processes need not load them.
    "replicator.source.mysql",
    "replicator.source.mysql.definition_reader",
    "replicator.sink.kafka.exactly_once",
    "replicator.sink.kafka.at_least_once",
    "replicator.assembly.transform_checks",
    "replicator.assembly.task_checks",
    "replicator.sink.kafka.checks",
    "replicator.source.mysql.checks",
    "replicator.net.certificate_expiry",
    # The same of the standard library and the clients.
    "cryptography.hazmat.backends.openssl",
    "encodings.idna",
    "encodings.utf_8_sig",
)

_TASK: Final[dict[str, Any]] = {
    "name": "template",
    "source": {"type": "mysql", "user": "template", "password": "env:NONE", "tables": ["template.*"]},
    "sink": {"type": "kafka", "bootstrap_servers": ["127.0.0.1:9092"]},
}


def preload() -> None:
    """Imports the data path with its compiled modules and builds a pipeline for each delivery."""
    for name in MODULES:
        importlib.import_module(name)
    compiled.available()
    build_codecs()
    for delivery in ("at_least_once", "exactly_once"):
        _build({**_TASK, "sink": {**_TASK["sink"], "delivery": delivery}})


class _NullObserver:
    """The observer of a pipeline that never runs."""

    def streaming(self, position: Position) -> None:
        return

    def waiting(self, error: Exception) -> None:
        return

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None:
        return


def _build(task: dict[str, Any]) -> None:
    """Builds a pipeline without connecting it; what pydantic and others cache on first use stays cached."""
    config = parse_task(task)
    build_pipeline(
        config,
        source=open_source(config, "", 1),
        term=Term.unlimited(config.name, "template"),
        store=MemoryStore(),
        observer=_NullObserver(),
    )
