"""Preloads the data path in the template process, from which the Core forks its workers (launcher.py).

What is imported and built here is paid for once, and workers share its memory. `gc.freeze` keeps it shared: a
collection of garbage writes into every object that it visits, and the first one in a worker would copy 25 MB.
"""

from __future__ import annotations

import gc
import importlib
import signal
from typing import Any, Final

from core.parent_death import end_with_the_parent
from replicator import compiled
from replicator.assembly.pipeline import build_pipeline
from replicator.checkpoint.memory_store import MemoryStore
from replicator.config.load import parse_task
from replicator.model.checkpoint import Checkpoint
from replicator.model.position import Position
from replicator.model.term import Term
from replicator.pipeline import malloc
from replicator.pipeline.delivery_progress import DeliveryCounters
from replicator.sink.kafka.warm import warm
from replicator.source import open_source
from replicator.telemetry import log

MODULES: Final = (
    "core.worker",
    "core.channel",
    "core.launcher",  # has the function that a worker begins with
    # What the data path imports late, so that other processes need not load it.
    "replicator.source.mysql",
    "replicator.source.mysql.definition_reader",
    "replicator.sink.kafka.exactly_once",
    "replicator.sink.kafka.at_least_once",
    "replicator.assembly.transform_checks",
    "replicator.assembly.task_checks",
    "replicator.sink.kafka.checks",
    "replicator.source.mysql.checks",
    "replicator.net.certificate_expiry",
    # What the standard library and the clients import late.
    "cryptography.hazmat.backends.openssl",
    "encodings.idna",
    "encodings.utf_8_sig",
    # What multiprocessing imports when it unpacks what a worker shares with its agent.
    "multiprocessing.sharedctypes",
    # The script that started the Core imports it, and multiprocessing looks into that script in every worker.
    "replicator.cli.main",
)


_TASK: Final[dict[str, Any]] = {
    "name": "template",
    "source": {"type": "mysql", "user": "template", "password": "env:NOBODY", "tables": ["template.*"]},
    "sink": {"type": "kafka", "bootstrap_servers": ["127.0.0.1:9092"]},
}


def load() -> None:
    """Imports the data path with its compiled modules, builds a pipeline for each delivery, and freezes the result."""
    end_with_the_parent()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # sent to the whole group or unit: the agent drains the workers first
    malloc.keep()
    for name in MODULES:
        importlib.import_module(name)
    compiled.available()
    warm()
    for style in ("json", "text"):
        log.setup(style)
    for delivery in ("at_least_once", "exactly_once"):
        _build({**_TASK, "sink": {**_TASK["sink"], "delivery": delivery}})
    gc.collect()
    gc.freeze()


class _Nobody:
    """An observer of what never runs."""

    def streaming(self, position: Position) -> None:
        return

    def waiting(self, error: Exception) -> None:
        return

    def progress(self, checkpoint: Checkpoint, figures: DeliveryCounters) -> None:
        return


def _build(task: dict[str, Any]) -> None:
    """A data path that connects to nothing: what pydantic and others make when they are first used stays."""
    config = parse_task(task)
    build_pipeline(
        config,
        source=open_source(config, "", 1),
        term=Term.unlimited(config.name, "template"),
        store=MemoryStore(),
        observer=_Nobody(),
    )


load()
